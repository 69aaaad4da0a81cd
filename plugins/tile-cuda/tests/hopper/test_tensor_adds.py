"""T.atomic_add of accumulators: tensor maps add them where nothing else in the kernel uses the tensor."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilecore.language as T

from .kernels import IN_PARTS, operands, product
from .kit import CONFIGS, built, chosen, declined, equal

HALF = "float16"
ADD = "tensor add"


def in_parts(M, N, K, tile=(64, 64), threads=128, parts=2, other="", to="float32", order=None, stored=False):
    """Each block adds the products of its part of K to Sum. other: what else is done with Sum."""
    m, n = tile
    steps = T.ceildiv(T.ceildiv(K, 64), parts)

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), HALF), B: T.Tensor((K, N), HALF), Sum: T.Tensor((M, N), to), C: T.Tensor((M, N), HALF)
    ):
        with T.Kernel(T.ceildiv(N, n), T.ceildiv(M, m), parts, threads=threads) as (bx, by, part):
            a, b = T.alloc_shared((m, 64), HALF), T.alloc_shared((64, n), HALF)
            c = T.alloc_fragment((m, n), "float32")
            T.clear(c)
            for k in T.Pipelined(steps, num_stages=2):
                T.copy(A[by * m, (part * steps + k) * 64], a)
                T.copy(B[(part * steps + k) * 64, bx * n], b)
                T.gemm(a, b, c)
            T.atomic_add(Sum[by * m, bx * n], c, memory_order=order)
            if stored:
                T.copy(c, C[by * m, bx * n])
            if other == "read":
                first = T.alloc_fragment((1,), "float32")
                first[0] = Sum[0, 0]
                T.copy(first, C[0, 0:1])
            if other == "maximum":
                T.atomic_max(Sum[by * m, bx * n], c)
            if other == "element":
                T.atomic_add(Sum[0, 0], T.float32(0))
            if other == "store":
                T.copy(c, Sum[by * m, bx * n])

    return kernel


def run(kernel, M, N, K, to="float32"):
    a, b = operands((M, N, K), (HALF, HALF, "float32"), most=1)
    total, c = np.full((M, N), 3, to), np.zeros((M, N), HALF)
    kernel(a, b, total, c)
    return total, 3 + product(a, b)


@pytest.mark.parametrize(("sizes", "tile", "threads", "parts"), IN_PARTS)
def test_the_sums_are_right(sizes, tile, threads, parts):
    kernel = built(in_parts(*sizes, tile, threads, parts))
    assert chosen(kernel, "atomic") == [ADD]
    assert "tc_tensor_add(" in kernel.get_kernel_source()
    assert "tc_atomic_add" not in kernel.get_kernel_source()
    equal(*run(kernel, *sizes))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"other": "read"}, "uses Sum for more than additions of tiles"),
        ({"other": "maximum"}, "uses Sum for more than additions of tiles"),
        ({"other": "element"}, "uses Sum for more than additions of tiles"),
        ({"other": "store"}, "uses Sum for more than additions of tiles"),
        ({"order": "acq_rel"}, "it is not a relaxed addition"),
        ({"to": HALF}, "the elements of Sum are not float32"),
    ],
)
def test_threads_add_elsewhere(change, reason):
    kernel = built(in_parts(64, 64, 128, parts=1, **change))
    assert any(reason in why for why in declined(kernel, "atomic", ADD))
    assert "tc_tensor_add(" not in kernel.get_kernel_source()
    if change.get("other") not in ("read", "store"):  # these race, or write what was added
        equal(*run(kernel, 64, 64, 128, change.get("to", "float32")))


@pytest.mark.parametrize("option", [CONFIGS.TL_DISABLE_TENSOR_STORE, CONFIGS.TL_DISABLE_TMA_LOWER])
def test_the_switches_of_stores_are_those_of_additions(option):
    kernel = built(in_parts(64, 64, 128), option)
    assert "tc_tensor_add(" not in kernel.get_kernel_source()
    equal(*run(kernel, 64, 64, 128))


def test_an_addition_and_a_store_take_memory_of_their_own():
    kernel = built(in_parts(64, 64, 128, parts=1, stored=True))
    assert chosen(kernel, "atomic") == [ADD]
    assert "tensor store" in chosen(kernel, "copy")
    equal(*run(kernel, 64, 64, 128))


def test_stores_of_the_same_shape_share_memory():
    @T.prim_func
    def two(A: T.Tensor((64, 256), HALF), B: T.Tensor((256, 64), HALF), C: T.Tensor((2, 64, 64), HALF)):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            c, d = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            T.clear(d)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
                T.gemm(b, a, d)
            T.copy(c, C[0, :, :])
            T.copy(d, C[1, :, :])

    kernel = built(two)
    assert chosen(kernel, "copy").count("tensor store") == 2
    assert set(re.findall(r"tc_tensor_store\(&\w+, (\w+)", kernel.get_kernel_source())) == {"stored"}
    a, b = operands((64, 64, 256), (HALF, HALF, "float32"), most=1)
    c = np.zeros((2, 64, 64), HALF)
    kernel(a, b, c)
    tiles = [(a[:, k : k + 64].astype(float), b[k : k + 64].astype(float)) for k in range(0, 256, 64)]
    equal(c, np.stack([sum(x @ y for x, y in tiles), sum(y @ x for x, y in tiles)]))
