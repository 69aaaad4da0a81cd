"""The time of a GEMM kernel by a model: waves of tiles, the speed of a step along K, bytes moved, pipeline depth.

The model knows nothing of a vendor. It takes the chip's speeds (chip.py), and the constants below, which belong to the
code that tilecore emits; docs/notes/heuristics.md says what they were fitted on and how far the model is off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log2

from tilecore.heuristics.chip import Chip
from tilecore.heuristics.gemm_space import LINE, Tiling, Work, groups_along, is_by_threads, rounds_of
from tilecore.heuristics.limits import smooth_maximum


@dataclass(frozen=True)
class Constants:
    """peak: share of the matrix instructions' rate that a full pipeline reaches; memory, cache: shares of the
    bandwidths of copies. step: cycles that a step along K costs, for barriers and waits. shared_rate: bytes a cycle
    that operands are read from shared memory with; port: those that a core loads. tile: latencies of a tile's
    beginning and end; epilogue: bytes a cycle that a core writes results with. second: launches that a second
    kernel costs; sums: share of the cache's bandwidth that sums go through. part: latencies that adding the parts
    of a cluster costs; part_rate: bytes a cycle that a block reads them with, each a slice. short: slowdown of
    loads of rows of half a line. sharp: exponent of the smooth maximum of limits. issue: share of the cycles in
    which eight warps of a core start an instruction, where products are single multiply-adds; idle: the same of
    four warps, relative to that; others: instructions of a thread in a step of the loop beside these and their
    loads (all three from the compiled code, not measured). joint: share of the tile that neighbouring blocks have in
    common which the cache gives their two cores by one access."""

    peak: float = 0.883
    memory: float = 0.796
    cache: float = 0.961
    step: float = 26.1
    shared_rate: float = 94.4
    tile: float = 1.31
    epilogue: float = 502.0
    second: float = 0.284
    sums: float = 0.574
    part: float = 2.62
    part_rate: float = 8.84
    short: float = 0.645
    port: float = 60.0
    sharp: float = 4.41
    issue: float = 0.98
    idle: float = 0.87
    others: float = 64.0
    joint: float = 0.75


CONSTANTS = Constants()


@dataclass(frozen=True)
class Estimate:
    """seconds, and their parts: those of a core's products, of its loads, and of the chip's traffic with memory.

    blocks: of the program's grid; parts: blocks that share the loop of each; waves: rounds of blocks on the chip.
    """

    seconds: float
    blocks: int
    parts: int
    waves: float
    products: float
    loads: float
    traffic: float

    @property
    def limit(self) -> str:
        names = {"products": self.products, "loads from the cache": self.loads, "global memory": self.traffic}
        return max(names, key=lambda name: names[name])


def estimate(work: Work, tiling: Tiling, chip: Chip, constants: Constants = CONSTANTS) -> Estimate:
    """What the model expects of a tiling."""
    t, c = tiling, constants
    steps = ceil(ceil(work.K / t.block_K) / t.split_k)
    blocks = ceil(work.M / t.block_M) * ceil(work.N / t.block_N) * t.split_k
    resident = t.resident if blocks > chip.cores else 1
    parts = chip.loop_parts(blocks, steps) if blocks <= chip.cores * resident else 1
    steps, running = ceil(steps / parts), blocks * parts
    slots = chip.cores * resident
    full, rest = divmod(running, slots)
    last_steps = steps
    of_whole_rounds = t
    if t.stream_k:  # the blocks of the last round alone have parts of tiles
        rounds, of_whole_rounds = rounds_of(work, t), replace(t, stream_k=0)
        rest, last_steps = rounds.sharing, rounds.each
    whole = _wave(work, of_whole_rounds, chip, c, slots)
    last = _wave(work, t, chip, c, rest) if rest else (0.0, 0.0, 0.0)
    core, products, loads = (steps * full * each + last_steps * end for each, end in zip(whole, last, strict=True))
    waves = full + (rest > 0)
    ends = c.tile * chip.latency
    ends += min(t.block_M, work.M) * t.block_N * work.out_element * min(resident, waves) / (c.epilogue * chip.clock)
    if parts > 1:
        ends += c.part * chip.latency + (parts - 1) / parts * t.block_M * t.block_N * 4 / (c.part_rate * chip.clock)
    core += ends * (waves - 1)
    traffic = _traffic(work) / (c.memory * chip.bandwidth)
    seconds = chip.launch + smooth_maximum(c.sharp, core, traffic + chip.latency) + ends  # of the last wave, after it
    if t.split_k > 1:
        seconds += c.second * chip.launch
        seconds += 2 * t.split_k * work.M * work.N * 4 / (c.sums * chip.l2_bandwidth)
    if t.stream_k:  # blocks with parts of two tiles end twice
        part = t.block_M * t.block_N * 4
        seconds += c.second * chip.launch + ends + 2 * rounds.parts * part / (c.sums * chip.l2_bandwidth)
    return Estimate(seconds, blocks, parts, running / slots, products, loads, traffic)


def _wave(work: Work, t: Tiling, chip: Chip, c: Constants, active: int) -> tuple[float, float, float]:
    """Seconds of one step of the ``active`` blocks that run at a time; of their products and of their loads."""
    overhead = c.step / chip.clock * (2 if _waits_alone(work, t, chip) else 1)
    beside = ceil(active / chip.cores)
    product = _products(work, t, chip, c, beside)
    products, load = max(beside * product, product + overhead), _load(work, t, c)
    given = load - _joint(work, t, c)
    loads = max(active * given / (c.cache * chip.l2_bandwidth), beside * load / (c.port * chip.clock))
    filled = (chip.latency + loads) / t.stages
    return smooth_maximum(c.sharp, products, loads, filled), beside * product, loads


def _waits_alone(work: Work, t: Tiling, chip: Chip) -> bool:
    """Whether a block of several rows of instructions has one group of threads: nothing runs while it waits.

    With 128 x 128 tiles and one wave of blocks it takes 3 % more time than two groups, up to 13 %
    (docs/notes/heuristics.md); with instructions of all rows of a tile there is no difference.
    """
    return chip.has_matrix_instructions(work.dtype) and t.threads == chip.group_threads and t.block_M > chip.group_rows


def _products(work: Work, t: Tiling, chip: Chip, c: Constants, beside: int) -> float:
    """Seconds of a block's products of one step along K: the instructions, or reading their operands.

    beside: the blocks that run on the core at a time.
    """
    operations = 2 * t.block_M * t.block_N * t.block_K
    if is_by_threads(work, chip):
        return operations / (chip.rate(work.dtype) * _issued_products(t, chip, c, beside))
    along_M, along_N = groups_along(t.block_M, t.threads, chip, work.dtype)
    instructions = max(1, t.block_M // (chip.group_rows * along_M))  # of a group along M: each reads B again
    rows = along_M * along_N * instructions * (chip.group_rows + t.block_N // along_N)
    read = rows * t.block_K * work.element
    return max(operations / (chip.rate(work.dtype) * c.peak), read / (c.shared_rate * chip.clock))


def _issued_products(t: Tiling, chip: Chip, c: Constants, beside: int) -> float:
    """The share of a core's issue slots that multiply-adds of single threads take.

    A thread with R x C sums loads R + C operands for R * C multiply-adds, four of them by one instruction, and has
    other instructions in every step. Warps that wait for loads leave slots empty unless others can issue.
    """
    sums = max(1.0, t.block_M * t.block_N / t.threads)
    loads = 2 * sums**0.5 / 4
    warps = t.threads * beside / chip.warp
    return c.issue * sums / (sums + loads + c.others / t.block_K) * c.idle ** max(0.0, log2(8 / warps))


def _load(work: Work, t: Tiling, c: Constants) -> float:
    """Bytes of a block's tiles of A and B, more where their rows are shorter than a line of the cache."""
    return _bytes_of_a(work, t, c) + _bytes_of_b(work, t, c)


