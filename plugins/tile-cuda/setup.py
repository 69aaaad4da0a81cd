"""Builds the launch extension; it is optional, ctypes takes its place. No CUDA is needed to build it.

With TILECORE_REQUIRE_EXTENSIONS=1, which builds of releases set, the build fails where it cannot be built.
"""

import os
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCE = "tile_cuda/launch/_native.pyx"
REQUIRED = os.environ.get("TILECORE_REQUIRE_EXTENSIONS", "").lower() not in ("", "0", "false", "no", "off")


class OptionalBuild(build_ext):
    """A build whose failure costs speed, not the installation."""

    def run(self):
        try:
            super().run()
        except Exception as error:
            explain(error)

    def build_extension(self, extension):
        try:
            super().build_extension(extension)
        except Exception as error:
            explain(error)


def explain(error):
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    do_without(f"the launch extension cannot be built here ({reason})")


def do_without(problem):
    """Goes on without the extension, or ends the build where it is required."""
    if REQUIRED:
        sys.exit(f"tile-cuda: {problem}, and TILECORE_REQUIRE_EXTENSIONS is set")
    print(f"tile-cuda: {problem}; ctypes takes its place", file=sys.stderr)


def extensions():
    if os.name == "nt" or sys.maxsize < 2**62:
        do_without("no extension can be built here (it needs POSIX and a 64-bit machine)")
        return []
    extension = Extension(
        "tile_cuda.launch._native",
        [SOURCE],
        include_dirs=["tile_cuda/launch"],
        depends=["tile_cuda/launch/launch_native.h", "tile_cuda/launch/tensor_map_native.h"],
        extra_compile_args=["-O2", "-g0", "-fvisibility=hidden"],
        optional=True,
    )
    try:
        from Cython.Build import cythonize

        return cythonize([extension], quiet=True, build_dir="build")
    except Exception as error:
        explain(error)
        return []


setup(ext_modules=extensions(), cmdclass={"build_ext": OptionalBuild})
