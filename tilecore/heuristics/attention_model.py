"""The time of an attention kernel by a model: products and exponentials of tiles of keys, waves of blocks, bytes moved.

As in gemm_model.py, the chip's speeds come from its backend, and the constants belong to the code that tilecore emits.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tilecore.heuristics.attention_space import Tiling, Work
from tilecore.heuristics.chip import Chip


@dataclass(frozen=True)
class Constants:
    """peak: share of the rate of matrix instructions. softmax: operations on float32 that a score costs. overlap: share
    of the smaller of products and softmax that runs beside the larger. narrow: slowdown of products for rows of tiles
    that are no whole 128 bytes, and twice that below 64. tile: cycles that a tile of keys costs, for barriers and
    waits. shared_q: slowdown of products that read queries from shared memory. ends: latencies of a block's beginning
    and end. alone: share of a core's speed that blocks of one group of threads reach. second: launches of a second
    kernel."""

    peak: float = 0.85
    softmax: float = 24.0
    overlap: float = 0.75
    narrow: float = 0.06
    tile: float = 200.0
    shared_q: float = 0.04
    ends: float = 2.0
    alone: float = 0.6
    second: float = 1.2
    sharp: float = 4.0


CONSTANTS = Constants()


@dataclass(frozen=True)
class Estimate:
    """seconds, and their parts: of products, of exponentials, and of traffic with memory. blocks: of the grid."""

    seconds: float
    blocks: int
    products: float
    softmax: float
    traffic: float

    @property
    def limit(self) -> str:
        names = {"products": self.products, "exponentials": self.softmax, "global memory": self.traffic}
        return max(names, key=lambda name: names[name])


def estimate(work: Work, t: Tiling, chip: Chip, constants: Constants = CONSTANTS) -> Estimate:
    c = constants
    k, v = t.width or work.dim, t.width or work.dim_v
    groups = max(1, t.threads // max(1, chip.group_threads))
    product = 2 * t.block_M * t.block_N * (k + v) / (chip.rate(work.dtype) * c.peak) * _narrow(work, t, c)
    product *= 1 if t.q_in_registers else 1 + c.shared_q
    scores = t.block_M * t.block_N * c.softmax / chip.vector_rate
    larger, smaller = max(product, scores), min(product, scores)
    overlap = c.overlap if groups > 1 or t.resident > 1 else c.overlap * c.alone
    tile = larger + (1 - overlap) * smaller + c.tile / chip.clock / max(1, min(t.resident, groups))
    visits = ceil(work.keys / t.block_N)
    blocks = (
        work.batch * (work.kv_heads if work.is_decoding else work.heads * ceil(work.queries / t.block_M)) * t.splits
    )
    load = t.block_N * (k + v) * work.element
    tile = max(tile, chip.latency / t.stages / t.resident)
    per_block = ceil(visits / t.splits)
    ends = c.ends * chip.latency
    if work.is_causal:
        mean = (visits + 1) / 2
        core = max(blocks * mean / chip.cores, visits) * tile + ceil(blocks / chip.cores) * ends * 0.5 + ends
    else:
        waves = ceil(blocks / (chip.cores * t.resident))
        side = min(t.resident, ceil(blocks / chip.cores))
        pull = min(blocks, chip.cores * t.resident) * load / chip.l2_bandwidth / side
        core = waves * side * per_block * max(tile, pull) + ends * (1 + 0.5 * (waves - 1))
    seconds = chip.launch + _smooth(c.sharp, core, _traffic(work) / chip.bandwidth + chip.latency)
    if t.splits > 1:
        parts = work.batch * work.heads * t.splits * (work.dim_v + 1) * 4
        seconds += c.second * chip.launch + 2 * parts / chip.l2_bandwidth
    busy = blocks * per_block * (0.5 if work.is_causal else 1) / chip.cores
    return Estimate(seconds, blocks, busy * product, busy * scores, _traffic(work) / chip.bandwidth)


def _narrow(work: Work, t: Tiling, c: Constants) -> float:
    row = int((t.width or work.dim) * work.element)
    return 1.0 if row % 128 == 0 else 1 + c.narrow if row % 64 == 0 else 1 + 2 * c.narrow


def _traffic(work: Work) -> float:
    """Bytes between the chip and its memory: each tensor once."""
    rows = work.batch * work.queries * work.heads * (work.dim + work.dim_v)
    return (rows + work.batch * work.keys * work.kv_heads * (work.dim + work.dim_v)) * work.element


def _smooth(sharp: float, *values: float) -> float:
    largest = max(values)
    return largest * sum((value / largest) ** sharp for value in values) ** (1 / sharp)
