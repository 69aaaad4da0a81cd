"""prefetch_later_blocks: one thread of a block prefetches to L2 what a later block loads; results stay."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tile_cuda.lowering.hopper.prefetch_later_blocks import AHEAD

import tilecore
import tilecore.language as T
from tilecore.transform import PassConfigKey

from .one_pass import around_pass, changes, notes

PASS = "prefetch_later_blocks"
OPTION = PassConfigKey.TL_BLOCK_PREFETCH.value
n = T.dynamic("n")


def row_sums(rows, columns, block_M=1, dtype="float16", threads=64):
    @T.prim_func
    def kernel(X: T.Tensor((rows, columns), dtype), Y: T.Tensor((rows,), "float32")):
        with T.Kernel(T.ceildiv(rows, block_M), threads=threads) as bx:
            row = T.alloc_fragment((block_M, columns), "float32")
            total = T.alloc_fragment((block_M,), "float32")
            T.copy(X[bx * block_M, 0], row)
            T.reduce_sum(row, total, dim=1)
            for i in T.Parallel(block_M):
                Y[bx * block_M + i] = total[i]

    return kernel


def added(kernel, ahead):
    before, after, _ = around_pass(kernel, PASS, config={OPTION: ahead})
    return changes(before, after)


def test_the_first_thread_prefetches_the_tile_of_a_later_block():
    text = added(row_sums(100, 1024), 6 * 2048)
    assert "if tx == 0" in text
    assert "cuda.prefetch_bulk_l2(X[bx + 6, 0], 2048)" in text
    assert "- " not in text


def test_the_tile_must_be_whole_in_the_tensor():
    """A prefetch of what lies behind a tensor could be one of memory that is not mapped."""
    compiled = tilecore.compile(
        row_sums(100, 1024, 8), target="cuda -arch=sm_90a", execution_backend="sim", pass_configs={OPTION: 2 * 16384}
    ).get_kernel_source()
    ((condition, offset, size),) = re.findall(r"if \((.*)\) \{\s+tc_prefetch_bulk_l2\(X \+ (.*), (\d+)\);", compiled)
    prefetched = []
    for bx in range(13):
        if eval(condition, {"bx": bx, "tx": 0}):
            start = eval(offset, {"bx": bx}) * 2
            assert start + int(size) <= 100 * 1024 * 2
            prefetched.append(start)
    assert prefetched == [block * 16384 for block in range(2, 12)], "block 12 has 4 rows only"


@pytest.mark.parametrize(
    ("kernel", "ahead", "distance"),
    [
        (row_sums(70000, 1000), None, AHEAD // 2000),
        (row_sums(70000, 1024), 1 << 20, 512),
        (row_sums(40, 65536), 100, 1),
        (row_sums(n, 1024, dtype="float32"), 1 << 20, 256),
    ],
)
def test_the_distance_is_in_bytes(kernel, ahead, distance):
    _, _, env = around_pass(kernel, PASS, config={} if ahead is None else {OPTION: ahead})
    (note,) = [row["text"] for row in notes(env) if "prefetches" in row["text"]]
    assert note == f"each block prefetches to L2 what the block {distance} further on loads of X"


@pytest.mark.parametrize(
    ("kernel", "ahead", "target"),
    [
        (row_sums(70000, 1000), 0, "cuda -arch=sm_90a"),
        (row_sums(70000, 1000), None, "cuda -arch=sm_80"),
        (row_sums(70000, 500), None, "cuda -arch=sm_90a"),  # fewer than 1024 bytes a block
        (row_sums(1000, 1024), None, "cuda -arch=sm_90a"),  # all blocks are nearer
    ],
    ids=["by the option", "by the architecture", "small tiles", "small grids"],
)
def test_no_prefetch(kernel, ahead, target):
    configs = {} if ahead is None else {PassConfigKey.TL_BLOCK_PREFETCH: ahead}
    compiled = tilecore.compile(kernel, target=target, execution_backend="sim", pass_configs=configs)
    assert "tc_prefetch" not in compiled.get_kernel_source()


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 50])
@pytest.mark.parametrize("ahead", [1, 5000, 1 << 20])
def test_results_stay(rows, ahead):
    kernel = tilecore.compile(
        row_sums(n, 1001, 4), target="cuda -arch=sm_90a", execution_backend="sim", pass_configs={OPTION: ahead}
    )
    x = np.random.default_rng(rows).integers(-3, 4, (rows, 1001)).astype("float16")
    y = np.full(rows, np.nan, "float32")
    kernel(x, y)
    np.testing.assert_array_equal(y, x.astype("float64").sum(axis=1))


def test_pointers_stay_const_and_restrict():
    """The prefetch is no access that another one could conflict with: it adds no barrier, in place neither."""

    @T.prim_func
    def kernel(X: T.Tensor((9000, 1024), "float16"), Y: T.Tensor((9000, 1024), "float16")):
        with T.Kernel(9000, threads=64) as bx:
            row = T.alloc_fragment((1, 1024), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[bx, 0], row)
            T.reduce_sum(row, total, dim=1)
            for i, j in T.Parallel(1, 1024):
                row[i, j] /= total[i]
            T.copy(row, Y[bx, 0])

    texts = [
        tilecore.compile(
            kernel, target="cuda -arch=sm_90a", execution_backend="sim", pass_configs={OPTION: ahead}
        ).get_kernel_source()
        for ahead in (0, 1 << 20)
    ]
    assert "tc_prefetch_bulk_l2(X" in texts[1]
    assert all("const tc_half* __restrict__ X" in text for text in texts)
    assert texts[0].count("tc_barrier") == texts[1].count("tc_barrier")


def test_each_kernel_of_a_function_has_its_own():
    @T.prim_func
    def kernels(X: T.Tensor((100, 1024), "float16"), Y: T.Tensor((100,), "float32"), Z: T.Tensor((100,), "float32")):
        with T.Kernel(1, threads=64):
            T.clear(Z)
        with T.Kernel(100, threads=64) as bx:
            row = T.alloc_fragment((1, 1024), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[bx, 0], row)
            T.reduce_sum(row, total, dim=1)
            Y[bx] = total[0]

    compiled = tilecore.compile(
        kernels, target="cuda -arch=sm_90a", execution_backend="sim", pass_configs={OPTION: 4096}
    ).get_kernel_source()
    first, second = compiled.split('extern "C"')[1:]
    assert "tc_prefetch" not in first
    assert re.search(r"tc_prefetch_bulk_l2\(X \+ bx(_1)? \* 1024 \+ 2048, 2048\);", second)


def shared_row_sums(rows, columns, blocks=2):
    """The sums of rows whose parts the blocks of a cluster add to the same element."""
    pieces = T.ceildiv(columns, 8 * blocks)

    @T.prim_func
    def kernel(X: T.Tensor((rows, columns), "float16"), Y: T.Tensor((rows,), "float32")):
        with T.Kernel(rows, blocks, threads=64, cluster_dims=(1, blocks, 1)) as (bx, part):
            row = T.alloc_fragment((pieces, 8), "float32")
            total_of = T.alloc_fragment((pieces,), "float32")
            total = T.alloc_fragment((1,), "float32")
            for i, j in T.Parallel(pieces, 8):
                row[i, j] = X[bx, (part * pieces + i) * 8 + j]
            T.reduce_sum(row, total_of, dim=1)
            T.reduce_sum(total_of, total, dim=0)
            T.atomic_add(Y[bx], total[0])

    return kernel


def test_each_block_of_a_cluster_prefetches_its_part():
    text = added(shared_row_sums(100, 2048), 6 * 4096)
    assert "cuda.prefetch_bulk_l2(X[bx + 6, part * 1024], 2048)" in text
    assert "part * 1024 + 1024" not in text, "the parts are whole"


@pytest.mark.parametrize(("rows", "columns"), [(9, 2050), (3, 4096), (4, 1030)])
def test_parts_that_are_whole_in_the_tensor_are_prefetched(rows, columns):
    kernel = tilecore.compile(
        shared_row_sums(rows, columns), target="cuda -arch=sm_90a", execution_backend="sim", pass_configs={OPTION: 1}
    )
    text = kernel.get_kernel_source()
    ((offset, size),) = re.findall(r"tc_prefetch_bulk_l2\(X \+ (.*), (\d+)\);", text)
    prefetched = []
    for bx, part in np.ndindex(rows, 2):
        conditions = re.findall(r"if \((.*)\) \{\s+(?=if|tc_prefetch)", text)
        if all(eval(c.replace("&&", "and"), {"bx": bx, "part": part, "tx": 0}) for c in conditions):
            start = eval(offset, {"bx": bx, "part": part})
            assert start % columns + int(size) // 2 <= columns
            prefetched.append(start // columns)
    assert prefetched == [row for row in range(1, rows) for _ in range(2 if columns % 16 == 0 else 1)]
    x, y = np.ones((rows, columns), "float16"), np.zeros(rows, "float32")
    kernel(x, y)
    np.testing.assert_array_equal(y, columns)
