"""The functions that kernels in CuTe DSL call on the device; their source imports this module as ``tc``.

It needs the package nvidia-cutlass-dsl, and only emitted source imports it. Each function is called while the DSL
traces a kernel, and adds operations of MLIR to it. What the numbers mean is in docs/thread-ir.md.
"""

__all__ = [name for name in dir() if not name.startswith("_") and not name.startswith("device_")]
