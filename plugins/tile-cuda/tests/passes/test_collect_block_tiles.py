"""collect_block_tiles: what each block loads in kernels whose blocks load tiles, reduce them and store results."""

from __future__ import annotations

import pytest
from tile_cuda.lowering.state import BlockTile, BlockTiles

import tilecore.language as T
from tilecore.testing.kernel_text import text

from .kernels import product, scaled
from .one_pass import around_pass

PASS = "collect_block_tiles"
n = T.dynamic("n")


def tiles(kernel):
    before, after, env = around_pass(kernel, PASS)
    assert text(before) == text(after)
    return env.state(BlockTiles).by_kernel


def rows(load, shape=(100, 64), blocks=25, tile=(4, 64), grid=None):
    """The sum of each row of what ``load(X, row, bx)`` loads."""

    @T.prim_func
    def kernel(X: T.Tensor(shape, "float16"), Y: T.Tensor((tile[0], blocks), "float32")):
        with T.Kernel(*(grid or (blocks,)), threads=64) as bx:
            index = bx[0] if grid else bx
            row = T.alloc_fragment(tile, "float32")
            total = T.alloc_fragment((tile[0],), "float32")
            load(X, row, index)
            T.reduce_sum(row, total, dim=1)
            for i in T.Parallel(tile[0]):
                Y[i, index] = total[i]

    return kernel


@T.macro
def by_copy(X, row, bx):
    T.copy(X[bx * 4, 0], row)


@T.macro
def in_parallel(X, row, bx):
    for i, j in T.Parallel(4, 64):
        row[i, j] = X[bx * 4 + i, j]


@T.macro
def behind_a_header(X, row, bx):
    T.copy(X[bx * 4 + 8, 0], row)


@T.macro
def strided(X, row, bx):
    T.copy(X[bx * 6, 0], row)


@T.macro
def overlapping(X, row, bx):
    T.copy(X[bx * 3, 0], row)


@T.macro
def in_another_order(X, row, bx):
    T.copy(X[96 - bx * 4, 0], row)


@T.macro
def transposed(X, row, bx):
    for i, j in T.Parallel(4, 64):
        row[i, j] = X[j, bx * 4 + i]


@T.macro
def modulo(X, row, bx):
    T.copy(X[bx % 5 * 4, 0], row)


@T.macro
def the_same(X, row, bx):
    T.copy(X[0, 0], row)


@T.macro
def half_rows(X, row, bx):
    T.copy(X[bx * 4, 64], row)


@T.macro
def doubled(X, row, bx):
    for i, j in T.Parallel(4, 64):
        row[i, j] = X[bx * 4 + i, j] * 2 + X[bx * 4 + i, 63 - j]


@T.macro
def in_pieces(X, row, bx):
    for i, j, k in T.Parallel(4, 8, 8):
        row[i, j * 8 + k] = X[bx * 4 + i, j * 8 + k]


@T.macro
def every_second(X, row, bx):
    for i, j, k in T.Parallel(4, 8, 4):
        row[i, j * 8 + k] = X[bx * 4 + i, j * 8 + k]


WHOLE = BlockTile("X", 0, 4, (0, 0), (4, 64))


