"""Defines the names of execution backends for programs: ``kernel.adapter``, and the class that a backend implements."""

from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.jit.kernel_adapter import BaseKernelAdapter
from tilecore.module_names.submodules import submodules_of

__path__: list[str] = []  # a package whose modules are names of others (tilecore/module_names/table.py)
__getattr__ = submodules_of(__name__)

__all__ = ["BaseKernelAdapter", "KernelAdapter", "LoadedKernel"]
