"""Defines the names of execution backends for programs: ``kernel.adapter``, and the class that a backend implements."""

from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.jit.kernel_adapter import BaseKernelAdapter

__all__ = ["BaseKernelAdapter", "KernelAdapter", "LoadedKernel"]
