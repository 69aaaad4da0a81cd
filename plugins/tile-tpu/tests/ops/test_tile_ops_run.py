"""Tile operations end to end, on the simulator and, where the SDK is installed, on the vendor's CModel, compared with
numpy."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest

import tilecore
import tilecore.language as T

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(0)
SIZES = (65, 33, 40)  # M, N, K


@pytest.fixture(scope="module", autouse=True)
def _private(tmp_path_factory):
    """A kernel cache for this module, in which the simulator is built once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def run(kernel, backend, *arrays):
    """Runs a kernel on numpy arrays; returns the last one."""
    compiled = tilecore.compile(kernel, target="tpu", execution_backend=backend)
    tensors = [as_tensor(a) for a in arrays]
    compiled(*tensors)
    return as_array(tensors[-1], arrays[-1].dtype)


def as_tensor(array):
    kind = {"bfloat16": torch.bfloat16, "float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2}
    if array.dtype.name in kind:
        raw = array.view(np.uint8 if array.itemsize == 1 else np.int16)
        return torch.from_numpy(raw.copy()).view(kind[array.dtype.name])
    return torch.from_numpy(array.copy())


def as_array(tensor, dtype):
    if dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        return tensor.view(torch.uint8 if dtype.itemsize == 1 else torch.int16).numpy().view(dtype)
    return tensor.numpy()


def values(shape, dtype):
    kind = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return RNG.integers(limits.min, int(limits.max) + 1, shape).astype(kind)
    return (RNG.standard_normal(shape) / 2).astype(kind)


FORMS = list(product((0, 1), (0, 1), (0, 1)))  # transpose_A, transpose_B, clear_accum
TYPES = [
    ("float16", "float16", "float32"), ("bfloat16", "bfloat16", "bfloat16"), ("float32", "float32", "float32"),
    ("float8_e4m3fn", "float8_e5m2", "float16"), ("float16", "float8_e4m3fn", "float32"), ("int8", "int8", "int32"),
    ("uint8", "uint8", "int32"), ("uint8", "int8", "int32"), ("uint8", "uint8", "uint32"), ("int8", "int8", "float32"),
]  # fmt: skip


@pytest.mark.parametrize("types", TYPES, ids="-".join)
def test_products(backend, types):
    (m, n, k), (a_type, b_type, c_type) = SIZES, types

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), a_type), AT: T.Tensor((k, m), a_type), B: T.Tensor((k, n), b_type),
        BT: T.Tensor((n, k), b_type), C: T.Tensor((m, n), c_type), Y: T.Tensor((len(FORMS), m, n), c_type),
    ):  # fmt: skip
        with T.Kernel(1):
            a, at = T.alloc_shared((m, k), a_type), T.alloc_shared((k, m), a_type)
            b, bt = T.alloc_shared((k, n), b_type), T.alloc_shared((n, k), b_type)
            c = T.alloc_fragment((m, n), c_type)
            for source, tile in ((A, a), (AT, at), (B, b), (BT, bt)):
                T.copy(source, tile)
            for number, (ta, tb, clear) in enumerate(FORMS):
                T.copy(C, c)
                T.gemm(at if ta else a, bt if tb else b, c, transpose_A=ta, transpose_B=tb, clear_accum=clear)
                T.copy(c, Y[number, :, :])

    a, b, c = values((m, k), a_type), values((k, n), b_type), values((m, n), c_type)
    y = run(kernel, backend, a, a.T.copy(), b, b.T.copy(), c, np.zeros((len(FORMS), m, n), c.dtype))
    wide = np.int64 if c.dtype.kind in "iu" else np.float64
    for number, (_, _, clear) in enumerate(FORMS):
        expected = a.astype(wide) @ b.astype(wide) + (0 if clear else c.astype(wide))
        if wide is np.int64:
            assert np.array_equal(y[number], expected.astype(c.dtype))
        else:
            bound = {"float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}[c_type]
            assert np.abs(y[number].astype(wide) - expected).max() <= bound * max(1, np.abs(expected).max())


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int8", "uint16"])
def test_reductions(backend, dtype):
    rows, columns = 130, 65
    kinds = ("sum", "max", "min", "absmax") + (() if "float" in dtype else ("bitxor",))

    @T.prim_func
    def kernel(X: T.Tensor((rows, columns), dtype), Y: T.Tensor((len(kinds), rows + columns), dtype)):
        with T.Kernel(1):
            x = T.alloc_shared((rows, columns), dtype)
            along, across = T.alloc_fragment((rows,), dtype), T.alloc_fragment((columns,), dtype)
            T.copy(X, x)
            for number, kind in enumerate(kinds):
                T.reduce(x, along, kind, dim=1)
                T.reduce(x, across, kind, dim=0)
                T.copy(along, Y[number, 0:rows])
                T.copy(across, Y[number, rows : rows + columns])

    x = values((rows, columns), dtype)
    if "float" in dtype:
        x[3], x[5:, 7] = np.nan, np.nan
    y = run(kernel, backend, x, np.zeros((len(kinds), rows + columns), x.dtype))
    ufuncs = {"sum": np.add, "max": np.fmax, "min": np.fmin, "absmax": np.fmax, "bitxor": np.bitwise_xor}
    for number, kind in enumerate(kinds):
        wide = x.astype(np.float64) if "float" in dtype else x
        wide = np.abs(wide) if kind == "absmax" else wide
        for axis, got in ((1, y[number, :rows]), (0, y[number, rows:])):
            expected = ufuncs[kind].reduce(wide, axis=axis, dtype=wide.dtype)
            empty = {"max": -np.inf, "min": np.inf, "absmax": 0.0}.get(kind)
            if "float" in dtype and empty is not None:
                expected = np.where(np.isnan(expected), empty, expected)
            bound = 2e-3 if dtype == "float16" else 2e-6
            close = np.isclose(got.astype(np.float64), expected, rtol=bound, atol=bound * 10, equal_nan=True)
            assert close.all() if "float" in dtype else np.array_equal(got, expected), (kind, axis)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_scans(backend, dtype):
    rows, columns = 65, 33

    @T.prim_func
    def kernel(X: T.Tensor((rows, columns), dtype), Y: T.Tensor((4, rows, columns), dtype)):
        with T.Kernel(1):
            x, y = T.alloc_shared((rows, columns), dtype), T.alloc_shared((rows, columns), dtype)
            T.copy(X, x)
            for number, (axis, reverse) in enumerate(((0, False), (1, False), (0, True), (1, True))):
                T.cumsum(x, y, dim=axis, reverse=reverse)
                T.copy(y, Y[number, :, :])

    x = values((rows, columns), dtype)
    y = run(kernel, backend, x, np.zeros((4, rows, columns), x.dtype))
    for number, (axis, reverse) in enumerate(((0, False), (1, False), (0, True), (1, True))):
        value = np.flip(x, axis) if reverse else x
        expected = np.cumsum(value.astype(np.float64 if dtype == "float32" else x.dtype), axis, dtype=None)
        expected = (np.flip(expected, axis) if reverse else expected).astype(x.dtype)
        assert (
            np.allclose(y[number], expected, atol=1e-4) if dtype == "float32" else np.array_equal(y[number], expected)
        )


def test_kernels_of_one_name(backend):
    """Two libraries register the same name: each call runs the kernel of its library."""

    def filled(value):
        @T.prim_func
        def kernel(Y: T.Tensor((16,), "float32")):
            with T.Kernel(1):
                y = T.alloc_fragment((16,), "float32")
                T.fill(y, value)
                T.copy(y, Y)

        return kernel

    for value in (1.0, 2.0):
        assert np.all(run(filled(value), backend, np.zeros(16, np.float32)) == value)
