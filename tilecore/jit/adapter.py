"""Execution backends as programs see them: what ``kernel.adapter`` is, and what a backend's package implements."""

from tilecore.runtime.adapter import KernelAdapter, LoadedKernel
from tilecore.runtime.kernel_adapter import BaseKernelAdapter

__all__ = ["BaseKernelAdapter", "KernelAdapter", "LoadedKernel"]
