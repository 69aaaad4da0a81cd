"""T.atomic_add of accumulators to memory of T.alloc_global: threads add pairs, in blocks of 8 x 8 elements."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilecore.language as T
from tilecore.interpreter import interpret

from .kernels import IN_PARTS, operands, product
from .kit import built, chosen, declined, equal

HALF = "float16"
ADD = "adds in blocks of 8 x 8"


def in_parts(
    M, N, K, tile=(64, 64), threads=128, parts=2, use="", first=0, to="float32", shape=None, order=None, last=(24, 40)
):  # fmt: skip
    """Each block adds the products of its part of K to Sum; a second kernel gives C = Sum * 2. Sum is [2, M', 3, N'],
    of which the tile [1, :, 1, :] is used. use: what else is done with Sum. first: row and column of the first tile in
    Sum. shape: M', N', whole tiles unless given. last: tile of the last kernel."""
    y_last, x_last = last
    m, n = tile
    steps = T.ceildiv(T.ceildiv(K, 64), parts)
    rows, columns = shape or (first + T.ceildiv(M, m) * m, first + T.ceildiv(N, n) * n)

    @T.prim_func
    def kernel(A: T.Tensor((M, K), HALF), B: T.Tensor((K, N), HALF), C: T.Tensor((M, N), to)):
        Sum = T.alloc_global((2, rows, 3, columns), to)
        with T.Kernel(2, threads=64) as b:
            if use == "fill":
                T.clear(Sum[b, :, 1, :])
            else:
                for i, j in T.Parallel(rows, columns):
                    Sum[b, i, 1, j] = 0

        with T.Kernel(T.ceildiv(N, n), T.ceildiv(M, m), parts, threads=threads) as (bx, by, part):
            a, b = T.alloc_shared((m, 64), HALF), T.alloc_shared((64, n), HALF)
            c = T.alloc_fragment((m, n), "float32")
            T.clear(c)
            for k in T.Pipelined(steps, num_stages=2):
                T.copy(A[by * m, (part * steps + k) * 64], a)
                T.copy(B[(part * steps + k) * 64, bx * n], b)
                T.gemm(a, b, c)
            y, x = first + by * m, first + bx * n
            T.atomic_add(Sum[1, y : y + m, 1, x : x + n], c, memory_order=order)
            if use == "pairs":
                zeros = T.alloc_local((2,), "float32")
                T.clear(zeros)
                T.atomic_addx2(Sum[1, y, 1, x], zeros)
            if use == "maximum":
                T.atomic_max(Sum[1, y : y + m, 1, x : x + n], c)
            if use == "accumulator":
                T.copy(c, Sum[0, y : y + m, 0, x : x + n])
            if use == "address":
                T.call_extern("float32", "tc_atomic_add", T.address_of(Sum[0, 0, 0, 0]), T.float32(1))

        with T.Kernel(T.ceildiv(N, x_last), T.ceildiv(M, y_last), threads=96) as (bx, by):
            y0, x0 = by * y_last, bx * x_last
            if use == "tile":
                tile = T.alloc_shared(last, to)
                T.copy(Sum[1, first + y0 : first + y0 + y_last, 1, first + x0 : first + x0 + x_last], tile)
                for i, j in T.Parallel(y_last, x_last):
                    if y0 + i < M and x0 + j < N:
                        C[y0 + i, x0 + j] = tile[i, j] * 2
            elif use == "registers":
                part = T.alloc_fragment(last, to)
                T.copy(Sum[1, first + y0 : first + y0 + y_last, 1, first + x0 : first + x0 + x_last], part)
                for i, j in T.Parallel(y_last, x_last):
                    part[i, j] *= 2
                T.copy(part, C[y0, x0])
            else:
                for i, j in T.Parallel(y_last, x_last):
                    if y0 + i < M and x0 + j < N:
                        C[y0 + i, x0 + j] = Sum[1, first + y0 + i, 1, first + x0 + j] * 2

    return kernel


def run(kernel, M, N, K, to="float32"):
    a, b = operands((M, N, K), (HALF, HALF, "float32"), most=1)
    c = np.full((M, N), 3, to)
    kernel(a, b, c)
    return c, 2 * product(a, b)


@pytest.mark.parametrize("use", ["", "fill", "registers", "pairs"])
@pytest.mark.parametrize(("sizes", "tile", "threads", "parts"), IN_PARTS)
def test_the_sums_are_right(sizes, tile, threads, parts, use):
    kernel = built(in_parts(*sizes, tile, threads, parts, use))
    assert chosen(kernel, "atomic")[0] == ADD
    assert "tc_atomic_add_x2(" in kernel.get_kernel_source()
    assert "tc_tensor_add(" not in kernel.get_kernel_source()
    equal(*run(kernel, *sizes))


def test_other_kernels_move_whole_vectors():
    source = built(in_parts(128, 128, 256, parts=1, use="registers", last=(48, 64))).get_kernel_source()
    assert "tc_move<16>(Sum +" in source  # zeros
    assert re.search(r"tc_move<16>\(part\w* \+ s0 \* 4, Sum \+", source)


@pytest.mark.parametrize("first", [8, 40])
def test_tiles_begin_at_multiples_of_eight(first):
    kernel = built(in_parts(64, 64, 128, first=first))
    assert chosen(kernel, "atomic") == [ADD]
    equal(*run(kernel, 64, 64, 128))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"use": "maximum"}, "elsewhere: it is not a relaxed addition"),
        ({"use": "accumulator"}, "elsewhere: a tensor map may store c"),
        ({"use": "tile"}, "elsewhere: a copy between Sum and shared"),
        ({"use": "address"}, "may access more than one element of Sum"),
        ({"order": "acq_rel"}, "it is not a relaxed addition"),
        ({"to": HALF}, "the elements of Sum are not float32"),
        ({"first": 4, "shape": (80, 80)}, "the tile does not begin at a multiple of 8 along axis 1"),
        ({"shape": (68, 64)}, "axis 1 of Sum is not a multiple of 8 known when compiling"),
        ({"shape": (64, 68)}, "axis 3 of Sum is not a multiple of 8 known when compiling"),
    ],
)
def test_the_layout_stays_elsewhere(change, reason):
    kernel = built(in_parts(64, 64, 128, parts=1, **change))
    assert any(reason in why for why in declined(kernel, "atomic", ADD)), declined(kernel, "atomic", ADD)
    if change.get("use") not in ("maximum", "address"):  # these change the sums
        equal(*run(kernel, 64, 64, 128, change.get("to", "float32")))


def twice(tiles, in_one_kernel=False, shape=(3, 80, 80)):
    """A product is added to two tiles of Sum, [batch, begin of rows, begin of columns]; begin "off" is an argument."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 64), HALF), C: T.Tensor(shape, "float32"), off: T.int32):
        Sum = T.alloc_global(shape, "float32")
        with T.Kernel(1, threads=128):
            T.clear(Sum)
        for group in [tiles] if in_one_kernel else [[tile] for tile in tiles]:
            with T.Kernel(1, threads=128):
                a, c = T.alloc_shared((64, 64), HALF), T.alloc_fragment((64, 64), "float32")
                T.copy(A, a)
                T.gemm(a, a, c, clear_accum=True)
                for batch, y, x in group:
                    first, second = (off if begin == "off" else begin for begin in (y, x))
                    if batch is None:
                        T.atomic_add(Sum[first : first + 64, 1, second : second + 64], c)
                    else:
                        T.atomic_add(Sum[batch, first : first + 64, second : second + 64], c)
        with T.Kernel(1, threads=128):
            for b, i, j in T.Parallel(*shape):
                C[b, i, j] = T.abs(Sum[b, i, j])

    return kernel


@pytest.mark.parametrize("in_one_kernel", [False, True])
@pytest.mark.parametrize(
    ("tiles", "blocks"),
    [
        ([(1, 8, 8), (1, 16, 0)], 2),
        ([(1, 8, 8), (1, 4, 8)], 0),  # the other one takes Sum as it is declared
        ([(1, 4, 8), (1, 8, 8)], 0),
        ([(1, 8, 8), (1, 8, 4)], 0),
        ([(1, 8, 8), (1, "off", 8)], 0),
        ([(1, 8, 8), (None, 8, 8)], 0),
    ],
)
def test_all_additions_are_in_blocks_or_none(tiles, blocks, in_one_kernel):
    shape = (80, 80, 80) if tiles[1][0] is None else (3, 80, 80)
    func = twice(tiles, in_one_kernel, shape)
    kernel = built(func)
    assert chosen(kernel, "atomic").count(ADD) == blocks
    a = operands((64, 64, 64), (HALF, HALF, "float32"), most=1)[0]
    got, expected = np.zeros(shape, "float32"), np.zeros(shape, "float32")
    kernel(a, got, 5)
    interpret(func.ir, a, expected, 5)
    equal(got, expected)
