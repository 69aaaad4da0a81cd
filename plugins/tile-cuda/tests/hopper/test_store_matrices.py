"""Fragments of 16-bit elements go to shared memory by stmatrix where threads hold the pairs of 8 x 8 matrices."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tile_cuda.instructions import STMATRIX
from tile_cuda.lowering.hopper.store_matrices import with_matrices

import tilecore.language as T
from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import const, load, loop, op_name, seq, store
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    Call,
    ForKind,
    IfThenElse,
    IterVar,
    Range,
    Var,
    structural_equal,
    tirx,
)
from tilecore.ir.thread_ranges import ThreadRange, for_threads
from tilecore.ir.visit import collect

from .kernels import operands, product
from .kit import built, equal

HALF = "float16"


def rounded(M, N, K, tile, threads, dtype=HALF, padding=0, columns=None, when=None, transposed=False):
    """C = round(A @ B): a tile is rounded to registers, stored in shared memory, and read from there by elements.

    padding: elements at the end of the shared tile's rows. columns: of the tile, those that are stored. when: the
    condition under which threads store, by the index of the thread and the first element of A."""
    m, n = tile

    @T.prim_func
    def kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, n), T.ceildiv(M, m), threads=threads) as (bx, by):
            a, b = T.alloc_shared((m, 64), dtype), T.alloc_shared((64, n), dtype)
            c, narrow = T.alloc_fragment((m, n), "float32"), T.alloc_fragment((m, n), dtype)
            stored = T.alloc_shared((n, m) if transposed else (m, n), dtype)
            if padding:
                T.annotate_padding({stored: padding})
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, 64), num_stages=2):
                T.copy(A[by * m, k * 64], a)
                T.copy(B[k * 64, bx * n], b)
                T.gemm(a, b, c)
            T.copy(c, narrow)
            for i, j in T.Parallel(m, n):
                stored[i, j] = 0
            if when is not None:
                if when(A):
                    T.copy(narrow, stored)
            elif columns is not None:
                for i, j in T.Parallel(m, n):
                    if j < columns:
                        stored[i, j] = narrow[i, j]
            elif transposed:
                for i, j in T.Parallel(m, n):
                    stored[j, i] = narrow[i, j]
            else:
                T.copy(narrow, stored)
            for i, j in T.Parallel(m, n):
                if by * m + i < M and bx * n + j < N:
                    C[by * m + i, bx * n + j] = stored[j, i] if transposed else stored[i, j]

    return kernel


def run(kernel, M, N, K, dtype=HALF):
    a, b = operands((M, N, K), (dtype, dtype, "float32"), most=1)
    c = np.zeros((M, N), a.dtype)
    kernel(a, b, c)
    return c, product(a, b)


def matrices(kernel):
    return len(re.findall(r"tc_stmatrix_x4\(stored", kernel.get_kernel_source()))


@pytest.mark.parametrize("target", ["cuda -arch=sm_90a", "cuda -arch=sm_90"])  # wgmma, mma.sync
@pytest.mark.parametrize(
    ("tile", "threads", "dtype", "padding"),
    [
        ((64, 64), 128, HALF, 0),
        ((128, 32), 128, "bfloat16", 0),
        ((128, 96), 256, HALF, 0),
        ((64, 160), 128, HALF, 8),
        ((64, 32), 128, HALF, 24),
        ((64, 16), 128, HALF, 0),  # one instruction, without a loop
    ],
)
def test_the_elements_land_where_they_belong(tile, threads, dtype, padding, target):
    kernel = built(rounded(100, 200, 96, tile, threads, dtype, padding), target=target)
    assert matrices(kernel) == 1
    equal(*run(kernel, 100, 200, 96, dtype))


@pytest.mark.parametrize(("m", "threads"), [(64, 128), (128, 256)])
def test_a_tile_that_another_product_reads(m, threads):
    """Its 16-byte pieces are swizzled."""

    @T.prim_func
    def kernel(A: T.Tensor((m, 64), HALF), B: T.Tensor((64, 64), HALF), C: T.Tensor((m, 64), "float32")):
        with T.Kernel(1, threads=threads):
            a, b, stored = T.alloc_shared((m, 64), HALF), T.alloc_shared((64, 64), HALF), T.alloc_shared((m, 64), HALF)
            c, narrow = T.alloc_fragment((m, 64), "float32"), T.alloc_fragment((m, 64), HALF)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, narrow)
            T.copy(narrow, stored)
            T.gemm(stored, b, c, clear_accum=True)
            T.copy(c, C)

    compiled = built(kernel)
    assert matrices(compiled) == 1
    assert "^" in next(line for line in compiled.get_kernel_source().splitlines() if "stmatrix_x4(stored" in line)
    a, b = operands((m, 64, 64), (HALF, HALF, "float32"), most=1)
    c = np.zeros((m, 64), "float32")
    compiled(a, b, c)
    equal(c, product(product(a, b).astype(HALF), b))


@pytest.mark.parametrize(
    "change",
    [
        {"padding": 4},  # rows do not begin at multiples of 16 bytes
        {"columns": 50},  # some lanes store
        {"transposed": True},
    ],
)
def test_single_threads_store_elsewhere(change):
    kernel = built(rounded(64, 64, 128, (64, 64), 128, **change))
    assert matrices(kernel) == 0
    if "columns" not in change:
        equal(*run(kernel, 64, 64, 128))


@pytest.mark.parametrize("when", [lambda A: A[0, 0] != 9, lambda A: A[0, 0] == 9])
def test_a_condition_that_is_the_same_in_all_threads(when):
    kernel = built(rounded(64, 64, 128, (64, 64), 128, when=when))
    assert matrices(kernel) == 1
    c, expected = run(kernel, 64, 64, 128)
    equal(c, expected if c.any() else 0 * expected)


def test_older_architectures_have_no_stmatrix():
    kernel = built(rounded(64, 64, 128, (64, 64), 128), target="cuda -arch=sm_80")
    assert matrices(kernel) == 0
    equal(*run(kernel, 64, 64, 128))


def stores_of_pairs(thread, address, around=lambda stores: stores):
    """Eight pairs of registers, stored at ``address`` (of the pair's number) by the 128 threads of a block."""
    held = tirx.decl_buffer([16], HALF, "held", scope="local", layout=None)
    stored = tirx.decl_buffer([8192], HALF, "stored", scope="shared", layout=None)

    def pair(number):
        def element(lane):
            return store(stored, load(held, [number * 2 + lane]), [address(number) + lane])

        return loop(const(2, "int32"), element, name="e", kind=ForKind.VECTORIZED)

    nest = around(loop(const(8, "int32"), pair, name="n", kind=ForKind.UNROLLED))
    domain = Range.from_min_extent(const(0, "int32"), const(128, "int32"))
    axis = IterVar(domain, thread, IterVar.ThreadIndex, "threadIdx.x")
    body = seq([AllocBuffer(held), AllocBuffer(stored), nest])
    return AttrStmt(axis, StatementAttr.AXIS, const(128, "int32"), body)


def place_of(thread, number, rows=72):
    """Of a pair of a tile with 16 rows for each warp."""
    row = thread // 32 * 16 + thread % 32 // 4 + number % 2 * 8
    return row * rows + number // 2 * 8 + thread % 4 * 2


def only_if(condition):
    return lambda stores: IfThenElse(condition, stores, None)


THREAD, SIZE, BOUND = Var("tx", "int32"), Var("size", "int32"), Var("bound", "int32")


@pytest.mark.parametrize(
    ("address", "around", "count"),
    [
        (lambda n: place_of(THREAD, n), lambda stores: stores, 1),
        (lambda n: place_of(THREAD, n, 64) + SIZE * 8, lambda stores: stores, 1),
        (lambda n: place_of(THREAD, n), only_if(SIZE < 3), 1),
        (lambda n: place_of(THREAD, n), only_if(THREAD < 100), 0),
        (lambda n: place_of(THREAD, n), lambda stores: for_threads(ThreadRange(32, 64), stores), 1),
        (lambda n: place_of(THREAD, n), lambda stores: for_threads(ThreadRange(16, 64), stores), 0),
        (lambda n: place_of(THREAD, n) + BOUND, lambda stores: seq([Bind(BOUND, SIZE % 4 * 8), stores]), 0),
        (lambda n: place_of(THREAD, n) + BOUND * 8, lambda stores: seq([Bind(BOUND, SIZE), stores]), 1),
        (lambda n: place_of(THREAD, n) + BOUND * 8, lambda stores: seq([Bind(BOUND, THREAD % 2), stores]), 0),
        (lambda n: place_of(THREAD, n, 68), lambda stores: stores, 0),  # rows of 136 bytes
        (lambda n: place_of(THREAD, n) + SIZE * 4, lambda stores: stores, 0),
        (lambda n: place_of(THREAD, n) + THREAD % 2 * 8, lambda stores: stores, 0),
        (lambda n: place_of(THREAD // 2, n), lambda stores: stores, 0),
        (lambda n: place_of(THREAD, n % 4), lambda stores: stores, 1),  # another instruction, later
        (lambda n: place_of(THREAD, n % 2), lambda stores: stores, 0),  # the same one
        (lambda n: place_of(THREAD, n) + n // 2 * SIZE * 8, lambda stores: stores, 0),  # with -1 for SIZE, too
    ],
)
def test_which_stores_are_those_of_matrices(address, around, count):
    code = stores_of_pairs(THREAD, address, around)
    changed = with_matrices(code)
    assert len([call for call in collect(changed, Call) if op_name(call) == STMATRIX]) == count
    assert count or structural_equal(changed, code)
