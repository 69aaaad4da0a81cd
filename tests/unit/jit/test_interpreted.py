"""TILECORE_INTERPRET=1: kernels run by their definition."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.autotune import AutotuneWarning
from tilecore.contract.adapter import INTERPRETED
from tilecore.errors import ArgumentError, OutOfBoundsError, RaceError, UninitialisedReadError, UnsupportedError


@pytest.fixture(autouse=True)
def _by_definition(monkeypatch):
    monkeypatch.setenv("TILECORE_INTERPRET", "1")


def scaled(M, N, dtype="float32"):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), factor: T.float32, Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, threads=32) as bx:
            for j in T.Parallel(N):
                Y[bx, j] = T.cast(T.cast(X[bx, j], "float32") * factor, dtype)

    return kernel


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8"])
def test_a_kernel_with_an_output_and_a_number(dtype):
    kernel = tilecore.compile(scaled(3, 5, dtype), target="cpu", out_idx=-1)
    assert kernel.execution_backend == INTERPRETED
    kind = np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)
    x = np.arange(15).reshape(3, 5).astype(kind)
    result = kernel(x, 2.0)
    np.testing.assert_array_equal(np.asarray(result).astype(np.float64), x.astype(np.float64) * 2)


def test_lazy_and_eager_functions_and_sizes_of_the_call():
    @tilecore.jit(out_idx=-1, target="cpu")
    def lazy(N):
        M = T.dynamic("M")

        @T.prim_func
        def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M,), "float32")):
            with T.Kernel(M, threads=32) as bx:
                row, total = T.alloc_fragment((N,), "float32"), T.alloc_fragment((1,), "float32")
                T.copy(X[bx, 0], row)
                T.reduce_sum(row, total)
                Y[bx] = total[0]

        return kernel

    @tilecore.jit(target="cpu")
    def eager(X):
        M, N = T.const("M, N")
        X: T.Tensor((M, N), T.float32)
        Y = T.empty((M, N), T.float32)
        with T.Kernel(M, threads=32) as bx:
            for j in T.Parallel(N):
                Y[bx, j] = -X[bx, j]
        return Y

    for rows in (1, 4):
        x = np.random.default_rng(rows).standard_normal((rows, 7)).astype(np.float32)
        np.testing.assert_allclose(np.asarray(lazy(7)(x)), x.sum(1), rtol=1e-6)
        np.testing.assert_array_equal(np.asarray(eager(x)), -x)


def test_torch_tensors_and_strides():
    torch = pytest.importorskip("torch")

    @T.prim_func
    def kernel(X: T.StridedTensor((4, 6), (12, 1), "float32"), Y: T.Tensor((4, 6), "float32")):
        with T.Kernel(1):
            T.copy(X, Y)

    x, y = torch.randn(4, 12), torch.zeros(4, 6)
    tilecore.compile(kernel, target="cpu")(x[:, 3:9], y)
    torch.testing.assert_close(y, x[:, 3:9])


def test_what_the_interpreter_finds_is_raised():
    @T.prim_func
    def race(X: T.Tensor((8, 8), "float32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared((1,), "float32")
            s[0] = 0
            for i, j in T.Parallel(8, 8):
                s[0] += X[i, j]
            Y[0] = s[0]

    @T.prim_func
    def unwritten(Y: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared((8,), "float32")
            T.copy(s, Y)

    @T.prim_func
    def outside(K: T.Tensor((8,), "int32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared((8,), "float32")
            T.clear(s)
            for i in T.serial(8):
                Y[i] = s[K[i]]

    y = np.zeros(8, np.float32)
    with pytest.raises(RaceError, match="which another one reads"):
        tilecore.compile(race, target="cpu")(np.ones((8, 8), np.float32), y)
    with pytest.raises(UninitialisedReadError):
        tilecore.compile(unwritten, target="cpu")(y)
    with pytest.raises(OutOfBoundsError):
        tilecore.compile(outside, target="cpu")(np.full(8, 9, np.int32), y)
    with pytest.raises(ArgumentError):
        tilecore.compile(unwritten, target="cpu")(np.zeros(9, np.float32))


def test_another_target_and_simulate_without_a_simulator(monkeypatch):
    """The interpreter stands for every target, and for the simulated device where a target has none."""
    from tilecore.plugins import manager

    x, y = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    for kind in manager.kinds():
        kernel = tilecore.compile(scaled(2, 3), target=kind)
        assert kernel.execution_backend == INTERPRETED
        kernel(x, 3.0, y)
        np.testing.assert_array_equal(y, 3 * x)
    monkeypatch.delenv("TILECORE_INTERPRET")
    assert tilecore.compile(scaled(2, 3), target="cpu").execution_backend != INTERPRETED
    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    assert tilecore.compile(scaled(2, 3), target="cpu").execution_backend == INTERPRETED


def test_nothing_is_kept_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))
    tilecore.compile(scaled(5, 3), target="cpu")
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix in (".bin", ".o", ".json")]
    with pytest.raises(UnsupportedError, match="runs in the interpreter"):
        tilecore.compile(scaled(5, 3), target="cpu").export(tmp_path / "kernel.tck")


def test_it_is_not_pickled():
    import pickle

    with pytest.raises(UnsupportedError, match="runs in the interpreter"):
        pickle.dumps(tilecore.compile(scaled(6, 3), target="cpu"))


@pytest.mark.parametrize(
    "make", [
        lambda a: a, lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: a[::-2, ::-1], lambda a: a[:1],
        lambda a: a[:, :1], lambda a: a[:1, :1], lambda a: a[:0], lambda a: a.T, lambda a: a[1::2, ::-3],
    ],
)  # fmt: skip
@pytest.mark.parametrize("by_definition", [True, False])
def test_strides_of_the_call(monkeypatch, make, by_definition):
    if not by_definition:
        monkeypatch.delenv("TILECORE_INTERPRET")
    M, N, rows, columns = T.dynamic("M, N, rows, columns")

    @T.prim_func
    def doubled(X: T.StridedTensor((M, N), (rows, columns), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M) as bx:
            for j in T.Parallel(N):
                Y[bx, j] = X[bx, j] * 2

    x = make(np.arange(30, dtype=np.float32).reshape(5, 6))
    kernel = tilecore.compile(doubled, target="cpu", out_idx=-1)
    np.testing.assert_array_equal(kernel(x), x * 2)


def test_several_at_once_and_the_autotuner():
    @tilecore.jit(target="cpu", out_idx=-1)
    def doubled(n, block=8):
        @T.prim_func
        def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
            with T.Kernel(T.ceildiv(n, block)) as bx:
                for i in T.Parallel(block):
                    Y[bx * block + i] = X[bx * block + i] * 2

        return kernel

    x = np.arange(20, dtype=np.float32)
    for kernel in doubled.par_compile([{"n": 20}, {"n": 20, "block": 4}]):
        assert kernel.execution_backend == INTERPRETED
        np.testing.assert_array_equal(kernel(x), x * 2)
    (kernel,) = tilecore.par_compile([doubled.get_tir(20, 4)], target="cpu", out_idx=-1)
    np.testing.assert_array_equal(kernel(x), x * 2)
    tuned = tilecore.autotune(configs={"block": [4, 8]})(doubled)
    with pytest.warns(AutotuneWarning, match="the first configuration is taken"):
        kernel = tuned(20)
    assert kernel.config == {"block": 4}
    np.testing.assert_array_equal(kernel(x), x * 2)
