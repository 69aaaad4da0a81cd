"""Conversions among all element types, for all values of the narrow ones, as vectors and one by one."""

import ml_dtypes
import numpy as np
import pytest

import tilecore.language as T
from tilecore.dtypes import FACTS

from .kit import DTYPES, FLOATS, check, compiled, element, every_value, has_feature, same, sample, wide, zeros


def conversions(source, n, serial):
    """Y_k[i] = cast(X[i]) for every element type k."""

    @T.prim_func
    def kernel(
        X: T.Tensor((n,), source),
        Y0: T.Tensor((n,), DTYPES[0]),
        Y1: T.Tensor((n,), DTYPES[1]),
        Y2: T.Tensor((n,), DTYPES[2]),
        Y3: T.Tensor((n,), DTYPES[3]),
        Y4: T.Tensor((n,), DTYPES[4]),
        Y5: T.Tensor((n,), DTYPES[5]),
        Y6: T.Tensor((n,), DTYPES[6]),
        Y7: T.Tensor((n,), DTYPES[7]),
        Y8: T.Tensor((n,), DTYPES[8]),
        Y9: T.Tensor((n,), DTYPES[9]),
        Y10: T.Tensor((n,), DTYPES[10]),
        Y11: T.Tensor((n,), DTYPES[11]),
        Y12: T.Tensor((n,), DTYPES[12]),
        Y13: T.Tensor((n,), DTYPES[13]),
        Y14: T.Tensor((n,), DTYPES[14]),
    ):
        with T.Kernel(1):
            for Y in [Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14]:
                for i in T.serial(n) if serial else T.Parallel(n):
                    Y[i] = T.cast(X[i], Y.dtype)

    return kernel


@pytest.mark.parametrize("serial", [False, True], ids=["vectors", "scalars"])
@pytest.mark.parametrize("source", DTYPES)
def test_every_conversion(target, source, serial):
    x = every_value(source)
    if serial:  # the interpreter takes one at a time
        x = np.concatenate([x[:20], x[-20:], x[20:-20:97]])
    if has_feature(target, "flushes_subnormals") and FACTS[source].bits >= 32 and FACTS[source].kind == "float":
        x = np.where(np.abs(x) < FACTS["float32"].min_normal, np.copysign(0, x), x).astype(x.dtype)
    func = conversions(source, len(x), serial)
    check(func, target, x, *[zeros(kind, len(x)) for kind in DTYPES])


def test_out_of_range_saturates_and_nan_is_zero(target):
    n = 6

    @T.prim_func
    def kernel(
        X: T.Tensor((n,), "float32"),
        A: T.Tensor((n,), "int8"),
        B: T.Tensor((n,), "uint8"),
        C: T.Tensor((n,), "int32"),
        D: T.Tensor((n,), "float8_e4m3fn"),
    ):
        with T.Kernel(1):
            for i in T.Parallel(n):
                A[i], B[i], C[i], D[i] = X[i], X[i], X[i], X[i]

    x = np.array([np.nan, -1e10, 1e10, -1.9, 300.5, 449.0], np.float32)
    _, a, b, c, d = check(kernel, target, x, *(zeros(k, n) for k in ("int8", "uint8", "int32", "float8_e4m3fn")))
    assert a.tolist() == [0, -128, 127, -1, 127, 127]
    assert b.tolist() == [0, 0, 255, 0, 255, 255]
    assert c.tolist() == [0, -(2**31), 2**31 - 1, -1, 300, 449]
    np.testing.assert_array_equal(d.astype(np.float32), [np.nan, -448, 448, -1.875, 288, 448])


def test_integers_wrap(target):
    n = 4

    @T.prim_func
    def kernel(X: T.Tensor((n,), "int32"), A: T.Tensor((n,), "int8"), B: T.Tensor((n,), "uint16")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                A[i] = T.cast(X[i], "int8")
                B[i] = T.uint16(X[i])

    x = np.array([300, -1, 128, -70000], np.int32)
    _, a, b = check(kernel, target, x, zeros("int8", n), zeros("uint16", n))
    assert a.tolist() == [44, -1, -128, -112]
    assert b.tolist() == [300, 65535, 128, 61072]


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("float32", "int32"),
        ("uint32", "float32"),
        ("float16", "uint16"),
        ("bfloat16", "int16"),
        ("float16", "bfloat16"),
        ("float8_e4m3fn", "uint8"),
        ("int8", "float8_e5m2"),
        ("float64", "int64"),
    ],
)
def test_reinterpret(target, source, result):
    x = every_value(source)
    n = len(x)

    @T.prim_func
    def kernel(X: T.Tensor((n,), source), Y: T.Tensor((n,), result), Z: T.Tensor((n,), result)):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[i] = T.reinterpret(X[i], result)
            for i in T.serial(n):
                Z[i] = T.reinterpret(result, X[i])

    y, z = zeros(result, n), zeros(result, n)
    compiled(kernel, target)(x, y, z)
    bits = f"uint{element(result).itemsize * 8}"
    comparable = ~np.isnan(wide(x)) | (element(result).kind in "iu")
    same(y.view(bits)[comparable], x.view(bits)[comparable])
    same(z.view(bits)[comparable], x.view(bits)[comparable])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_bytes_of_a_computed_float(target, dtype):
    """The bits of a sum, of a maximum and of a conversion, stored a byte at a time (a 16-bit word of wider types)."""
    n = 129
    wide_bits, part = {2: ("uint16", "uint8"), 4: ("uint32", "uint8"), 8: ("uint64", "uint16")}[element(dtype).itemsize]
    shift = np.dtype(part).itemsize * 8

    @T.prim_func
    def kernel(
        X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype), F: T.Tensor((n,), "float32"), R: T.Tensor((n, 6), part)
    ):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(n):
                total = T.reinterpret(X[i] + Y[i], wide_bits)
                largest = T.reinterpret(T.max(X[i], Y[i]), wide_bits)
                cast = T.reinterpret(T.cast(F[i], dtype), wide_bits)
                R[i, 0] = T.cast(total, part)
                R[i, 1] = T.cast(total >> shift, part)
                R[i, 2] = T.cast(largest, part)
                R[i, 3] = T.cast(largest >> shift, part)
                R[i, 4] = T.cast(cast, part)
                R[i, 5] = T.cast(cast >> shift, part)

    x, y, f = sample(dtype, n, 1), sample(dtype, n, 2), sample("float32", n, 3)
    *_, parts = check(kernel, target, x, y, f, zeros(part, (n, 6)))
    for column, value in enumerate([(x + y).astype(element(dtype)), np.maximum(x, y), f.astype(element(dtype))]):
        bits = value.view(wide_bits)
        np.testing.assert_array_equal(parts[:, 2 * column], bits.astype(part))
        np.testing.assert_array_equal(parts[:, 2 * column + 1], (bits >> np.array(shift, wide_bits)).astype(part))


