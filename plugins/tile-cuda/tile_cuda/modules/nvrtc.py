"""``tilecore.contrib.nvrtc``: the NVRTC library of this machine."""

from __future__ import annotations

from tile_cuda import nvrtc


def get_nvrtc_version() -> tuple[int, int]:
    """(major, minor) of the NVRTC that kernels are compiled with. Raises ToolchainError where there is none."""
    major, minor, *_ = (int(word) for word in str(nvrtc.load().version).split("."))
    return major, minor
