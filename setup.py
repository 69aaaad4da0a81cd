"""Builds the extensions: the launcher, the launch on devices and the CPU thread pool. All are optional; plain Python
replaces them.

For development: ``python setup.py build_ext --inplace``.
"""

import os
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

LAUNCHER = "tilecore.runtime._launcher"
DEVICE_LAUNCH = "tilecore.runtime._device_launch"
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

    @staticmethod
    def _explain(what, error):
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        print(f"tilecore: {what} was not built ({reason}); plain Python takes its place", file=sys.stderr)


def extensions():
    problem = unsuitable()
    if problem:
        print(f"tilecore: no extensions are built ({problem}); plain Python takes their place", file=sys.stderr)
        return []
    found = [extension(LAUNCHER), extension(DEVICE_LAUNCH), extension(POOL, "-pthread")]
    try:
        from Cython.Build import cythonize

        return cythonize(found, quiet=True, build_dir="build")
    except Exception as error:
        OptionalBuild._explain("the extensions", error)
        return []


def unsuitable():
    """Why the extensions cannot be built here; empty when they can."""
    if os.name == "nt":
        return "they need POSIX threads and the builtins of GCC or Clang"
    if sys.maxsize < 2**62 or sys.byteorder != "little":
        return "they need a 64-bit, little-endian machine"
    return ""


def extension(name, *flags):
    source = name.replace(".", "/")
    folder = os.path.dirname(source)
    return Extension(
        name,
        [source + ".pyx"],
        include_dirs=[folder],
        depends=[os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.endswith((".h", ".pxd", ".pxi"))],
        extra_compile_args=["-O2", "-g0", "-fno-math-errno", "-fvisibility=hidden", *flags],
        extra_link_args=list(flags),
        optional=True,
    )


setup(ext_modules=extensions(), cmdclass={"build_ext": OptionalBuild})
