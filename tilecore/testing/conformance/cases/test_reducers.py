"""T.alloc_reducer: many iterations of T.Parallel accumulate into one element."""

from functools import partial

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import LanguageError

from .kit import check, close, element, needs_type, sample, zeros

near = partial(close, steps=300)


def test_sums_along_each_axis(target):
    @T.prim_func
    def kernel(
        A: T.Tensor((37, 50), "float32"),
        R: T.Tensor((37,), "float32"),
        C: T.Tensor((50,), "float32"),
        W: T.Tensor((1,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            r, c = T.alloc_reducer((37,), "float32"), T.alloc_reducer((50,), "float32", op="sum")
            w, out = T.alloc_reducer((1,), "float32"), T.alloc_fragment((37,), "float32")
            T.reducer_init(r)
            T.clear(c)
            T.reducer_init(w, 2.0)
            for i, j in T.Parallel(37, 50):
                r[i] += A[i, j]
            for i, j in T.Parallel(37, 50):
                if j < 45:
                    T.reducer_update(r[i], A[i, j] * 2.0)
                    T.reducer_update(c[j], A[i, j])
            for i, j in T.Parallel(37, 50):
                T.reducer_update(w[0], A[i, j])
                A[i, j] = A[i, j] * 3.0
            T.finalize_reducer(r, out)
            T.finalize_reducer(c)
            T.finalize_reducer(w)
            T.copy(out, R)
            T.copy(c, C)
            T.copy(w, W)

    a = sample("float32", (37, 50))
    after, r, c, w = check(
        kernel, target, a, zeros("float32", 37), zeros("float32", 50), zeros("float32", 1), compare=near
    )
    np.testing.assert_allclose(r, a.sum(1) + 2 * a[:, :45].sum(1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(c, a.sum(0) * (np.arange(50) < 45), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(w[0], a.sum() + 2, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(after, a * np.float32(3))


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_extremes_from_several_loops(target, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((16, 40), dtype), H: T.Tensor((16,), dtype), L: T.Tensor((1,), dtype)):
        with T.Kernel(1):
            high, low = T.alloc_reducer((16,), dtype, op="max"), T.alloc_reducer((1,), dtype, op="min")
            T.reducer_init(high)
            T.reducer_init(low, 1)
            for k in T.serial(4):
                for i, j in T.Parallel(16, 10):
                    T.reducer_update(high[i], A[i, k * 10 + j])
                    low[0] = T.min(low[0], A[i, k * 10 + j])
            T.finalize_reducer(high)
            T.finalize_reducer(low)
            T.copy(high, H)
            T.copy(low, L)

    a = sample(dtype, (16, 40))
    _, high, low = check(kernel, target, a, zeros(dtype, 16), zeros(dtype, 1))
    np.testing.assert_array_equal(high, a.max(1))
    assert low[0] == min(a.min(), 1)


@pytest.mark.parametrize("threads", [128, 256])
@pytest.mark.parametrize("op", ["max", "min", "sum"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_reducers_that_every_thread_has_a_copy_of(target, dtype, op, threads):
    """Each thread updates its copy several times running at an index that depends on the thread.

    A vendor's compiler took the low byte of such a copy for a number to convert, which showed on hardware only.
    """
    M, N = 64, 128

    @T.prim_func
    def kernel(A: T.Tensor((M, N), dtype), Y: T.Tensor((M,), dtype)):
        with T.Kernel(1, threads=threads):
            tile = T.alloc_fragment((M, N), dtype)
            rows = T.alloc_reducer((M,), dtype, op=op, replication="all")
            T.copy(A, tile)
            T.reducer_init(rows)
            for i, j in T.Parallel(M, N):
                if op == "max":
                    rows[i] = T.max(rows[i], tile[i, j])
                elif op == "min":
                    rows[i] = T.min(rows[i], tile[i, j])
                else:
                    rows[i] += tile[i, j]
            T.finalize_reducer(rows)
            T.copy(rows, Y)

    a = np.round(sample(dtype, (M, N)).astype(np.float64) * 64) / 256
    a = np.where(op == "sum", np.sign(a), a)  # sums of ones and minus ones are exact in any order
    _, y = check(kernel, target, a.astype(element(dtype)), zeros(dtype, M))
    reference = {"max": a.max(1), "min": a.min(1), "sum": a.sum(1)}[op]
    np.testing.assert_array_equal(y.astype(np.float64), reference)


def test_elements_that_meet_by_chance(target):
    """Histograms: which iterations meet at an element is known only when the kernel runs, or is no plain axis."""

    @T.prim_func
    def kernel(
        K: T.Tensor((96,), "int32"), H: T.Tensor((8,), "int32"), D: T.Tensor((6,), "int32"), M: T.Tensor((6,), "int32")
    ):
        with T.Kernel(1):
            h, d = T.alloc_reducer((8,), "int32"), T.alloc_reducer((6,), "int32")
            m = T.alloc_reducer((6,), "int32", op="max")
            T.clear(h)
            T.clear(d)
            T.reducer_init(m)
            for i in T.Parallel(96):
                h[K[i]] += 1
            for i in T.Parallel(96):
                d[i // 16] -= i
            for i, j in T.Parallel(48, 2):
                key = K[i * 2 + j]
                m[(i * 2 + j) % 6] = T.max(key, m[(i * 2 + j) % 6])
            for r in (h, d, m):
                T.finalize_reducer(r)
            T.copy(h, H)
            T.copy(d, D)
            T.copy(m, M)

    k = np.random.default_rng(0).integers(0, 8, 96).astype(np.int32)
    h, d, m = check(kernel, target, k, zeros("int32", 8), zeros("int32", 6), zeros("int32", 6))[1:]
    np.testing.assert_array_equal(h, np.bincount(k, minlength=8))
    np.testing.assert_array_equal(d, -np.arange(96).reshape(6, 16).sum(1))
    np.testing.assert_array_equal(m, k.reshape(16, 6).max(0))


def test_only_reducers_are_reduced_into():
    with pytest.raises(LanguageError, match=r"T\.reducer_update: f is not a reducer"):

        @T.prim_func
        def kernel(A: T.Tensor((8,), "float32")):
            with T.Kernel(1):
                f = T.alloc_fragment((8,), "float32")
                for i in T.Parallel(8):
                    T.reducer_update(f[i], A[i])


REFERENCES = {
    "sum": lambda x: x.sum(1, dtype=x.dtype),
    "prod": lambda x: x.prod(1, dtype=x.dtype),
    "max": lambda x: x.max(1),
    "min": lambda x: x.min(1),
    "abssum": lambda x: np.abs(x).sum(1, dtype=x.dtype),
    "absmax": lambda x: np.abs(x).max(1),
    "bitand": lambda x: np.bitwise_and.reduce(x, 1),
    "bitor": lambda x: np.bitwise_or.reduce(x, 1),
    "bitxor": lambda x: np.bitwise_xor.reduce(x, 1),
}


@pytest.mark.parametrize(("dtype", "ops"), [("int32", "all"), ("uint8", "all"), ("bool", "bit"), ("float32", "other")])
def test_every_operation(target, dtype, ops):
    """By T.reducer_update, in several loops and started from a value; the value counts once."""
    kinds = [op for op in REFERENCES if ops == "all" or op.startswith("bit") == (ops == "bit")]
    count = len(kinds)
    first = 1 if dtype == "bool" else 3

    @T.prim_func
    def kernel(A: T.Tensor((16, 40), dtype), Y: T.Tensor((count, 16), dtype), Z: T.Tensor((count, 1), dtype)):
        with T.Kernel(1, threads=64):
            for number, op in enumerate(kinds):
                rows, one = (
                    T.alloc_reducer((16,), dtype, op=op),
                    T.alloc_reducer((1,), dtype, op=op, replication="none"),
                )
                out = T.alloc_fragment((16,), dtype)
                T.reducer_init(rows)
                T.reducer_init(one, init=first)
                for k in T.serial(2):
                    for i, j in T.Parallel(16, 20):
                        T.reducer_update(rows[i], A[i, k * 20 + j])
                for i in T.Parallel(16):
                    T.reducer_update(one[0], A[i, 0])
                T.finalize_reducer(rows, out, batch=4)
                T.finalize_reducer(one)
                T.copy(out, Y[number, :])
                T.copy(one, Z[number, :])

    needs_type(target, dtype)
    a = sample(dtype, (16, 40))
    if dtype == "bool":
        a[3], a[5] = True, False
    y, z = check(kernel, target, a, zeros(dtype, (count, 16)), zeros(dtype, (count, 1)), compare=near)[1:]
    column = np.concatenate([a[:, 0], np.array([first], a.dtype)])[None]
    for number, op in enumerate(kinds):
        close(y[number], REFERENCES[op](a), 300, op)
        close(z[number], REFERENCES[op](column), 300, op)


def test_operators_that_accumulate(target):
    """`&=` and the like; a sum of three; a float16 that a float32 is added to; TileLang's first syntax."""

    @T.prim_func
    def kernel(
        A: T.Tensor((32, 24), "int32"), X: T.Tensor((32, 24), "float32"), B: T.Tensor((3, 32), "int32"),
        F: T.Tensor((2, 24), "float32"), H: T.Tensor((32,), "float16"),
    ):  # fmt: skip
        with T.Kernel(1, threads=128):
            both, any_bit, odd = (T.alloc_reducer(32, "int32", op=op) for op in ("bitand", "bitor", "bitxor"))
            columns, scaled = (T.alloc_reducer((24,), "float32", replication="all") for _ in range(2))
            narrow = T.alloc_reducer((32,), "float16")
            T.fill(both, -1)
            T.clear(any_bit)
            T.clear(odd)
            T.clear(columns)
            T.clear(scaled)
            T.clear(narrow)
            for i, j in T.Parallel(32, 24):
                both[i] &= A[i, j]
                any_bit[i] |= A[i, j]
                odd[i] ^= A[i, j]
            for i, j in T.Parallel(32, 24):
                columns[j] = columns[j] + X[i, j] + 1.0
                scaled[j] = 2.0 * X[i, j] + scaled[j]
                narrow[i] += X[i, j]
            for number, reducer in enumerate((both, any_bit, odd)):
                T.finalize_reducer(reducer)
                T.copy(reducer, B[number, :])
            T.finalize_reducer(columns)
            T.finalize_reducer(scaled)
            T.finalize_reducer(narrow)
            T.copy(columns, F[0, :])
            T.copy(scaled, F[1, :])
            T.copy(narrow, H)

    needs_type(target, "float16")
    a, x = sample("int32", (32, 24)) | 1, sample("float32", (32, 24), 1)
    near_half = partial(close, steps=3000)
    b, f, h = check(
        kernel,
        target,
        a,
        x,
        zeros("int32", (3, 32)),
        zeros("float32", (2, 24)),
        zeros("float16", 32),
        compare=near_half,
    )[2:]
    for number, op in enumerate(("bitand", "bitor", "bitxor")):
        np.testing.assert_array_equal(b[number], REFERENCES[op](a))
    np.testing.assert_allclose(f[0], x.sum(0) + 32, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(f[1], 2 * x.sum(0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(h.astype(np.float32), x.sum(1), atol=0.1)


def test_results_that_the_kernel_changes(target):
    """After T.finalize_reducer a reducer is a fragment: stored to in loops of other forms, and reduced again."""

    @T.prim_func
    def kernel(A: T.Tensor((3, 64, 32), "float32"), Y: T.Tensor((3, 64), "float32"), M: T.Tensor((2, 64), "float32")):
        with T.Kernel(1, threads=128):
            total, mean = T.alloc_reducer((64,), "float32"), T.alloc_fragment((1,), "float32")
            for k in T.serial(3):
                T.clear(total)
                for i, j in T.Parallel(64, 32):
                    total[i] += A[k, i, j]
                T.finalize_reducer(total)
                for i in T.Parallel(32):
                    total[i * 2] *= 2.0
                for i in T.Parallel(64):
                    total[i] += 1.0
                T.copy(total, Y[k, :])
                if k == 1:
                    T.reduce_sum(total, mean, dim=0)
                    total[5] = mean[0]
                    for i in T.Parallel(64):
                        M[0, 63 - i] = total[i]
                    if total[5] > total[6]:
                        T.copy(total, M[1, :])

    a = sample("float32", (3, 64, 32)) + 1
    y, m = check(kernel, target, a, zeros("float32", (3, 64)), zeros("float32", (2, 64)), compare=near)[1:]
    expected = a.sum(2) * np.where(np.arange(64) % 2, 1, 2) + 1
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
    expected[1, 5] = expected[1].sum()
    np.testing.assert_allclose(m, [expected[1, ::-1], expected[1]], rtol=1e-4, atol=1e-4)
