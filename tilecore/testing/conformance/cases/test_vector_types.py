"""Types of several lanes: buffers of vectors, their lanes, vectors of the bits of others, and accesses of a width."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilecore.language as T
from tilecore.dtypes import dtype as DType

from .kit import check, every_value, same, sample, zeros

VECTORS = ("float32x2", "float16x4", "bfloat16x2", "int8x4", "uint8x16", "float8_e4m3fnx8", "int32x4", "float64x2")


@pytest.mark.parametrize("vector", VECTORS)
def test_buffers_of_vectors(target, vector):
    """In memory of all kinds, as a tile, by element, and as a view of scalars; 5 is no multiple of anything."""
    kind = DType(vector)
    lanes, element = kind.lanes, str(kind.element)

    @T.prim_func
    def kernel(
        X: T.Tensor((3, 5), vector), Y: T.Tensor((3, 5), vector), Z: T.Tensor((5,), vector), S: T.Tensor((15,), vector)
    ):
        with T.Kernel(1, threads=32):
            tile, shared = T.alloc_fragment((3, 5), vector), T.alloc_shared((3, 5), vector)
            T.copy(X, shared)
            T.copy(shared, tile)
            for i, j in T.Parallel(3, 5):
                tile[i, j] = tile[i, j] + T.cast(1, vector)
            T.copy(tile, Y)
            T.copy(shared[1, 0:5], Z)
            flat = T.view(X, (15 * lanes,), element)
            for i in T.Parallel(15):
                local = T.alloc_local((2,), vector)
                local[0] = flat[T.Ramp(i * lanes, 1, lanes)]
                local[1] = local[0]
                S[i] = T.max(local[1], X[0, 0])

    x = sample(element, (3, 5, lanes))
    y, z, s = check(kernel, target, x, *(zeros(element, shape) for shape in ((3, 5, lanes), (5, lanes), (15, lanes))))[
        1:
    ]
    np.testing.assert_array_equal(y, (x.astype("float64") + 1).astype(x.dtype))
    np.testing.assert_array_equal(z, x[1])
    np.testing.assert_array_equal(s, np.maximum(x.reshape(15, lanes), x[0, 0]))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_lanes(target, dtype):
    """T.Shuffle, T.extract_lane, vectors of values, variables that hold vectors, from places that are not aligned."""
    vector = f"{dtype}x4"

    @T.prim_func
    def kernel(X: T.Tensor((32,), dtype), Y: T.Tensor((6, 4), dtype), Z: T.Tensor((8,), dtype)):
        with T.Kernel(1, threads=1):
            v = T.alloc_var(vector)
            v = X[T.Ramp(3, 1, 4)]
            w = X[T.Ramp(17, -3, 4)]
            Y[0, 0:4] = v
            Y[1, T.Ramp(3, -1, 4)] = w
            Y[2, 0:4] = T.Shuffle([v, w, X[30]], [8, 1, 6, 3])
            Y[3, 0:4] = DType(vector)(X[1], T.extract_lane(w, 2), 7, X[0])
            v = T.Broadcast(X[5], 4)
            Y[4, 0:4] = v + w
            Y[5, 0:4] = T.if_then_else(v > w, v, w)
            for lane in T.unroll(4):
                Z[lane] = T.extract_lane(v, 3) if lane % 2 == 0 else X[lane]
            Z[4:8] = X[9:13]

    x = sample(dtype, 32)
    y, z = check(kernel, target, x, zeros(dtype, (6, 4)), zeros(dtype, 8))[1:]
    v, w = x[3:7], x[[17, 14, 11, 8]]
    shuffled = np.concatenate([v, w, x[30:31]])[[8, 1, 6, 3]]
    rows = [v, w[::-1], shuffled, np.array([x[1], w[2], 7, x[0]], x.dtype), x[5] + w, np.maximum(x[5], w)]
    np.testing.assert_array_equal(y, np.stack(rows))
    np.testing.assert_array_equal(z, np.concatenate([[x[5], x[1], x[5], x[3]], x[9:13]]).astype(x.dtype))


@pytest.mark.parametrize(
    ("source", "to"),
    [
        *[("float32x2", "int64"), ("uint64", "float32x2"), ("float16x2", "uint32"), ("int32", "bfloat16x2")],
        *[("int8x8", "float16x4"), ("float32x2", "uint8x8"), ("uint16x4", "int32x2"), ("float8_e5m2x4", "float32")],
    ],
)
def test_bits_as_other_vectors(target, source, to):
    kinds = DType(source), DType(to)
    elements, lanes = [str(kind.element) for kind in kinds], [kind.lanes for kind in kinds]
    n = 12

    @T.prim_func
    def kernel(X: T.Tensor((n, lanes[0]), elements[0]), Y: T.Tensor((n, lanes[1]), elements[1])):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                value = X[i, T.Ramp(0, 1, lanes[0])] if lanes[0] > 1 else X[i, 0]
                if lanes[1] > 1:
                    Y[i, 0 : lanes[1]] = T.reinterpret(value, to)
                else:
                    Y[i, 0] = T.reinterpret(value, to)

    raw = every_value(elements[0])
    x = np.resize(raw[np.random.default_rng(3).permutation(len(raw))], (n, lanes[0]))
    y = check(kernel, target, x, zeros(elements[1], (n, lanes[1])))[1]
    np.testing.assert_array_equal(y.view("uint8"), x.view("uint8"))


def test_vectors_of_4_bit_floats(target):
    """Two lanes lie in a byte: a tensor of float4_e2m1fnx2 has a byte for each element."""
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], "float32")

    @T.prim_func
    def kernel(
        X: T.Tensor((256,), "float4_e2m1fnx2"), Y: T.Tensor((256, 2), "float32"), Z: T.Tensor((256,), "float4_e2m1fnx2")
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(256):
                Y[i, T.Ramp(0, 1, 2)] = T.cast(X[i], "float32x2")
            for i in T.Parallel(256):
                Z[i] = T.cast(Y[i, T.Ramp(0, 1, 2)] * 2, "float4_e2m1fnx2")

    raw = np.arange(256, dtype="uint8")
    y, z = check(kernel, target, raw, zeros("float32", (256, 2)), np.zeros(256, "uint8"))[1:]
    pairs = np.stack([values[raw & 15], values[raw >> 4]], axis=-1)
    np.testing.assert_array_equal(y, pairs)
    doubled = (pairs * 2).astype(ml_dtypes.float4_e2m1fn).astype("float32")
    np.testing.assert_array_equal(np.stack([values[z & 15], values[z >> 4]], axis=-1), np.clip(doubled, -6, 6))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_packed_arithmetic(target, dtype):
    @T.prim_func
    def kernel(
        A: T.Tensor((64,), dtype), B: T.Tensor((64,), dtype), C: T.Tensor((64,), dtype), Y: T.Tensor((7, 64), dtype)
    ):
        with T.Kernel(1, threads=32):
            i = T.Ramp(T.get_thread_binding() * 2, 1, 2)
            Y[0, i] = T.add2(A[i], B[i])
            Y[1, i] = T.sub2(A[i], B[i])
            Y[2, i] = T.mul2(A[i], B[i])
            Y[3, i] = T.max2(A[i], B[i])
            Y[4, i] = T.min2(A[i], B[i])
            Y[5, i] = T.fma2(A[i], B[i], C[i])
            Y[6, i] = T.abs2(A[i])

    a, b, c = (np.round(sample("float32", 64, seed) * 2).astype(dtype) for seed in range(3))  # the results are exact
    y = check(kernel, target, a, b, c, zeros(dtype, (7, 64)))[3]
    wide = [value.astype("float64") for value in (a, b, c)]
    sums = [wide[0] + wide[1], wide[0] - wide[1], wide[0] * wide[1]]
    others = [np.maximum(a, b), np.minimum(a, b), (wide[0] * wide[1] + wide[2]).astype(a.dtype), np.abs(a)]
    np.testing.assert_array_equal(y, np.stack([*(value.astype(a.dtype) for value in sums), *others]))


def test_accesses_of_a_width(target):
    """32 to 256 bits of global and shared memory, masked ones, and rows whose alignment is not known when compiling."""
    n = T.dynamic("n")

    @T.prim_func
    def kernel(
        X: T.Tensor((8, n), "float32"), Y: T.Tensor((8, n), "float32"), H: T.Tensor((512,), "float16"),
        G: T.Tensor((512,), "float16"), P: T.Tensor((32, 4), "float32"),
    ):  # fmt: skip
        with T.Kernel(8, threads=32) as row:
            t = T.get_thread_binding()
            shared = T.alloc_shared((64,), "float32")
            if t * 4 < n:
                T.stg128(Y[row, t * 4], T.ldg128(X[row, t * 4]))
            if row == 0:
                T.stg64(P[t, 2:4], T.ldg64(H[t * 4], pred=t < 20), pred=t >= 4)
                bits = T.ldg256(H[t * 16 : t * 16 + 16])
                T.stg256(G[t * 16], bits)
                T.sts32(shared[t], T.reinterpret(T.__ldg(X[0, t % n]), T.uint32))
                T.sts32(shared[t + 32], T.ldg32(H[t * 2]))
                T.sync_threads()
                T.stg32(P[t, 0], T.lds32(shared[63 - t]))
                P[t, 1] = T.reinterpret(T.extract_lane(T.lds64(shared[t // 2 * 2]), 1), "float32")

    h = sample("float16", 512)
    for size in (20, 32):
        x = sample("float32", (8, size))
        y, _, g, p = check(
            kernel, target, x, zeros("float32", (8, size)), h, zeros("float16", 512), np.full((32, 4), 9, "float32")
        )[1:]
        np.testing.assert_array_equal(y, x)
        np.testing.assert_array_equal(g, h)
        words = h.view("float32")
        pairs = np.where(np.arange(32)[:, None] < 20, words.reshape(-1, 2)[:32], 0)
        expected = np.where(np.arange(32)[:, None] >= 4, pairs, 9).astype("float32")
        np.testing.assert_array_equal(p[:, 2:].view("uint32"), expected.view("uint32"))
        np.testing.assert_array_equal(p[:, 0].view("uint32"), words[31::-1].view("uint32"))
        np.testing.assert_array_equal(p[:, 1], np.repeat(x[0, np.arange(32) % size][1::2], 2))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_atomic_additions_of_vectors(target, dtype):
    @T.prim_func
    def kernel(
        X: T.Tensor((4,), dtype), V: T.Tensor((32, 8), dtype), P: T.Tensor((12,), dtype), Z: T.Tensor((4,), dtype)
    ):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            T.atomic_addx4(X, V[t, 0:4])
            T.atomic_addx2(X[1], V[t, T.Ramp(5, -1, 2)])
            if t == 0:
                P[0:4] = T.atomic_addx4(Z[0:4], V[3, 0:4], return_prev=True)
                P[4:6] = T.atomic_addx2(
                    Z[T.Ramp(2, 1, 2)], V[5, 2:4] if dtype == "float16" else V[5, 2], return_prev=True
                )
                T.atomic_addx2(Z[0], V[6, 6])

    v = np.round(sample("float32", (32, 8)) * 2).astype(dtype)  # sums are exact
    x, z = np.array([1, 2, 3, 4], dtype), np.array([8, 4, 2, 1], dtype)
    x1, _, p, z1 = check(kernel, target, x, v, zeros(dtype, 12), z)
    total = v.astype("float64").sum(0)
    np.testing.assert_array_equal(x1, x + total[:4] + np.array([0, total[5], total[4], 0]))
    np.testing.assert_array_equal(p[:6], [*z, *(z + v[3, :4])[2:]])
    np.testing.assert_array_equal(z1, z + v[3, :4] + np.array([*v[6, 6:], *v[5, 2:4]]))


def test_slices_by_iterations_and_threads(target):
    """A slice that an iteration or a thread stores is its own vector; the last rows are outside and are not written."""

    @T.prim_func
    def kernel(X: T.Tensor((21, 6), "float32"), Y: T.Tensor((21, 6), "float32"), Z: T.Tensor((32, 3), "int32")):
        with T.Kernel(3, threads=32) as b:
            for i in T.Parallel(8):
                Y[b * 8 + i, 1:5] = X[b * 8 + i, 0:4]
            t = T.get_thread_binding()
            if b == 0:
                Z[t, 0:3] = t

    x = sample("float32", (21, 6))
    y, z = check(kernel, target, x, np.ones((21, 6), "float32"), zeros("int32", (32, 3)))[1:]
    np.testing.assert_array_equal(
        y, np.concatenate([np.ones((21, 1)), x[:, :4], np.ones((21, 1))], axis=1, dtype="float32")
    )
    np.testing.assert_array_equal(z, np.repeat(np.arange(32)[:, None], 3, axis=1))


def test_dot_products_of_four_bytes_in_memory(target):
    """T.dp4a adds to an element of int32: of elements, slices, buffers and vectors of int8."""
    n = 8

    @T.prim_func
    def kernel(
        A: T.Tensor((n, 16), "int8"),
        B: T.Tensor((n, 16), "int8"),
        V: T.Tensor((n,), "int8x4"),
        C: T.Tensor((n,), "int32"),
        D: T.Tensor((3, n), "int32"),
    ):
        with T.Kernel(n) as block:
            total = T.alloc_fragment((1,), "int32")
            row, four = T.alloc_shared((16,), "int8"), T.alloc_shared((4,), "int8")
            total[0] = 5
            T.copy(A[block, :], row)
            for step in T.serial(4):
                T.copy(B[block, step * 4 : step * 4 + 4], four)
                T.dp4a(row[step * 4], four, total)
            C[block] = total[0]
            T.dp4a(A[block, 4:8], B[block, 8], D[0, block])
            T.dp4a(V[block], B[block, 0:4], D[1, block])
            T.dp4a(A[block, T.Ramp(12, 1, 4)], V[block], D[2, block])

    rng = np.random.default_rng(3)
    a, b, v = (rng.integers(-128, 128, (n, size), dtype=np.int8) for size in (16, 16, 4))
    a[0], b[0] = -128, -128
    results, sums = zeros("int32", n), np.arange(3 * n, dtype=np.int32).reshape(3, n)
    expected = sums + [
        (x.astype(np.int32) * y).sum(1) for x, y in ((a[:, 4:8], b[:, 8:12]), (v, b[:, :4]), (a[:, 12:], v))
    ]
    results, sums = check(kernel, target, a, b, v, results, sums)[3:]
    same(results, 5 + (a.astype(np.int32) * b).sum(1, dtype=np.int32))
    same(sums, expected.astype(np.int32))
