"""The execution backends of ``metal``: torch, Metal itself, and the simulated device."""

from __future__ import annotations

from tile_metal.runtime.metal_adapter import MetalAdapter
from tile_metal.runtime.torch_adapter import TorchAdapter
from tile_metal.simulated import simulated_adapter
from tilecore.contract.adapter import KernelAdapter


def adapters() -> list[KernelAdapter]:
    """All execution backends of the target, the default one first."""
    on_device: list[KernelAdapter] = [TorchAdapter(), MetalAdapter()]
    simulated = simulated_adapter()
    return on_device if simulated is None else [*on_device, simulated]
