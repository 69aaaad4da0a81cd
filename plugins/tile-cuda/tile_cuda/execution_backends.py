"""All execution backends of ``cuda``, in the order in which "auto" tries them."""

from __future__ import annotations

from tile_cuda.adapter import NAMES, DriverAdapter
from tile_cuda.cutedsl.adapter import CuteDslAdapter
from tile_cuda.simulated import simulated_adapter
from tilecore.contract.adapter import KernelAdapter


def adapters() -> list[KernelAdapter]:
    """All execution backends of the target, the default one first."""
    on_device: list[KernelAdapter] = [*(DriverAdapter(name) for name in NAMES), CuteDslAdapter()]
    simulated = simulated_adapter()
    return on_device if simulated is None else [*on_device, simulated]
