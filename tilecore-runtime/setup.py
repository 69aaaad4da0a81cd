"""Builds tilecore-runtime from the files of ../tilecore that tilecore/installation.py lists, and its extensions: the
launcher, the launch on devices and the CPU thread pool. All are optional; plain Python replaces them. With
TILECORE_REQUIRE_EXTENSIONS=1, which builds of releases set, the build fails where one of them cannot be built.

For development: ``python setup.py build_ext --inplace``.
"""

import os
import runpy
import shutil
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

# in a checkout the package is beside this project; in a source distribution it is a part of it
ROOT = "." if os.path.isdir("tilecore") else ".."
PACKAGE = f"{ROOT}/tilecore"
INSTALLATION = runpy.run_path(f"{PACKAGE}/installation.py")
IS_OF_RUNTIME = INSTALLATION["is_of_runtime"]

LAUNCHER = "tilecore.runtime._launcher"
DEVICE_LAUNCH = "tilecore.runtime._device_launch"
POOL = "tilecore.backends.cpu._pool"
REQUIRED = os.environ.get("TILECORE_REQUIRE_EXTENSIONS", "").lower() not in ("", "0", "false", "no", "off")
DATA = ("py.typed", "*.pyx", "*.pxi", "*.pxd", "*.h")


class RuntimeModules(build_py):
    """The modules that are this distribution's."""

    def find_package_modules(self, package, package_dir):
        modules = super().find_package_modules(package, package_dir)
        return [entry for entry in modules if entry[1] == "__init__" or IS_OF_RUNTIME(f"{package}.{entry[1]}")]


class OptionalBuild(build_ext):
    """A build whose failure costs speed, not the installation."""

    def run(self):
        try:
            super().run()
        except Exception as error:
            explain("the extensions", error)

    def build_extension(self, extension):
        try:
            super().build_extension(extension)
        except Exception as error:
            explain(extension.name, error)


class WholeSource(sdist):
    """A source distribution that has the files from outside of this folder."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, [file for file in files if not file.startswith("..")])
        for folder, _, names in os.walk(PACKAGE):
            package = os.path.relpath(folder, ROOT).replace(os.sep, ".")
            for name in names:
                module = name.removesuffix(".py")
                is_module = name.endswith(".py") and (module == "__init__" or IS_OF_RUNTIME(f"{package}.{module}"))
                is_data = name == "py.typed" or name.endswith((".pyx", ".pxi", ".pxd", ".h"))
                if IS_OF_RUNTIME(package) and (is_module or is_data):
                    place = os.path.join(base_dir, os.path.relpath(folder, ROOT))
                    os.makedirs(place, exist_ok=True)
                    shutil.copy2(os.path.join(folder, name), place)


def explain(what, error):
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    do_without(f"{what} cannot be built here ({reason})")


def do_without(problem):
    """Goes on without what could not be built, or ends the build where it is required."""
    if REQUIRED:
        sys.exit(f"tilecore-runtime: {problem}, and TILECORE_REQUIRE_EXTENSIONS is set")
    print(f"tilecore-runtime: {problem}; plain Python takes its place", file=sys.stderr)


def packages():
    """The packages that have a module of this distribution."""
    names = []
    for folder, _, files in os.walk(PACKAGE):
        name = os.path.relpath(folder, ROOT).replace(os.sep, ".")
        if "__init__.py" in files and IS_OF_RUNTIME(name):
            names.append(name)
    return sorted(names)


def extensions():
    problem = unsuitable()
    if problem:
        do_without(f"no extension can be built here ({problem})")
        return []
    found = [extension(LAUNCHER), extension(DEVICE_LAUNCH), extension(POOL, "-pthread")]
    try:
        from Cython.Build import cythonize

        return cythonize(found, quiet=True, build_dir="build/c")
    except Exception as error:
        explain("the extensions", error)
        return []


def unsuitable():
    """Why the extensions cannot be built here; empty when they can."""
    if os.name == "nt":
        return "they need POSIX threads and the builtins of GCC or Clang"
    if sys.maxsize < 2**62 or sys.byteorder != "little":
        return "they need a 64-bit, little-endian machine"
    return ""


def extension(name, *flags):
    source = f"{ROOT}/{name.replace('.', '/')}"
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


setup(
    packages=packages(),
    package_dir={"": ROOT},
    package_data={"": list(DATA)},
    include_package_data=False,
    ext_modules=extensions(),
    cmdclass={"build_py": RuntimeModules, "build_ext": OptionalBuild, "sdist": WholeSource},
    options={"egg_info": {"egg_base": "."}},
)
