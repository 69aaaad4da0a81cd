"""Where programs import JITKernel from; it is defined in tilecore/runtime/kernel.py."""

from tilecore.runtime.kernel import JITKernel

__all__ = ["JITKernel"]