@pytest.mark.parametrize(
    ("load", "tile"),
    [
        (by_copy, WHOLE),
        (in_parallel, WHOLE),
        (doubled, WHOLE),
        (in_pieces, WHOLE),
        (behind_a_header, BlockTile("X", 0, 4, (8, 0), (4, 64))),
        (strided, BlockTile("X", 0, 6, (0, 0), (4, 64))),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_parts_that_follow_one_another(load, tile):
    assert tiles(rows(load)) == [[tile]]


@pytest.mark.parametrize("load", [overlapping, in_another_order, transposed, modulo, the_same, every_second])
def test_parts_that_do_not(load):
    assert tiles(rows(load)) == [[]]


def test_parts_of_rows_are_not_contiguous():
    assert tiles(rows(half_rows, shape=(100, 128))) == [[]]


def test_elements_of_four_bits():
    @T.prim_func
    def kernel(X: T.Tensor((100, 64), "int4"), Y: T.Tensor((100,), "int32")):
        with T.Kernel(100, threads=32) as bx:
            row = T.alloc_fragment((64,), "int32")
            total = T.alloc_fragment((1,), "int32")
            for j in T.Parallel(64):
                row[j] = T.cast(X[bx, j], "int32")
            T.reduce_sum(row, total, dim=0)
            Y[bx] = total[0]

    assert tiles(kernel) == [[]]


def test_one_row_may_begin_anywhere_in_it():
    @T.macro
    def part(X, row, bx):
        T.copy(X[bx, 64], row)

    assert tiles(rows(part, shape=(100, 256), tile=(1, 64))) == [[BlockTile("X", 0, 1, (0, 64), (1, 64))]]


def test_what_is_behind_the_end_of_a_row_is_left_out():
    @T.macro
    def rounded_up(X, row, bx):
        for i, j in T.Parallel(13, 8):
            row[0, i * 8 + j] = X[bx, i * 8 + j]

    (found,) = tiles(rows(rounded_up, shape=(100, 99), tile=(1, 104)))
    assert found == [BlockTile("X", 0, 1, (0, 0), (1, 99))]


@pytest.mark.parametrize(("grid", "found"), [((25, 1), [WHOLE]), ((25, 2), [])])
def test_one_axis_of_the_grid(grid, found):
    assert tiles(rows(by_copy, grid=grid)) == [found]


def test_a_number_of_rows_that_calls_decide():
    @T.prim_func
    def kernel(X: T.Tensor((n, 64), "float16"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(n, threads=32) as bx:
            row = T.alloc_fragment((1, 64), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[bx, 0], row)
            T.reduce_sum(row, total, dim=1)
            Y[bx] = total[0]

    assert tiles(kernel) == [[BlockTile("X", 0, 1, (0, 0), (1, 64))]]


def test_tensors_that_are_loaded_after_the_reduction_or_by_all_blocks_alike():
    @T.prim_func
    def kernel(
        X: T.Tensor((64, 64), "float16"), W: T.Tensor((64,), "float16"), R: T.Tensor((64, 64), "float16"),
        Y: T.Tensor((64, 64), "float16"),
    ):  # fmt: skip
        with T.Kernel(64, threads=32) as bx:
            row = T.alloc_fragment((64,), "float32")
            total = T.alloc_reducer((1,), "float32", op="sum")
            T.fill(total, 0)
            for j in T.Parallel(64):
                row[j] = X[bx, j] * W[j]
            for j in T.Parallel(64):
                total[0] += row[j]
            T.finalize_reducer(total)
            for j in T.Parallel(64):
                Y[bx, j] = R[bx, j] + row[j] * total[0]

    assert [[tile.tensor for tile in found] for found in tiles(kernel)] == [["X"]]


def test_kernels_with_loops_with_branches_or_without_a_reduction():
    def kernel(form):
        @T.prim_func
        def summed(X: T.Tensor((64, 64), "float16"), Y: T.Tensor((64,), "float32")):
            with T.Kernel(64, threads=32) as bx:
                row = T.alloc_fragment((1, 64), "float32")
                total = T.alloc_fragment((1,), "float32")
                if form == "loop":
                    for _ in T.serial(bx):
                        T.copy(X[bx, 0], row)
                elif form == "branch":
                    if bx > 3:
                        T.copy(X[bx, 0], row)
                else:
                    T.copy(X[bx, 0], row)
                if form != "copy":
                    T.reduce_sum(row, total, dim=1)
                Y[bx] = total[0]

        return summed

    assert [tiles(kernel(form)) for form in ("loop", "branch", "copy")] == [[[]], [[]], [[]]]
    assert tiles(scaled) == [[]]
    assert tiles(product()) == [[]]


def shared_rows(load, columns=256, parts=2, cluster=(1, 2, 1), rows=50, first_loop=False):
    """Rows whose parts the blocks of a cluster read by ``load(X, row, bx, part)``, and reduce."""

    @T.prim_func
    def kernel(X: T.Tensor((rows, columns), "float16"), Y: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, parts, threads=64, cluster_dims=cluster) as (bx, part):
            row = T.alloc_fragment((16, 8), "float32")
            largest = T.alloc_fragment((16,), "float32")
            if first_loop:
                for _ in T.serial(bx):
                    T.clear(row)
            load(X, row, bx, part)
            T.reduce_max(row, largest, dim=1)
            for _ in T.unroll(2):
                T.cluster_sync()
            if part == 0:
                Y[bx] = 1.0

    return kernel


@T.macro
def of_the_row(X, row, bx, part):
    for i, j in T.Parallel(16, 8):
        row[i, j] = X[bx, (part * 16 + i) * 8 + j]


@T.macro
def the_same_in_all_blocks(X, row, bx, part):
    for i, j in T.Parallel(16, 8):
        row[i, j] = X[bx, i * 8 + j]


@T.macro
def overlapping_parts(X, row, bx, part):
    for i, j in T.Parallel(16, 8):
        row[i, j] = X[bx, (part * 15 + i) * 8 + j]


PART = BlockTile("X", 0, 1, (0, 0), (1, 128), "blockIdx.y", 1, 128)


@pytest.mark.parametrize(
    ("load", "options", "found"),
    [
        (of_the_row, {}, [PART]),
        (of_the_row, {"columns": 250}, [PART]),  # the last part has 122 columns
        (of_the_row, {"parts": 4, "cluster": (1, 2, 1)}, []),  # two clusters for a row
        (of_the_row, {"cluster": (2, 1, 1)}, []),
        (of_the_row, {"cluster": (1, 1, 1)}, []),
        (of_the_row, {"first_loop": True}, []),
        (the_same_in_all_blocks, {}, []),
        (overlapping_parts, {}, []),
    ],
)
def test_rows_over_clusters(load, options, found):
    assert tiles(shared_rows(load, **options)) == [found]
