"""``tilecore.jit.adapter.nvrtc``: whether the execution backend "nvrtc" has its compiler here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_cuda import nvrtc
from tilecore.errors import ToolchainError

if TYPE_CHECKING:
    is_nvrtc_available: bool

__all__ = ["check_nvrtc_available", "is_nvrtc_available"]


def check_nvrtc_available() -> None:
    """Raises ImportError, with how to install it, where NVRTC is not installed."""
    try:
        nvrtc.load()
    except ToolchainError as error:
        raise ImportError(f"{error.message}; {error.hint}", name="nvrtc") from error


def __getattr__(name: str) -> Any:
    """``is_nvrtc_available``, a bool: looked up when it is used, as a search for the library takes time."""
    if name != "is_nvrtc_available":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        nvrtc.load()
    except ToolchainError:
        return False
    return True
