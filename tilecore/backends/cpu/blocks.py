"""Sizes of blocks with which products and attention are fast on a processor, by rules of its caches and threads.

The measurements behind the rules are in docs/notes/cpu.md; ``benchmarks/cpu.py`` repeats them. The seconds only compare
proposals: products at the rate of the instructions, and copies at the bandwidth of the last cache.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from tilecore.dtypes import dtype as DType
from tilecore.profiler.tile_device import AttentionBlocks, GemmBlocks

CLOCK = 3e9  # Hz, of a core under load
CACHE_BANDWIDTH = 28e9  # bytes a second that one core reads from the last cache
TILE_OPERATIONS = {2: 1024, 1: 2048}  # in a cycle, by the bytes of an element
RATE = 0.4  # of the peak of tile registers that products reach, as their operands come from the second-level cache
MOST_ROWS = 2048  # of a block
BLOCKS_OF_THREAD = 2  # of products that take less than a few milliseconds: a worker wakes while the caller computes one
LEAST_ROWS = 128  # of the blocks that this makes
MOST_DEPTH = {"tiles": 4096, "vectors": 1024}  # of a block, along K
FEW_ROWS = 28  # up to which B is read as it lies
PART_OF_CACHE = 1 << 20  # bytes of the second-level cache, of 2 MiB, that a block's columns of B take
STEPS = {"bfloat16": 32, "int8": 64, "uint8": 64}  # along K that one instruction of tile registers takes
WIDTH = {"tiles": 512, "vectors": 256}  # columns of a block at most
NARROW = 256  # of bfloat16 with few rows or columns: a block of its own for some columns lets sums be rounded in place


class Processor(NamedTuple):
    """What the rules depend on: its threads, whether Intel makes it, whether it has tile registers, and the float32
    operations of a core in a cycle."""

    threads: int
    is_intel: bool
    has_tiles: bool
    operations: int


def gemm_blocks(processor: Processor, M: int, N: int, K: int, dtype: str, layout: str) -> list[GemmBlocks]:
    """Blocks for C [M, N] = A @ B over K, the best first."""
    by_tiles = processor.has_tiles and dtype in STEPS and layout[0] == "N"
    shapes = _with_tiles(processor, M, N, K, dtype) if by_tiles else _with_vectors(processor, M, N, K)
    group = STEPS[dtype] if by_tiles else 1
    proposals: list[GemmBlocks] = []
    for rows, columns, depth in dict.fromkeys([*shapes, *_smaller(shapes[0])]):
        deep = depth if depth >= group else group  # fewer steps are filled up with zeros
        products, copies = _seconds(processor, (M, N, K), (rows, columns, deep), dtype, by_tiles)
        blocks = ceil(M / rows) * ceil(N / columns)
        reason = f"{blocks} blocks for {processor.threads} threads; products {products * 1e6:.1f} us, copies"
        reason += f" {copies * 1e6:.1f} us"
        seconds = max(products + copies, proposals[-1].seconds if proposals else 0.0)
        proposals.append(GemmBlocks(rows, columns, deep, seconds, reason))
    return proposals


def _smaller(shape: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """Further blocks to try, of half of the rows or columns."""
    rows, columns, depth = shape
    return [(ceil(rows / 2), columns, depth), (rows, ceil(columns / 2), depth)]


def _with_tiles(processor: Processor, M: int, N: int, K: int, dtype: str) -> list[tuple[int, int, int]]:
    """All rows and all of K, so that B is interleaved once, but some blocks for each thread; columns of which B's part
    stays in the second-level cache."""
    if M <= FEW_ROWS:
        wide = _shared(N, 512, processor.threads)
        return [(M, wide, min(K, 64)), (M, _shared(N, 256, processor.threads), min(K, 1024))]
    size = DType(dtype).bytes
    depth = ceil(K / ceil(K / MOST_DEPTH["tiles"]))
    is_small = dtype == "bfloat16" and (M < NARROW or WIDTH["tiles"] >= N)
    most = min(NARROW if is_small else WIDTH["tiles"], max(32, PART_OF_CACHE // (size * depth) // 32 * 32))
    wide = _shared(N, most, processor.threads)
    rows = MOST_ROWS
    if processor.threads > 1:
        rows = min(rows, max(LEAST_ROWS, M * ceil(N / wide) // (BLOCKS_OF_THREAD * processor.threads)))
    narrow = _shared(N, max(32, most // 2), processor.threads)
    return [(_rows(M, rows), wide, depth), (_rows(M, 256), wide, depth), (_rows(M, MOST_ROWS), narrow, depth)]


def _with_vectors(processor: Processor, M: int, N: int, K: int) -> list[tuple[int, int, int]]:
    """Few rows: B as it lies, by whole pages in order. Few steps: whole rows of C, which is most of the work. Else
    blocks whose operands the second-level cache holds."""
    threads = processor.threads
    if M <= FEW_ROWS:
        deep = min(K, 32 if processor.is_intel or M < 4 else 1024)
        return [(M, min(ceil(N / threads), 1024), deep), (M, min(ceil(N / threads), 256), min(K, 1024))]
    if K < 64 and processor.is_intel:
        return [(_rows(M, 128), min(N, 1024), K), (_rows(M, 64), min(N, 1024), K), (_rows(M, 128), min(N, 256), K)]
    depth = ceil(K / ceil(K / MOST_DEPTH["vectors"]))
    all_rows = M if M <= 512 else _dividing(M, 128)
    wide = _shared(N, WIDTH["vectors"], threads)
    return [
        (all_rows, wide, depth),
        (_dividing(M, 128), wide, depth),
        (_rows(M, 256), wide, depth),
        (min(M, 128), min(N, 128), depth),
    ]


def _rows(M: int, most: int) -> int:
    """Equal parts of the rows, of at most ``most``."""
    return ceil(M / ceil(M / most))


def _shared(N: int, most: int, threads: int) -> int:
    """At most ``most`` columns of which every thread has some; a number that divides N where one is near, as blocks
    that cross no edge read and write tensors in place."""
    width = max(min(N, 32), min(most, ceil(N / threads)))
    near = [columns for columns in range(width, width // 2, -1) if N % columns == 0]
    whole = [columns for columns in near if columns % 32 == 0]
    return (whole or near or [width])[0]


def _dividing(M: int, most: int) -> int:
    """The most rows up to ``most`` that divide M, or ``most`` where few do."""
    return next((rows for rows in range(min(M, most), most * 3 // 4, -1) if M % rows == 0), min(M, most))


def _seconds(
    processor: Processor, sizes: tuple[int, int, int], block: tuple[int, int, int], dtype: str, by_tiles: bool
) -> tuple[float, float]:
    """Of the products and of the copies, in all rounds of blocks."""
    M, N, K = sizes
    rows, columns, _ = block
    size = DType(dtype).bytes
    rate = CLOCK * (TILE_OPERATIONS[size] * RATE if by_tiles else processor.operations)
    rounds = ceil(ceil(M / rows) * ceil(N / columns) / processor.threads)
    return rounds * 2 * rows * columns * K / rate, rounds * (rows + columns) * K * size / CACHE_BANDWIDTH


def attention_blocks(
    processor: Processor, heads: int, queries: int, keys: int, is_causal: bool
) -> list[AttentionBlocks]:
    """Blocks for attention, the best first. ``heads``: of all sequences together."""
    rows = min(queries, 64)
    proposals: list[AttentionBlocks] = []
    sizes = [(rows, 64), (rows, 128)] if is_causal else [(rows, 128), (rows, 64)]
    for block_M, block_N in dict.fromkeys([*sizes, (min(queries, 128), 128)]):
        blocks = heads * ceil(queries / block_M)
        waste = block_N / 2 if is_causal else 0  # keys behind the diagonal
        seconds = ceil(blocks / processor.threads) * block_M * (keys + waste) * 256 / (CLOCK * processor.operations)
        reason = f"{blocks} blocks of {block_M} queries for {processor.threads} threads"
        seconds = max(seconds, proposals[-1].seconds if proposals else 0.0)
        proposals.append(AttentionBlocks(block_M, min(block_N, max(16, keys)), seconds, reason))
    return proposals
