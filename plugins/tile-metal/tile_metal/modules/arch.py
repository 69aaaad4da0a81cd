"""``tilecore.carver.arch``: the figures of Apple's GPUs for programs that choose tile sizes by them."""

from __future__ import annotations

from typing import Any

from tilecore.profiler.tile_device import TileDevice, checked_kind


class METAL(TileDevice):
    """The figures of a target of kind ``metal``: what the target says of itself."""

    def __init__(self, target: Any = "metal") -> None:
        super().__init__(checked_kind(target, "metal", "METAL"))

    def get_avaliable_tensorintrin_shapes(self) -> list[list[int]]:
        return [[8, 8]]


def is_metal_arch(arch: TileDevice) -> bool:
    return isinstance(arch, METAL)
