"""The figures of the host's processor for programs that choose tile sizes and grids by them."""

from __future__ import annotations

from typing import Any

from tilecore.profiler.tile_device import TileDevice, checked_kind


class CPU(TileDevice):
    """The figures of a target of kind ``cpu``. compute_max_core: the threads that run a kernel's blocks."""

    def __init__(self, target: Any = "cpu") -> None:
        super().__init__(checked_kind(target, "cpu", "CPU"))
        self.compute_max_core = get_num_sms()
        self.l2_cache_size_bytes = int(self.target.get("cache_bytes") or 0)


def is_cpu_arch(arch: TileDevice) -> bool:
    return isinstance(arch, CPU)


def get_num_sms(device_id: int = 0) -> int:
    """The threads that run a kernel's blocks at one time, as a GPU's multiprocessors do; the device is always 0."""
    from tilecore.backends.cpu.pool import get_num_threads

    return get_num_threads()
