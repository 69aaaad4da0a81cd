"""The time of an attention kernel by a model: products and exponentials of tiles of keys, waves of blocks, bytes moved.

As in gemm_model.py, the chip's speeds come from its backend, and the constants belong to the code that tilecore emits.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tilecore.heuristics.attention_space import Tiling, Work, masked_tiles, shared_bytes
from tilecore.heuristics.chip import Chip
from tilecore.heuristics.limits import smooth_maximum


@dataclass(frozen=True)
class Constants:
    """peak: share of the rate of matrix instructions. softmax: operations on float32 that a score costs; rescale: what
    each element of the result costs for a tile of keys. overlap: share of the smaller of products and softmax that runs
    beside the larger. narrow: slowdown of products for rows of tiles that are no whole 128 bytes, and twice that below
    64. tile: cycles that a tile of keys costs two groups of threads, for barriers and waits. shared_q: slowdown of
    products that read queries from shared memory. ends: latencies of a block's beginning and end. apart: latencies
    between a tile of queries and the next one of a core, where a block stores its result before the next one loads, as
    there is no room for both. alone: share of ``overlap`` where a core has a single group of threads. turns: as
    ``overlap``, of three groups, which issue their products by turns. pair, pair_tile: as ``overlap`` and ``tile``, of
    two groups that do so. lone: slowdown of blocks of a single group, which wait for their own products. mask: what it
    costs that a tile of keys hides some of its scores, as a share of a tile. second: launches of a second kernel.
    memory: share of the bandwidth of a copy. sharp: exponent of the smooth maximum of limits."""

    peak: float = 0.97
    softmax: float = 21.0
    rescale: float = 3.6
    overlap: float = 0.74
    narrow: float = 0.06
    tile: float = 160.0
    shared_q: float = 0.04
    ends: float = 3.4
    apart: float = 6.0
    alone: float = 0.61
    turns: float = 0.85
    pair: float = 0.9
    pair_tile: float = 330.0
    lone: float = 0.15
    mask: float = 0.74
    second: float = 0.28
    memory: float = 0.757
    sharp: float = 3.0


CONSTANTS = Constants()
PAIR_BYTES = 256  # of a row of K and one of V together: up to here two groups of threads take turns


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


def estimate(work: Work, tiling: Tiling, chip: Chip, constants: Constants = CONSTANTS) -> Estimate:
    """What the model expects of a tiling."""
    t, c = tiling, constants
    k, v = t.width or work.dim, t.width or work.dim_v
    heads = work.kv_heads if work.is_decoding else work.heads * ceil(work.queries / t.block_M)
    blocks, visits = work.batch * heads * t.splits, ceil(work.keys / t.block_N)
    beside = max(1, min(t.resident, ceil(blocks / chip.cores)))  # blocks that a core works on at a time
    product, scores, tile = _tile(work, t, chip, c, beside)
    pull = min(blocks, beside * chip.cores) * t.block_N * (k + v) * work.element / chip.l2_bandwidth
    tile = smooth_maximum(c.sharp, tile, pull, (chip.latency + pull) / t.stages)  # of all blocks of a core
    ends, each = c.ends * chip.latency, ceil(visits / t.splits)
    between = 0.5 * ends if _stays(work, t, chip) else c.apart * chip.latency
    if work.is_causal:  # blocks have different work, and the longest begin first
        masked = c.mask * masked_tiles(t)
        rounds = max(blocks * ((visits + 1) / 2 + masked) / (chip.cores * beside), visits + masked)
        core = rounds * tile + ends + between * blocks / (chip.cores * beside)
    else:
        waves = ceil(blocks / (chip.cores * beside))
        core = waves * each * tile + ends + between * (waves - 1)
    traffic = _traffic(work) / (c.memory * chip.bandwidth)
    seconds = chip.launch + smooth_maximum(c.sharp, core, traffic + chip.latency)
    if t.splits > 1:
        parts = work.batch * work.heads * t.splits * (work.dim_v + 1) * 4
        seconds += c.second * chip.launch + 2 * parts / chip.l2_bandwidth
    busy = blocks * each * (0.5 if work.is_causal else 1) / chip.cores
    return Estimate(seconds, blocks, busy * product, busy * scores, traffic)


def _tile(work: Work, t: Tiling, chip: Chip, c: Constants, beside: int) -> tuple[float, float, float]:
    """Seconds of a tile of keys: of its products, of its scores, and of both in all blocks of a core."""
    k, v = t.width or work.dim, t.width or work.dim_v
    product = 2 * t.block_M * t.block_N * (k + v) / (chip.rate(work.dtype) * c.peak) * _narrow(work, t, c)
    product *= 1 if t.q_in_registers else 1 + c.shared_q
    scores = t.block_M * (t.block_N * c.softmax + v * c.rescale) / chip.vector_rate
    larger, smaller = max(product, scores), min(product, scores)
    groups = beside * t.threads / max(1, chip.group_threads)
    overlap, between = _overlap(t, chip, c, (k + v) * work.element, int(groups) > 1)
    tile = beside * (larger + (1 - overlap) * smaller) + between * max(1.0, groups / 2) / chip.clock
    is_lone = chip.group_threads > chip.warp and t.threads <= chip.group_threads
    return product, scores, tile * (1 + c.lone if is_lone else 1)


def _overlap(t: Tiling, chip: Chip, c: Constants, row: float, has_others: bool) -> tuple[float, float]:
    """The share of the smaller of products and softmax that runs beside the larger; cycles between tiles of keys.

    row: bytes of a row of K and one of V. has_others: whether a core has several groups of threads.
    """
    if chip.group_threads > chip.warp:
        if t.threads >= 3 * chip.group_threads:
            return c.turns, c.tile
        if t.threads == 2 * chip.group_threads and row <= PAIR_BYTES:
            return c.pair, c.pair_tile
    return c.overlap * (1 if has_others else c.alone), c.tile


def _stays(work: Work, t: Tiling, chip: Chip) -> bool:
    """Whether the loads of the next tile of queries run beside the end of the last one: in persistent blocks, which
    keep their result in shared memory beside the other tiles, and where a core has several blocks."""
    if chip.group_threads <= chip.warp or not chip.block_shared or t.resident > 1:
        return True
    result = t.block_M * (t.width or work.dim_v) * work.element
    return shared_bytes(work, t.block_M, t.block_N, t.stages, t.width) + result <= chip.block_shared


def _narrow(work: Work, t: Tiling, c: Constants) -> float:
    row = int((t.width or work.dim) * work.element)
    return 1.0 if row % 128 == 0 else 1 + c.narrow if row % 64 == 0 else 1 + 2 * c.narrow


def _traffic(work: Work) -> float:
    """Bytes between the chip and its memory: each tensor once."""
    rows = work.batch * work.queries * work.heads * (work.dim + work.dim_v)
    return (rows + work.batch * work.keys * work.kv_heads * (work.dim + work.dim_v)) * work.element
