"""Tiles that several copies load, some rows each: pages of a cache, tensors one below the other."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import tilecore
import tilecore.language as T

from .kit import CONFIGS, as_interpreted, body, built, count, has_roles, refusals, small

HALF = "float16"
PAGES = 12


def paged(page, loop, tile=64, columns=64, stages=2):
    """Sums of products with tiles of pages, whose indices are in Table."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 3 * tile), HALF), Cache: T.Tensor((PAGES, page, columns), HALF),
        Table: T.Tensor((3 * tile // page,), "int32"), C: T.Tensor((64, columns), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, tile), HALF), T.alloc_shared((tile, columns), HALF)
            c = T.alloc_fragment((64, columns), "float32")
            T.clear(c)
            for k in T.Pipelined(3, num_stages=stages):
                T.copy(A[0, k * tile], a)
                for p in loop(tile // page):
                    T.copy(Cache[Table[k * (tile // page) + p], :, :], b[p * page : (p + 1) * page, :])
                T.gemm(a, b, c)
            T.copy(c, C)

    return kernel


@pytest.mark.parametrize("loop", [lambda n: [*range(n)], T.unroll, T.serial], ids=["list", "unroll", "serial"])
@pytest.mark.parametrize("page", [8, 16, 32, 64])
@pytest.mark.parametrize("columns", [32, 128])
def test_pages(page, loop, columns):
    func = paged(page, loop, columns=columns)
    kernel = built(func)
    assert has_roles(kernel)
    boxes = 64 // page * max(1, columns // 64) if page < 64 else 1
    assert count(kernel, r"tc_tensor_load\(b ") == boxes
    table = np.random.default_rng(0).permutation(np.arange(192 // page) % PAGES).astype(np.int32)
    args = small(HALF, (64, 192), 1), small(HALF, (PAGES, page, columns), 2), table
    as_interpreted(func, kernel, *args, np.zeros((64, columns), np.float32))


@pytest.mark.parametrize("off", [(), (CONFIGS.TL_DISABLE_PERSISTENT_BLOCKS,), (CONFIGS.TL_DISABLE_WARP_SPECIALIZED,)])
def test_pages_of_one_row_pattern_and_many_stages(off):
    func = paged(8, T.unroll, stages=4)
    table = np.arange(24, dtype=np.int32)[::-1] % PAGES
    args = small(HALF, (64, 192), 1), small(HALF, (PAGES, 8, 64), 2), table.astype(np.int32)
    as_interpreted(func, built(func, *off), *args, np.zeros((64, 64), np.float32))


def test_pages_that_begin_within_a_pattern_are_loaded_by_threads():
    func = paged(4, lambda n: [*range(n)])
    kernel = built(func)
    assert "threads load it: a copy loads only a part of it" in str(kernel.explain())
    table = np.arange(48, dtype=np.int32) % PAGES
    args = small(HALF, (64, 192), 1), small(HALF, (PAGES, 4, 64), 2), table
    as_interpreted(func, kernel, *args, np.zeros((64, 64), np.float32))


def stacked(work):
    """b is made of rows of X and Y by ``work``."""

    @T.prim_func
    def kernel(
        A: T.Tensor((128, 128), HALF), X: T.Tensor((128, 64), HALF), Y: T.Tensor((128, 64), HALF),
        C: T.Tensor((128, 64), "float32"), D: T.Tensor((128, 64), "float32"),
    ):  # fmt: skip
        with T.Kernel(2, threads=128) as by:
            a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            c, d = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            T.clear(d)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[by * 64, k * 64], a)
                work(X, Y, a, b, c, d, k)
            T.copy(c, C[by * 64, 0])
            T.copy(d, D[by * 64, 0])

    return kernel


@T.macro
def two_tensors(X, Y, a, b, c, d, k):
    T.copy(X[k * 32, 0], b[0:32, :])
    T.copy(Y[k * 32, 0], b[32:64, :])
    T.gemm(a, b, c)


@T.macro
def twice_in_a_step(X, Y, a, b, c, d, k):
    T.copy(X[k * 32, 0], b[0:48, :])
    T.copy(Y[k * 32, 0], b[48:64, :])
    T.gemm(a, b, c)
    T.copy(Y[k * 16, 0], b[0:16, :])
    T.copy(X[k * 48, 0], b[16:64, :])
    T.gemm(a, b, d)


@T.macro
def other_order(X, Y, a, b, c, d, k):
    T.copy(Y[k * 32, 0], b[32:64, :])
    T.copy(X[k * 32, 0], b[0:32, :])
    T.gemm(a, b, c)


@T.macro
def only_a_part(X, Y, a, b, c, d, k):
    if k == 0:
        T.copy(Y[0, 0], b)
    T.copy(X[k * 32, 0], b[0:32, :])
    T.gemm(a, b, c)


@T.macro
def used_in_between(X, Y, a, b, c, d, k):
    T.copy(X[k * 32, 0], b[0:32, :])
    for i, j in T.Parallel(64, 64):
        d[i, j] += b[i % 32, j]
    T.copy(Y[k * 32, 0], b[32:64, :])
    T.gemm(a, b, c)


@T.macro
def rows_twice(X, Y, a, b, c, d, k):
    T.copy(X[k * 32, 0], b[0:32, :])
    T.copy(Y[k * 32, 0], b[0:32, :])
    T.copy(Y[k * 32, 0], b[32:64, :])
    T.gemm(a, b, c)


@pytest.mark.parametrize("work", [two_tensors, twice_in_a_step], ids=lambda work: work.__name__)
def test_tensors_one_below_the_other(work):
    check(work, filled=True)


@pytest.mark.parametrize("work", [other_order, only_a_part, used_in_between, rows_twice], ids=lambda w: w.__name__)
def test_other_writes_of_a_tile_are_done_by_threads(work):
    check(work, filled=False)


def check(work, filled):
    func = stacked(work)
    kernel = built(func)
    assert ("tc_tensor_load(b " in body(kernel)) == filled, refusals(kernel)
    args = small(HALF, (128, 128), 1), small(HALF, (128, 64), 2), small(HALF, (128, 64), 3)
    as_interpreted(func, kernel, *args, np.zeros((128, 64), np.float32), np.zeros((128, 64), np.float32))


@pytest.mark.parametrize(("page", "tile"), [(16, 64), (64, 128), (32, 32)])
def test_decoding_over_small_pages(page, tile):
    path = Path(__file__).parents[4] / "examples" / "paged_attention.py"
    spec = importlib.util.spec_from_file_location("example_paged_attention", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    func = module.paged_attention(
        2, 4, 2, 64, -(-300 // page), page, splits=2, block_N=tile, eviction_policy="evict_first"
    )
    kernel = tilecore.compile(func, target="cuda -arch=sm_90a", execution_backend="sim")
    assert re.search(r"tc_tensor_load_hinted\(.*&K_map", body(kernel))
