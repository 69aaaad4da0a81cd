"""Builds the two extensions: the launcher and the CPU thread pool. Both are optional; plain Python replaces them.

For development: ``python setup.py build_ext --inplace``.
"""

import os
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

LAUNCHER = "tilecore.runtime._launcher"
POOL = "tilecore.backends.cpu._pool"


class OptionalBuild(build_ext):
    """A build whose failure costs speed, not the installation."""

    def run(self):
        try:
            super().run()
        except Exception as error:
            self._explain("the extensions", error)

    def build_extension(self, extension):
        try:
            super().build_extension(extension)
        except Exception as error:
            self._explain(extension.name, error)

    def copy_extensions_to_source(self):
        built = [e for e in self.extensions if os.path.exists(self.get_ext_fullpath_built(e))]
        self.extensions, kept = built, self.extensions
        try:
            super().copy_extensions_to_source()
        finally:
            self.extensions = kept

    def get_ext_fullpath_built(self, extension):
        return os.path.join(self.build_lib, self.get_ext_filename(self.get_ext_fullname(extension.name)))

    @staticmethod
    def _explain(what, error):
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        print(f"tilecore: {what} was not built ({reason}); plain Python takes its place", file=sys.stderr)


def extensions():
    if sys.maxsize < 2**62 or sys.byteorder != "little":
        print("tilecore: no extensions for this machine: they need 64 bits, little-endian", file=sys.stderr)
        return []
    flags = [] if os.name == "nt" else ["-O2", "-fno-math-errno", "-fvisibility=hidden"]
    made = [(LAUNCHER, "tilecore/runtime", []), (POOL, "tilecore/backends/cpu", ["-pthread"])]
    if os.name == "nt":  # both need GCC's or Clang's builtins, the pool needs POSIX threads
        print("tilecore: no extensions on Windows; plain Python takes their place", file=sys.stderr)
        return []
    found = [
        Extension(
            name,
            [name.replace(".", "/") + ".pyx"],
            include_dirs=[folder],
            depends=[os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.endswith((".h", ".pxd"))],
            extra_compile_args=flags + extra,
            extra_link_args=extra,
            optional=True,
        )
        for name, folder, extra in made
        if os.path.exists(name.replace(".", "/") + ".pyx")
    ]
    try:
        from Cython.Build import cythonize

        return cythonize(found, quiet=True)
    except Exception as error:
        OptionalBuild._explain("the extensions", error)
        return []


setup(ext_modules=extensions(), cmdclass={"build_ext": OptionalBuild})
