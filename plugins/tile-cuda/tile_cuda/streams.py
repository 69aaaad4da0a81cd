"""The stream to launch on: torch's current one, asked without importing torch."""

from __future__ import annotations

import sys
from collections.abc import Callable


def current_stream_function() -> Callable[[int], int] | None:
    """torch's raw current stream by device index (always 0 if it has no CUDA), or None while torch is not in use."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    if raw is not None:
        return raw
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_available():
        return lambda index: 0
    return lambda index: cuda.current_stream(index).cuda_stream


def foreign_stream(index: int) -> int:
    """The stream that tvm_ffi's environment names for the device; 0 when tvm_ffi is not in use."""
    module = sys.modules.get("tvm_ffi")
    getter = getattr(getattr(module, "core", None), "_env_get_current_stream", None) if module is not None else None
    return int(getter(2, index) or 0) if getter is not None else 0
