"""Reductions over the lanes of a simdgroup: one call where Metal has one with the meaning of the language."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.simulate import SimulationError


def warps(dtype, function, threads=64):
    @T.prim_func
    def kernel(X: T.Tensor((threads,), dtype), Y: T.Tensor((threads,), dtype)):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding()
            Y[tx] = getattr(T, f"warp_reduce_{function}")(X[tx])

    return tilecore.compile(kernel, target="metal", execution_backend="sim")


@pytest.mark.parametrize(
    ("dtype", "function", "call"),
    [
        ("float32", "sum", "tc_lanes_sum(joined)"),
        ("bfloat16", "sum", "tc_lanes_sum((bfloat)joined)"),
        ("int8", "min", "tc_lanes_min((char)joined)"),
        ("uint32", "max", "tc_lanes_max(joined)"),
        ("int32", "bitor", "tc_lanes_or(joined)"),
        ("float32", "max", "tc_lanes_max(joined)"),  # of no NaN, of which simd_max promises nothing
        ("int64", "sum", "tc_shuffle_xor(joined, 16)"),  # simd_sum takes at most 32 bits
    ],
)
def test_of_a_simdgroup(dtype, function, call):
    kernel = warps(dtype, function)
    source = kernel.get_kernel_source()
    assert call in source
    assert ("tc_shuffle" in source) != ("tc_lanes" in source)
    if dtype == "bfloat16":
        return  # numpy has no such type; the header's function is tested with it
    values = np.random.default_rng(3).integers(-40, 40, 64).astype(dtype)
    if dtype == "float32" and function == "max":
        values[[3, 31, 32]] = np.nan
    result = np.zeros_like(values)
    kernel(values, result)
    ufunc = {"sum": np.add, "min": np.minimum, "max": np.fmax, "bitor": np.bitwise_or}[function]
    expected = ufunc.reduce(values.reshape(2, 32), axis=1, dtype=dtype, keepdims=True)
    np.testing.assert_array_equal(result.reshape(2, 32), np.broadcast_to(expected, (2, 32)))


@T.prim_func
def largest(X: T.Tensor((8, 2048), "float32"), Y: T.Tensor((8,), "float32")):
    with T.Kernel(8, threads=256) as row:
        x, largest_of_row = T.alloc_fragment((2048,), "float32"), T.alloc_fragment((1,), "float32")
        T.copy(X[row, 0], x)
        T.reduce_max(x, largest_of_row)
        T.copy(largest_of_row, Y[row])


def test_of_a_threadgroup(monkeypatch):
    """A thread has dropped the NaNs of its own elements."""
    monkeypatch.setenv("TILECORE_CHECK", "1")
    kernel = tilecore.compile(largest, target="metal", execution_backend="sim")
    source = kernel.get_kernel_source()
    assert source.count("tc_lanes_max(joined)") == 1
    assert "tc_shuffle_xor(joined, 16)" not in source
    x, y = np.random.default_rng(4).standard_normal((8, 2048)).astype(np.float32), np.zeros(8, np.float32)
    x[3, 5] = np.nan
    kernel(x, y)
    np.testing.assert_array_equal(y, np.nanmax(x, axis=1))


@T.prim_func
def turned_often(N: T.Tensor((32,), "int32"), X: T.Tensor((32,), "int32"), Y: T.Tensor((32,), "int32")):
    with T.Kernel(1, threads=32):
        tx = T.get_thread_binding()
        s = T.alloc_shared((32,), "int32")
        times = T.warp_reduce_sum(N[tx])
        s[tx] = X[tx]
        for _ in T.serial(times):
            following = T.alloc_var("int32", init=s[(tx + 1) % 32])
            s[tx] = following
        Y[tx] = s[tx]


def test_a_loop_over_a_result_is_uniform(monkeypatch):
    """The check of what a kernel's barriers order knows that all threads have one result."""
    monkeypatch.setenv("TILECORE_CHECK", "1")
    kernel = tilecore.compile(turned_often, target="metal", execution_backend="sim")
    assert "tc_lanes_sum" in kernel.get_kernel_source()
    x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    kernel((x == 4).astype(np.int32) * 3, x, y)
    np.testing.assert_array_equal(y, np.roll(x, -3))


def test_all_lanes_take_part():
    @T.prim_func
    def some_lanes(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if X[tx] > 0:
                Y[tx] = T.warp_reduce_sum(X[tx])

    kernel = tilecore.compile(some_lanes, target="metal", execution_backend="sim")
    assert "tc_lanes_sum" in kernel.get_kernel_source()
    kernel(np.repeat(np.float32([1, 0]), 32), np.zeros(64, np.float32))
    with pytest.raises(SimulationError) as error:
        kernel(np.arange(64, dtype=np.float32) - 16, np.zeros(64, np.float32))
    assert error.value.kind == "mismatched_collective"
