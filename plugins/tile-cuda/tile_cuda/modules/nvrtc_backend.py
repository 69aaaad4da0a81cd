"""``tilecore.jit.adapter.nvrtc``: whether kernels can be compiled with NVRTC here."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """``is_nvrtc_available``: whether the NVRTC library is installed, looked up when it is asked for."""
    if name != "is_nvrtc_available":
        raise AttributeError(f"module 'tilecore.jit.adapter.nvrtc' has no attribute {name!r}")
    from tile_cuda import nvrtc
    from tilecore.errors import ToolchainError

    try:
        nvrtc.load()
    except ToolchainError:
        return False
    return True
