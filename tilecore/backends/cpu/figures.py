"""The figures of the host's processor for programs that choose tile sizes and grids by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.backends.cpu import blocks
from tilecore.backends.cpu.extensions import TILE_FEATURES
from tilecore.backends.cpu.target import features_in, is_intels
from tilecore.profiler.tile_device import AttentionBlocks, GemmBlocks, TileDevice, checked_kind


class CPU(TileDevice):
    """The figures of a target of kind ``cpu``. compute_max_core: the threads that run a kernel's blocks."""

    def __init__(self, target: Any = "cpu") -> None:
        super().__init__(checked_kind(target, "cpu", "CPU"))
        self.compute_max_core = get_num_sms()
        self.l2_cache_size_bytes = int(self.target.get("cache_bytes") or 0)

    def gemm_blocks(self, M: int, N: int, K: int, dtype: str, layout: str) -> Sequence[GemmBlocks]:
        return blocks.gemm_blocks(self._processor(), M, N, K, dtype, layout)

    def attention_blocks(
        self, heads: int, queries: int, keys: int, dim: int, is_causal: bool
    ) -> Sequence[AttentionBlocks]:
        return blocks.attention_blocks(self._processor(), heads, queries, keys, is_causal)

    def _processor(self) -> blocks.Processor:
        lanes = int(self.target.get("vector_bits") or 128) // 32
        return blocks.Processor(
            self.compute_max_core,
            is_intels(self.target),
            TILE_FEATURES.issubset(features_in(self.target)),
            operations=4 * lanes,
        )


def is_cpu_arch(arch: TileDevice) -> bool:
    return isinstance(arch, CPU)


def get_num_sms(device_id: int = 0) -> int:
    """The threads that run a kernel's blocks at one time, as a GPU's multiprocessors do; the device is always 0."""
    from tilecore.backends.cpu.pool import get_num_threads

    return get_num_threads()
