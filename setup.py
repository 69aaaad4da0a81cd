"""Builds the distribution tilecore: the compiler, all modules but those of tilecore-runtime (tilecore/installation.py).

``python setup.py build_ext --inplace`` builds the extensions, which are tilecore-runtime's, in this checkout.
"""

import os
import runpy
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

IS_OF_RUNTIME = runpy.run_path("tilecore/installation.py")["is_of_runtime"]


class CompilerModules(build_py):
    """The modules and the data files that are this distribution's."""

    def find_package_modules(self, package, package_dir):
        modules = super().find_package_modules(package, package_dir)
        return [entry for entry in modules if not IS_OF_RUNTIME(name_of(package, entry[1]))]

    def find_data_files(self, package, src_dir):
        files = super().find_data_files(package, src_dir)
        return [file for file in files if not IS_OF_RUNTIME(os.path.dirname(file).replace(os.sep, "."))]


class BesideTheRuntime(Distribution):
    """Goes where modules with extensions go. tilecore-runtime has some, and both fill one package: systems with a
    folder lib64 of their own would install it in two places otherwise, where Python finds one half of it."""

    def has_ext_modules(self):
        return True


class WheelBesideTheRuntime(bdist_wheel):
    """For all Pythons and systems all the same."""

    def get_tag(self):
        return "py3", "none", "any"


def name_of(package, module):
    return package if module == "__init__" else f"{package}.{module}"


if "build_ext" in sys.argv[1:]:
    runtime = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tilecore-runtime")
    sys.exit(subprocess.call([sys.executable, "setup.py", *sys.argv[1:]], cwd=runtime))
setup(cmdclass={"build_py": CompilerModules, "bdist_wheel": WheelBesideTheRuntime}, distclass=BesideTheRuntime)
