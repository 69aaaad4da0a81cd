"""Execution backends as programs see them: what ``kernel.adapter`` is, and what a backend's package implements."""

from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.jit.kernel_adapter import BaseKernelAdapter

__all__ = ["BaseKernelAdapter", "KernelAdapter", "LoadedKernel"]
