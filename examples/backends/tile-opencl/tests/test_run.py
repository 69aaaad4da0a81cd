"""Kernels on the device, against the interpreter."""

from __future__ import annotations

import threading

import ml_dtypes
import numpy as np
import pytest
from opencl_kernels import check, checked, matmul, plus_one

import tilecore
import tilecore.language as T
from tilecore.errors import LaunchError, UnsupportedError

pytestmark = pytest.mark.usefixtures("on_device")


def numbers(*shape: int, dtype: str = "float32") -> np.ndarray:
    values = np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape).astype(np.float32)
    return values.astype(getattr(ml_dtypes, dtype, None) or dtype)


@pytest.mark.parametrize("size", [(1, 1, 1), (32, 32, 16), (33, 65, 17), (70, 31, 100)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_products(size, dtype):
    m, n, k = size
    a, b = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype)
    check(matmul(m, n, k, dtype), a, b, np.zeros((m, n), np.float32), tolerance=1e-4)


def test_sizes_of_the_call():
    m, n, k = T.dynamic("m n k")
    func = matmul(m, n, k, stages=3)
    for size in ((5, 40, 33), (64, 3, 16), (0, 4, 4)):
        m_, n_, k_ = size
        check(func, numbers(m_, k_), numbers(k_, n_), np.zeros((m_, n_), np.float32), tolerance=1e-4)


def test_several_kernels_with_memory_and_a_scalar_between_them():
    n = T.dynamic("n")

    @T.prim_func
    def func(X: T.Tensor((n,), "float32"), factor: T.float16, count: T.int64, Y: T.Tensor((n,), "float32")):
        between = T.alloc_global((n,), "float32")
        with T.Kernel(T.ceildiv(n, 64), threads=64) as b:
            for i in T.Parallel(64):
                between[b * 64 + i] = X[b * 64 + i] * T.cast(factor, "float32")
        with T.Kernel(T.ceildiv(n, 64), threads=32) as b:
            for i in T.Parallel(64):
                Y[b * 64 + i] = between[n - 1 - (b * 64 + i)] + T.cast(count, "float32")

    for size in (1, 64, 131):
        check(func, numbers(size), 1.5, 2**40, np.zeros(size, np.float32))


def test_threads_wait_for_each_other():
    """A tile through local memory in another order, many times."""

    @T.prim_func
    def func(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            first, other = T.alloc_shared((64,), "int32"), T.alloc_shared((64,), "int32")
            T.copy(X, first)
            for step in T.serial(9):
                for i in T.Parallel(64):
                    other[i] = first[(i + step) % 64] + 1
                for i in T.Parallel(64):
                    first[63 - i] = other[i]
            T.copy(first, Y)

    check(func, np.arange(64, dtype=np.int32), np.zeros(64, np.int32))


def test_memory_that_changes_its_type():
    """Local memory is used again with another element type: the driver's compiler must not take the two for apart."""

    @T.prim_func
    def func(X: T.Tensor((512,), "float32"), Y: T.Tensor((512,), "int32"), Z: T.Tensor((512,), "float32")):
        with T.Kernel(1, threads=64):
            first = T.alloc_shared((512,), "float32")
            T.copy(X, first)
            for i in T.Parallel(512):
                Z[i] = first[511 - i]
            second = T.alloc_shared((512,), "int32")
            for i in T.Parallel(512):
                second[i] = i * 3
            for i in T.Parallel(512):
                Y[i] = second[511 - i]

    check(func, numbers(512), np.zeros(512, np.int32), np.zeros(512, np.float32))


def test_one_tensor_twice():
    kernel = tilecore.compile(plus_one, target="opencl")
    x = numbers(100)
    expected = x + 1
    kernel(x, x)
    np.testing.assert_array_equal(x, expected)


def test_outputs_and_torch():
    torch = pytest.importorskip("torch")
    kernel = tilecore.compile(plus_one, target="opencl", out_idx=[1])
    x = torch.arange(100, dtype=torch.float32)
    torch.testing.assert_close(kernel(x), x + 1)
    assert kernel(numbers(100)).shape == (100,)


def test_assertions_name_what_does_not_hold():
    kernel = tilecore.compile(checked, target="opencl")
    x, y = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    kernel(x, y)
    np.testing.assert_array_equal(x, y)
    x[3] = 95
    with pytest.raises(LaunchError, match="too large"):
        kernel(x, y)
    x[3] = -1
    with pytest.raises(LaunchError, match="negative"):
        kernel(x, y)
    x[3] = 5
    kernel(x, y)


def test_calls_from_several_threads():
    kernel = tilecore.compile(plus_one, target="opencl")
    arrays = [(np.full(100, i, np.float32), np.zeros(100, np.float32)) for i in range(16)]
    threads = [threading.Thread(target=kernel, args=pair) for pair in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for x, y in arrays:
        np.testing.assert_array_equal(y, x + 1)


def test_export_and_load(tmp_path):
    kernel = tilecore.compile(plus_one, target="opencl")
    kernel.export(tmp_path / "plus_one.tck")
    loaded = tilecore.load_kernel(tmp_path / "plus_one.tck")
    x, y = numbers(100), np.zeros(100, np.float32)
    loaded(x, y)
    np.testing.assert_array_equal(y, x + 1)
    assert b"tc_move_16" in loaded.artifact.binary, "the header is part of what is exported"
    assert "plus_one" in str(loaded.explain())


def test_what_the_driver_says_of_flags():
    with pytest.raises(LaunchError, match="does not compile plus_one"):
        tilecore.compile(plus_one, target="opencl", compile_flags=["-no-such-option"])
    check(plus_one, numbers(100), np.zeros(100, np.float32))


def test_too_many_threads_are_refused():
    @T.prim_func
    def func(X: T.Tensor((512,), "float32")):
        with T.Kernel(1, threads=512):
            for i in T.Parallel(512):
                X[i] = 0

    with pytest.raises(UnsupportedError, match="too many threads"):
        tilecore.compile(func, target="opencl -threads=256")
