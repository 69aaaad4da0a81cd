"""The execution backends of ``metal``: the simulated device."""

from __future__ import annotations

from tile_metal.simulated import simulated_adapter
from tilecore.contract.adapter import KernelAdapter


def adapters() -> list[KernelAdapter]:
    """All execution backends of the target, the default one first."""
    return [simulated_adapter()]
