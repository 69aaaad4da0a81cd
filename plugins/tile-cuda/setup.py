"""Builds the launch extension; it is optional, ctypes takes its place. No CUDA is needed to build it."""

import os
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCE = "tile_cuda/launch/_native.pyx"


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
    print(f"tile-cuda: the launch extension was not built ({reason}); ctypes takes its place", file=sys.stderr)


def extensions():
    if os.name == "nt" or sys.maxsize < 2**62:
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
