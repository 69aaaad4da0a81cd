"""The stream to launch on: the current stream of torch, which is not imported for this."""

from __future__ import annotations

import sys
from collections.abc import Callable


def current_stream_function() -> Callable[[int], int] | None:
    """The function that returns torch's current stream of a device; None where torch is not imported.

    It returns 0, the default stream, where torch has no CUDA.
    """
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
    """The stream that tvm_ffi's environment sets for the device; 0 where tvm_ffi is not imported."""
    module = sys.modules.get("tvm_ffi")
    getter = getattr(getattr(module, "core", None), "_env_get_current_stream", None) if module is not None else None
    return int(getter(2, index) or 0) if getter is not None else 0
