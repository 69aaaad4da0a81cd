"""The time of a GEMM kernel by a model: waves of tiles, the speed of a step along K, bytes moved, depth of the
pipeline.

The model knows nothing of a vendor. It takes the chip's speeds (chip.py), and the constants below, which belong to the
code that tilecore emits; docs/notes/heuristics.md says what they were fitted on and how far the model is off.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tilecore.heuristics.chip import Chip
from tilecore.heuristics.gemm_space import Tiling, Work


@dataclass(frozen=True)
class Constants:
    """peak: share of the matrix instructions' rate that a full pipeline reaches. step: seconds a step costs in cycles
    of the clock, for barriers and waits. shared_rate: bytes a cycle that operands are read from shared memory with.
    tile: latencies of a tile's beginning and end. epilogue: bytes a cycle of a core that results are written with.
    second: launches that a second kernel costs. part: latencies that adding the parts of a cluster costs. sharp:
    exponent of the smooth maximum of limits."""

    peak: float = 0.92
    step: float = 40.0
    shared_rate: float = 128.0
    tile: float = 1.3
    epilogue: float = 24.0
    second: float = 0.8
    part: float = 0.6
    sharp: float = 4.0


CONSTANTS = Constants()


@dataclass(frozen=True)
class Estimate:
    """seconds, and their parts: those of a core's products, of its loads, and of the chip's traffic with memory."""

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
    tiles = ceil(work.M / t.block_M) * ceil(work.N / t.block_N)
    blocks = tiles * t.split_k
    resident = t.resident if blocks > chip.cores else 1
    parts = chip.loop_parts(blocks, steps) if blocks <= chip.cores * resident else 1
    steps = ceil(steps / parts)
    running = blocks * parts
    waves = ceil(running / (chip.cores * resident))
    side_by_side = min(resident, ceil(running / chip.cores))  # blocks that a core works on at a time

    product = _step_of_products(work, t, chip, c)
    load = min(t.block_M, work.M) * t.block_K * work.element + t.block_N * t.block_K * work.element
    active = min(running, chip.cores * resident)
    pull = active * load / chip.l2_bandwidth / side_by_side  # of a step of one block, all running
    wait = chip.latency / t.stages  # a slot is filled once a latency at best
    step = max(_smooth(c.sharp, product, pull), wait / side_by_side)
    ends = c.tile * chip.latency + min(t.block_M, work.M) * t.block_N * work.out_element / (c.epilogue * chip.clock)
    if parts > 1:
        ends += c.part * chip.latency * parts**0.5
    # all waves but the last are hidden behind one another by half: loads of the next tile go on
    core = waves * side_by_side * steps * step + ends * (1 + (waves - 1) * (0.35 if resident == 1 else 0.2))
    traffic = _traffic(work, t, chip) / chip.bandwidth
    seconds = chip.launch + _smooth(c.sharp, core, traffic + chip.latency)
    if t.split_k > 1:
        seconds += c.second * chip.launch + (t.split_k + 0.5) * work.M * work.N * 4 / chip.l2_bandwidth
    return Estimate(
        seconds, blocks, parts, running / (chip.cores * resident), waves * side_by_side * steps * product,
        waves * side_by_side * steps * pull, traffic,
    )  # fmt: skip


def _step_of_products(work: Work, t: Tiling, chip: Chip, c: Constants) -> float:
    """Seconds of a block's products of one step along K: the instructions, or reading their operands."""
    operations = 2 * t.block_M * t.block_N * t.block_K
    rate = chip.rate(work.dtype) * c.peak
    groups = max(1, t.threads // chip.group_threads)
    along_M = max(g for g in range(1, groups + 1) if groups % g == 0 and (t.block_M // chip.group_rows or 1) % g == 0)
    instructions = max(1, t.block_M // (chip.group_rows * along_M))  # of a group along M: each reads B again
    columns = t.block_N // (groups // along_M)
    read = groups * instructions * (chip.group_rows + columns) * t.block_K * work.element
    return max(operations / rate, read / (c.shared_rate * chip.clock)) + c.step / chip.clock


def _traffic(work: Work, t: Tiling, chip: Chip) -> float:
    """Bytes between the chip and its memory: each operand once, and again for panels that the cache does not hold."""
    a, b = work.M * work.K * work.element, work.K * work.N * work.element
    total = a + b + work.M * work.N * work.out_element
    rows, columns = ceil(work.M / t.block_M), ceil(work.N / t.block_N)
    if chip.l2_bytes and a + b > chip.l2_bytes and min(rows, columns) > 8:
        total += 0.5 * b * (ceil(rows / 8) - 1) * t.block_M / max(t.block_M, 128) * 0.25
    return total


def _smooth(sharp: float, *values: float) -> float:
    """A maximum whose corners are round: limits that are close slow each other down."""
    largest = max(values)
    return largest * sum((value / largest) ** sharp for value in values) ** (1 / sharp)
