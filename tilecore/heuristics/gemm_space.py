"""The configurations of a GEMM that are legal on a chip: tiles, threads, depth of the pipeline, parts of K."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from tilecore.dtypes import dtype as DType
from tilecore.heuristics.chip import Chip

MOST_SUMS = 128  # 4-byte sums of a thread: more leave too few of 255 registers for the rest
LEAST_SUMS = 2
OPERANDS_OF_THREADS = 100  # registers beside its sums of a thread that multiplies by itself
MOST_STAGES_OF_THREADS = 4  # a power of two: a slot's number costs one instruction, not seven
MOST_STAGES = 6
LINE = 128  # bytes of a row of a tile in shared memory
LEAST_WIDTH = 65  # columns below which all widths are proposed
LEAST_STEPS = 4  # along K of a part
HEIGHTS = (16, 32, 64, 128, 192, 256)
WIDTHS = (16, 32, 64, 96, 128, 160, 192, 224, 256)
MORE_WIDTHS = (80, 112, 144, 176, 208, 240)  # where rows of B's tile lie along K
SPLITS = (1, 2, 3, 4, 6, 8, 12, 16)
SPARE = 3072  # bytes of shared memory of a block for barriers and alignment
STAGED = 128  # bytes for each thread: the most that a result's tile takes beside the loop's tiles
USUAL_THREADS = 256
MOST_SUMS_OF_THREE = 64  # 4-byte sums of a thread of three groups: wider tiles were slower (docs/notes/hopper.md)
THREADS_BESIDE = 32  # that copy tiles beside those that multiply


@dataclass(frozen=True)
class Work:
    """C [M, N] = A @ B over K. layout: "NN", "NT", "TN" or "TT" (see examples/gemm.py)."""

    M: int
    N: int
    K: int
    dtype: str
    out_dtype: str
    layout: str

    @property
    def element(self) -> float:
        """Bytes of an element of A and B."""
        return DType(self.dtype).bits / 8

    @property
    def out_element(self) -> float:
        return DType(self.out_dtype).bits / 8


@dataclass(frozen=True)
class Tiling:
    """block_M, block_N, block_K: a block's tile; stages: slots for tiles of A and B; split_k: blocks along K whose
    sums a second kernel adds; resident: the blocks that a core holds; stream_k: among how many blocks the last round's
    tiles are divided along K, whose sums a second kernel adds (0: they are not divided)."""

    block_M: int
    block_N: int
    block_K: int
    stages: int
    threads: int
    split_k: int
    resident: int
    stream_k: int = 0


@dataclass(frozen=True)
class Rounds:
    """Of a streamed tiling: whole rounds of tiles; the tiles that are divided; the steps along K of each block in the
    last round; the blocks that have such steps; the parts of tiles that blocks write, one for each block and tile that
    have steps in common."""

    whole: int
    divided: int
    each: int
    sharing: int

    @property
    def parts(self) -> int:
        return self.sharing + self.divided - 1


def rounds_of(work: Work, t: Tiling) -> Rounds:
    """How a tiling with stream_k divides its tiles; examples/gemm.py does the same."""
    steps = ceil(work.K / t.block_K)
    whole, divided = divmod(ceil(work.M / t.block_M) * ceil(work.N / t.block_N), t.stream_k)
    each = max(ceil(divided * steps / t.stream_k), LEAST_STEPS)
    return Rounds(whole, divided, each, ceil(divided * steps / each))


def streamed(work: Work, t: Tiling, chip: Chip) -> Tiling | None:
    """The tiling with the last round's tiles divided along K; None where there is nothing to divide, or one round only:
    for few tiles there are split_k and blocks that share a loop.

    Only for chips whose matrix instructions several warps execute: there the compiler lets other warps load tiles, and
    a block that has several tiles loads the next one while it stores a result, as the model assumes.
    """
    if chip.group_threads <= chip.warp or not chip.has_matrix_instructions(work.dtype) or t.split_k > 1:
        return None
    with_stream = replace(t, stream_k=chip.cores * t.resident)
    rounds = rounds_of(work, with_stream)
    divides = rounds.whole and rounds.divided and rounds.each < ceil(work.K / t.block_K)
    return with_stream if divides else None


def tilings(work: Work, chip: Chip) -> Iterator[Tiling]:
    """Every legal tiling that is worth a look; with K divided by the program, too, where there are few tiles."""
    for block_M, block_N, threads in _tiles(work, chip):
        blocks = ceil(work.M / block_M) * ceil(work.N / block_N)
        for block_K in _depths(work, chip):
            splits = _splits(blocks, ceil(work.K / block_K), chip)
            for stages, resident in _pipelines(work, chip, block_M, block_N, block_K, threads):
                for split_k in splits:
                    yield Tiling(block_M, block_N, block_K, stages, threads, split_k, resident)


def _splits(blocks: int, steps: int, chip: Chip) -> list[int]:
    """Parts of K: more than one where the blocks fill at most half of the cores, and every part has several steps."""
    most = min(2 * chip.cores // blocks, steps // LEAST_STEPS) if 2 * blocks <= chip.cores else 1
    return [split for split in SPLITS if split <= max(1, most)]


def shared_bytes(
    work: Work, block_M: int, block_N: int, block_K: int, stages: int, threads: int = USUAL_THREADS
) -> int:
    """Bytes of shared memory of a block, from above."""
    tiles = stages * int((block_M + block_N) * block_K * work.element)
    staged = STAGED * max(threads, USUAL_THREADS)
    return tiles + min(staged, int(block_M * block_N * work.out_element)) + SPARE


def _tiles(work: Work, chip: Chip) -> Iterator[tuple[int, int, int]]:
    """(block_M, block_N, threads): the groups of threads have whole instructions, and no sums that do not fit."""
    rows = chip.group_rows if chip.has_matrix_instructions(work.dtype) else 16
    heights = [m for m in HEIGHTS if m % rows == 0]
    heights = [m for m in heights if m < 2 * work.M or m == rows]
    widths = sorted((*WIDTHS, *MORE_WIDTHS)) if work.layout.endswith("T") else WIDTHS
    widths = [n for n in widths if n < max(2 * work.N, LEAST_WIDTH)]
    if is_by_threads(work, chip):
        widths = [n for n in widths if n & (n - 1) == 0]  # threads share others less evenly
    for block_M in heights:
        for block_N in widths:
            for threads in _thread_counts(chip, block_M):
                if _fits(block_M, block_N, threads, work, chip):
                    yield block_M, block_N, threads


def _thread_counts(chip: Chip, block_M: int) -> list[int]:
    """A group of threads for each 64 rows, or for 128; three groups for 192 rows alone."""
    if block_M % 3 == 0:
        three = 3 * chip.group_threads
        return [three] if chip.group_threads > chip.warp and three <= chip.max_threads else []
    return [t for t in (128, 256) if t % chip.group_threads == 0 and t <= chip.max_threads] or [chip.group_threads]


def _fits(block_M: int, block_N: int, threads: int, work: Work, chip: Chip) -> bool:
    most = MOST_SUMS if threads <= USUAL_THREADS else MOST_SUMS_OF_THREE
    if not LEAST_SUMS <= block_M * block_N / threads <= most:
        return False
    if not chip.has_matrix_instructions(work.dtype):
        return True
    _, along_N = groups_along(block_M, threads, chip, work.dtype)
    columns = block_N // along_N
    if chip.group_threads > chip.warp and along_N > 1 and work.layout.endswith("N") and columns * work.element % LINE:
        return False  # an instruction of several warps reads whole rows of its part of B's tile
    return block_N % along_N == 0 and columns % 16 == 0


def is_by_threads(work: Work, chip: Chip) -> bool:
    """Whether every thread multiplies by itself what it has loaded into its registers."""
    return bool(chip.registers) and not chip.has_matrix_instructions(work.dtype)


def groups_along(block_M: int, threads: int, chip: Chip, dtype: str) -> tuple[int, int]:
    """How the groups of threads that execute a matrix instruction together share a tile: along M first."""
    groups = max(1, threads // chip.group_threads) if chip.has_matrix_instructions(dtype) else 1
    rows = max(1, block_M // chip.group_rows)
    along_M = max(g for g in range(1, groups + 1) if groups % g == 0 and rows % g == 0)
    return along_M, groups // along_M


def _depths(work: Work, chip: Chip) -> tuple[int, ...]:
    """block_K: rows of 128 bytes, and of twice as many where K is long enough."""
    one = int(LINE / work.element)
    if is_by_threads(work, chip):
        return (one,)  # the code of more steps is too long to be unrolled
    return tuple(k for k in (one, 2 * one) if k == one or 4 * k <= work.K)


def _pipelines(
    work: Work, chip: Chip, block_M: int, block_N: int, block_K: int, threads: int
) -> Iterator[tuple[int, int]]:
    """(stages, resident): the deepest pipeline for each number of blocks that a core can hold."""
    if not chip.block_shared:
        yield 2, 1
        return
    beside = shared_bytes(work, block_M, block_N, block_K, 0, threads)
    step = shared_bytes(work, block_M, block_N, block_K, 1, threads) - beside
    depths: set[int] = set()
    for resident in (1, 2, 3, 4):
        room = min(chip.block_shared, chip.core_shared // resident - chip.reserved)
        stages = min(MOST_STAGES_OF_THREADS if is_by_threads(work, chip) else MOST_STAGES, (room - beside) // step)
        if stages < 2 or not _registers_allow(work, chip, block_M * block_N // threads, threads, resident):
            break
        if stages not in depths:
            depths.add(stages)
            yield stages, resident
    if not depths and beside + step <= chip.block_shared:
        yield 1, 1


def _registers_allow(work: Work, chip: Chip, sums: int, threads: int, resident: int) -> bool:
    if not chip.registers or resident == 1:
        return True
    each = sums + OPERANDS_OF_THREADS if is_by_threads(work, chip) else min(168, sums + 40)
    return (threads + THREADS_BESIDE) * each * resident <= chip.registers