def test_casts_written_in_other_ways(target):
    n = 37

    @T.prim_func
    def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((5, n), "float16")):
        with T.Kernel(1):
            local = T.alloc_fragment((n,), "bfloat16")
            T.copy(X, local)
            T.copy(local, Y[0, :])
            for i in T.Parallel(n):
                Y[1, i] = X[i]
                Y[2, i] = T.Cast("float16", X[i])
                half: T.float16 = X[i]
                Y[3, i] = half
                Y[4, i] = X[i].astype("float16")

    x = np.random.default_rng(0).standard_normal(n).astype(np.float32) * 100
    _, y = check(kernel, target, x, zeros("float16", (5, n)))
    same(y[0], x.astype(ml_dtypes.bfloat16).astype(np.float16))
    for row in range(1, 5):
        same(y[row], x.astype(np.float16))


@pytest.mark.parametrize("kind", [*FLOATS[2:], "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_narrow_floats_keep_their_bits_when_only_moved(target, kind):
    """Quiet NaN and -0 as well: a copy is no arithmetic."""
    x = every_value(kind)
    n, part = len(x), len(x) // 4

    @T.prim_func
    def kernel(X: T.Tensor((n,), kind), Y: T.Tensor((n,), kind), Z: T.Tensor((n,), kind)):
        with T.Kernel(4) as b:
            tile = T.alloc_shared((part,), kind)
            T.copy(X[b * part], tile)
            T.copy(tile, Y[b * part])
            for i in T.Parallel(part):
                Z[b * part + i] = T.if_then_else(i % 2 == 0, X[b * part + i], tile[i])

    bits = f"uint{element(kind).itemsize * 8}"
    got = [x.copy(), zeros(kind, n), zeros(kind, n)]
    compiled(kernel, target)(*got)
    same(got[1].view(bits), x.view(bits))
    quiet = ~np.isnan(x.astype(np.float32))
    same(got[2].view(bits)[quiet], x.view(bits)[quiet])


def rounded_rows(n, source, result):
    """Y[1, :] and then Y[0, :], which lies in front of it; Y[2, :] stays."""

    @T.prim_func
    def kernel(X: T.Tensor((2, n), source), Y: T.Tensor((3, n), result)):
        with T.Kernel(1):
            for row in T.serial(2):
                part, out = T.alloc_fragment((n,), source), T.alloc_fragment((n,), result)
                T.copy(X[1 - row, :], part)
                for i in T.Parallel(n):
                    out[i] = part[i] + part[i]
                T.copy(out, Y[1 - row, :])

    return kernel


@pytest.mark.parametrize("result", ["bfloat16", "float16", "float8_e4m3fn", "int8", "uint16", "float32"])
def test_rows_of_narrow_numbers_end_where_they_end(target, result):
    """Whatever the last elements of a row are stored with leaves the next row as it is."""
    source = "int32" if "int" in result else "float32"
    for n in (1, 3, 9, 17, 33, 65):
        x = (np.arange(2 * n).reshape(2, n) % 7 + 1).astype(source)
        before = np.full((3, n), 5).astype(element(result))
        check(rounded_rows(n, source, result), target, x, before)


def test_reductions_of_narrow_numbers_end_where_they_end(target):
    """Found on x86 with AVX-512: LLVM stored 32 bits where one lane of 16 was to be stored."""

    @T.prim_func
    def kernel(X: T.Tensor((1, 9), "bfloat16"), Z: T.Tensor((9,), "bfloat16"), Y: T.Tensor((2, 9), "bfloat16")):
        with T.Kernel(1):
            x, out = T.alloc_shared((1, 9), "bfloat16"), T.alloc_fragment((9,), "bfloat16")
            T.copy(X, x)
            T.reduce_max(x, out, dim=0)
            T.copy(out, Y[0, :])
            T.copy(Z, out)
            T.reduce_max(x, out, dim=0, clear=False)
            T.copy(out, Y[1, :])

    x, z = np.arange(9).reshape(1, 9).astype(ml_dtypes.bfloat16), np.full(9, 4, ml_dtypes.bfloat16)
    check(kernel, target, x, z, zeros("bfloat16", (2, 9)))
