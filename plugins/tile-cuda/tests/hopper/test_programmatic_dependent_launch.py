"""Programmatic dependent launch: a kernel starts while the one before it ends, and reads nothing before that."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilecore.language as T

from .kit import CONFIGS, as_interpreted, built, chosen, small

N, HALF = 1000, "float16"


def steps(count: int):
    """B = A + count, with one kernel for each addition, through global memory that the function allocates."""

    @T.prim_func
    def add(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        Chain = T.alloc_global((count + 1, N), "float32")
        with T.Kernel(T.ceildiv(N, 128), threads=128) as b:
            for i in T.Parallel(128):
                Chain[0, b * 128 + i] = A[b * 128 + i]
        for step in list(range(count)):
            with T.Kernel(T.ceildiv(N, 128), threads=128) as b:
                for i in T.Parallel(128):
                    Chain[step + 1, b * 128 + i] = Chain[step, b * 128 + i] + 1
        with T.Kernel(T.ceildiv(N, 128), threads=128) as b:
            for i in T.Parallel(128):
                B[b * 128 + i] = Chain[count, b * 128 + i]

    return add


def kernels_in(source: str) -> list[str]:
    return re.split(r'(?=extern "C")', source)[1:]


@pytest.mark.parametrize("count", [1, 2])
def test_each_kernel_waits_for_the_one_before(count):
    kernel = built(steps(count))
    a, b = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    kernel(a, b)
    np.testing.assert_array_equal(b, a + count)
    sources = kernels_in(kernel.get_kernel_source())
    assert len(sources) == count + 2
    assert ["tc_grid_wait" in s for s in sources] == [False] + [True] * (count + 1)
    assert ["tc_grid_release" in s for s in sources] == [True] * (count + 1) + [False]
    entries = kernel.artifact.entries
    assert [bool(e.attributes.get("programmatic")) for e in entries] == [False] + [True] * (count + 1)
    for source in sources[1:]:  # nothing stands in front of the wait but the thread's place
        body = source[source.index("{") + 1 : source.index("tc_grid_wait")]
        assert not re.search(r"\bKept\b|\bA\b", body)


def test_buffers_of_earlier_kernels_are_not_const():
    """The compiler may move loads of const memory in front of the wait."""
    sources = kernels_in(built(steps(1)).get_kernel_source())
    for source in sources[1:]:
        head = source[: source.index("{")]
        assert re.search(r"[,(] ?float\* Chain", head), head
    assert "const float* __restrict__ A" in sources[0]


def test_a_single_kernel_does_not_wait():
    @T.prim_func
    def copy(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, 128), threads=128) as b:
            for i in T.Parallel(128):
                B[b * 128 + i] = A[b * 128 + i]

    kernel = built(copy)
    assert "tc_grid" not in kernel.get_kernel_source()
    assert not kernel.artifact.entries[0].attributes.get("programmatic")


def test_disabled_or_not_supported():
    for kernel in (built(steps(1), CONFIGS.TL_DISABLE_KERNEL_OVERLAP), built(steps(1), target="cuda -arch=sm_80")):
        assert "tc_grid" not in kernel.get_kernel_source()
        a, b = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
        kernel(a, b)
        np.testing.assert_array_equal(b, a + 1)


@pytest.mark.parametrize("threads", [(128, 256), (256, 64), (128, 128)])
def test_kernels_of_different_numbers_of_threads(threads):
    """Each kernel has its own number of consumer threads, and its own producer warp."""
    size = 128

    @T.prim_func
    def kernel(
        A: T.Tensor((size, size), "float16"), B: T.Tensor((size, size), "float16"), C: T.Tensor((size, size), "float32")
    ):
        First = T.alloc_global((size, size), "float16")
        for number in [0, 1]:
            with T.Kernel(size // 64, threads=threads[number]) as bx:
                a, b = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, size), "float16")
                c = T.alloc_fragment((64, size), "float32")
                T.clear(c)
                for k in T.Pipelined(size // 32, num_stages=2):
                    T.copy((First if number else A)[bx * 64, k * 32], a)
                    T.copy(B[k * 32, 0], b)
                    T.gemm(a, b, c)
                T.copy(c, (C if number else First)[bx * 64, 0])

    built_kernel = built(kernel)
    ways = {128: "wgmma", 256: "wgmma", 64: "mma.sync"}
    assert chosen(built_kernel, "gemm")[-2:] == [ways[count] for count in threads]
    a, b = small("float16", (size, size), most=1), small("float16", (size, size), 1, most=1)
    a[8:] = a[:8].repeat(15, 0)
    a[:, 4:], b[4:] = 0, 0  # sums that half precision holds
    as_interpreted(kernel, built_kernel, a, b, np.zeros((size, size), np.float32))


def test_an_instruction_of_several_kernels_is_made_once():
    """The second kernel uses one that the first has, and another one; both ask for the same text of the user's."""
    text = "__device__ int own() { return 1; }"

    @T.prim_func
    def two(A: T.Tensor((64, 64), HALF), C: T.Tensor((64, 64), "float32"), D: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128, prelude=text):
            a = T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.gemm(a, a, c, clear_accum=True)
            T.copy(c, C)
        with T.Kernel(1, threads=128, prelude=text):
            a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 32), HALF)
            c, d = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64, 32), "float32")
            T.copy(A, a)
            T.copy(A[:, 0:32], b)
            T.gemm(a, b, d, clear_accum=True)
            T.gemm(a, a, c, clear_accum=True)
            for i, j in T.Parallel(64, 32):
                c[i, j] += d[i, j]
            T.copy(c, D)

    source = built(two).get_kernel_source()
    assert source.count("TC_WGMMA(64, 16,") == 1
    assert source.count("TC_WGMMA(32, 16,") == 1
    assert source.count(text) == 1
