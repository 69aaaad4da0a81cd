"""The execution backends of ``tpu``."""

from __future__ import annotations

from tile_tpu.simulated import SimulatorAdapter
from tilecore.runtime.adapter import KernelAdapter


def adapters() -> list[KernelAdapter]:
    """All of them, in the order in which ``auto`` tries them."""
    return [SimulatorAdapter()]
