"""The configurations of attention that are legal on a chip: tiles of queries and of keys, stages, parts of the keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, lcm

from tilecore.dtypes import dtype as DType
from tilecore.heuristics.chip import Chip

SPARE = 2048  # bytes of shared memory of a block for barriers and alignment
MOST_REGISTERS, OTHER_REGISTERS = 240, 44  # of a thread; beside its tiles
OTHER_WITH_SHARED_Q = 32  # beside its tiles, where queries stay in shared memory
USUAL_REGISTERS = 168  # that a thread of a block has without giving some to others
THREADS_BESIDE = 32  # that copy tiles beside those that multiply
USUAL_THREADS = 256  # of a block, at most, where single warps execute matrix instructions
DECODE_THREADS = 128
LEAST_ROWS = 16  # of a product of few queries
MOST_MASKED_KEYS = 128  # of a tile, where masks reach a second one: compilers run products of wider ones one by one


@dataclass(frozen=True)
class Work:
    """Q [batch, queries, heads, dim], K [batch, keys, kv_heads, dim], V [batch, keys, kv_heads, dim_v]."""

    batch: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    dim: int
    dim_v: int
    is_causal: bool
    dtype: str

    @property
    def element(self) -> float:
        """Bytes of an element."""
        return DType(self.dtype).bits / 8

    @property
    def group(self) -> int:
        """Query heads that share keys."""
        return self.heads // self.kv_heads

    @property
    def is_decoding(self) -> bool:
        """Whether each sequence has one new query, so that the query heads of a group are the rows of a product."""
        return self.queries == 1 and self.keys > 1


@dataclass(frozen=True)
class Tiling:
    """block_M: queries of a block, or for decoding rows of a product (query heads). block_N: keys of a tile. width:
    columns of tiles, where they are more than the heads have. splits: parts of the keys. resident: blocks of a core."""

    block_M: int
    block_N: int
    stages: int
    threads: int
    width: int | None
    q_in_registers: bool
    splits: int
    resident: int


def tilings(work: Work, chip: Chip) -> Iterator[Tiling]:
    yield from _decoding(work, chip) if work.is_decoding else _forward(work, chip)


def widths(work: Work, chip: Chip) -> list[int | None]:
    """None: tiles are as wide as heads. Else a width of whole 64 or 128 bytes, for swizzles that read all banks."""
    if work.dim != work.dim_v or not chip.block_shared:
        return [None]
    wider = {ceil(work.dim * work.element / line) * line / work.element for line in (64, 128)}
    return [None, *sorted(int(w) for w in wider if work.dim < w)]


def shared_bytes(work: Work, block_M: int, block_N: int, stages: int, width: int | None) -> int:
    """Bytes of a block's tiles of Q, K and V."""
    k, v = width or work.dim, width or work.dim_v
    return int((block_M * k + stages * block_N * (k + v)) * work.element) + SPARE


def registers(work: Work, t: Tiling) -> float:
    """Of a thread: scores, weights, output, and queries if they are kept there."""
    k, v = t.width or work.dim, t.width or work.dim_v
    words = work.element / 4
    sums = t.block_M * (t.block_N * (1 + words) + v) / t.threads
    if not t.q_in_registers:
        return sums + OTHER_WITH_SHARED_Q
    return sums + t.block_M * k * words / t.threads + OTHER_REGISTERS


def masked_tiles(t: Tiling) -> int:
    """The most tiles of keys that causal attention masks in part, for a tile of queries."""
    firsts = range(0, lcm(t.block_M, t.block_N), t.block_M)
    return max((first + t.block_M - 1) // t.block_N - (first + 1) // t.block_N + 1 for first in firsts)


def _forward(work: Work, chip: Chip) -> Iterator[Tiling]:
    rows = max(LEAST_ROWS, chip.group_rows if chip.has_matrix_instructions(work.dtype) else LEAST_ROWS)
    heights = [m for m in (32, 64, 128, 192) if m % rows == 0]
    heights = [m for m in heights if m < 2 * work.queries] or heights[:1]
    for block_M in heights:
        most = USUAL_THREADS if chip.group_threads <= chip.warp else chip.max_threads
        threads = max(chip.warp, min(most, max(128, block_M // rows * chip.group_threads)))
        for width in widths(work, chip):
            for block_N in (32, 64, 80, 96, 128, 160, 192):
                if block_N >= 2 * work.keys and block_N > 32:
                    continue
                for stages in (1, 2, 3):
                    shared = shared_bytes(work, block_M, block_N, stages, width)
                    for in_registers in (True, False):
                        t = Tiling(block_M, block_N, stages, threads, width, in_registers, 1, 1)
                        if work.is_causal and block_N > MOST_MASKED_KEYS and masked_tiles(t) > 1:
                            continue
                        resident = _resident(chip, shared, threads, registers(work, t))
                        if resident and registers(work, t) <= _most_registers(chip, threads):
                            yield replace(t, resident=resident)


def _decoding(work: Work, chip: Chip) -> Iterator[Tiling]:
    rows = ceil(work.group / LEAST_ROWS) * LEAST_ROWS
    pairs = work.batch * work.kv_heads
    for width in widths(work, chip):
        for block_N in (32, 64, 128):
            tiles = ceil(work.keys / block_N)
            for stages in (1, 2, 3, 4):
                v = width or work.dim_v
                sums = rows * (1.5 * block_N + v) / DECODE_THREADS
                shared = shared_bytes(work, rows, block_N, stages, width)
                resident = _resident(chip, shared, DECODE_THREADS, sums + OTHER_REGISTERS)
                if not resident:
                    continue
                numbers = [max(1, min(tiles, round(waves * chip.cores / pairs))) for waves in (0.25, 0.5, 1, 2, 3, 4)]
                for splits in dict.fromkeys((1, *numbers)):  # 1: for kernels that divide no keys
                    yield Tiling(rows, block_N, stages, DECODE_THREADS, width, False, splits, resident)


def _resident(chip: Chip, shared: int, threads: int, registers: float) -> int:
    """The blocks that a core holds by their shared memory and their registers; 0: none."""
    if not chip.block_shared:
        return 1
    if shared > chip.block_shared:
        return 0
    by_memory = chip.core_shared // (shared + chip.reserved)
    per_thread = min(USUAL_REGISTERS, registers)
    by_registers = chip.registers / ((threads + THREADS_BESIDE) * per_thread) if chip.registers else by_memory
    return max(1, min(by_memory, int(by_registers)))


def _most_registers(chip: Chip, threads: int) -> float:
    return min(MOST_REGISTERS, 0.94 * chip.registers / threads) if chip.registers else MOST_REGISTERS