def _joint(work: Work, t: Tiling, c: Constants) -> float:
    """Bytes of a block's loads that the cache gives two neighbouring cores by one access: half of the tile that their
    blocks, which follow one another in the grid, have in common. Blocks follow along M, in panels."""
    if t.split_k > 1 or t.stream_k:
        return 0.0
    rows = ceil(work.M / t.block_M)
    return c.joint / 2 * (_bytes_of_b if rows > 1 else _bytes_of_a)(work, t, c)


def _bytes_of_a(work: Work, t: Tiling, c: Constants) -> float:
    columns = t.block_M if work.layout.startswith("T") else t.block_K
    return min(t.block_M, work.M) * _short(columns, work, c) * t.block_K * work.element


def _bytes_of_b(work: Work, t: Tiling, c: Constants) -> float:
    columns = t.block_N if work.layout.endswith("N") else t.block_K
    return t.block_N * _short(columns, work, c) * t.block_K * work.element


def _short(columns: int, work: Work, c: Constants) -> float:
    """How much more rows of so many elements cost than those of whole lines of the cache."""
    return 1 + c.short * max(0.0, LINE / (columns * work.element) - 1)


def _traffic(work: Work) -> float:
    """Bytes between the chip and its memory: every matrix once."""
    operands = (work.M + work.N) * work.K * work.element
    return operands + work.M * work.N * work.out_element
