"""T.copy, T.transpose, slices, views: every pair of scopes, every way to name a tile, tails and bounds."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.language.buffers import SliceWarning

from .kit import DTYPES, check, compiled, element, needs_type, rerun, same, sample, zeros

ALLOCATORS = ["shared", "fragment", "local"]


def allocate(scope, shape, dtype):
    return {"shared": T.alloc_shared, "fragment": T.alloc_fragment, "local": T.alloc_local}[scope](shape, dtype)


@pytest.mark.parametrize("second", ALLOCATORS)
@pytest.mark.parametrize("first", ALLOCATORS)
def test_scopes(target, first, second):
    m, n = 5, 19

    @T.prim_func
    def kernel(X: T.Tensor((m, n), "float16"), Y: T.Tensor((m, n), "float32")):
        with T.Kernel(1):
            a = allocate(first, (m, n), "float16")
            b = allocate(second, (m, n), "float32")
            T.copy(X, a)
            T.copy(a, b)
            T.copy(b, Y)

    x = sample("float16", (m, n))
    _, y = check(kernel, target, x, zeros("float32", (m, n)))
    same(y, x.astype(np.float32))


@pytest.mark.parametrize("threads", [32, 128])
def test_squares_keep_their_rows(target, threads):
    """Rows and columns of as many elements, in every memory: nothing but the indices tells which is which."""
    n = 16

    @T.prim_func
    def kernel(X: T.Tensor((n, n), "float32"), Y: T.Tensor((3, n, n), "float32")):
        with T.Kernel(1, threads=threads):
            a, b = T.alloc_shared((n, n), "float32"), T.alloc_fragment((n, n), "float32")
            T.copy(X, a)
            for i, j in T.Parallel(n, n):
                Y[0, i, j] = a[i, j]
            T.copy(a, b)
            for i, j in T.Parallel(n, n):
                Y[1, i, j] = b[i, j] + 1
            T.copy(b, Y[2, :, :])

    x = np.arange(n * n, dtype=np.float32).reshape(n, n)
    _, y = check(kernel, target, x, zeros("float32", (3, n, n)))
    same(y, np.stack([x, x + 1, x]))


def test_parts_of_buffers_are_transposed(target):
    """Regions that begin inside of a buffer, on both sides, with axes in front."""

    @T.prim_func
    def kernel(X: T.Tensor((3, 12, 20), "float32"), Y: T.Tensor((2, 9, 11), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((10, 14), "float32")
            T.copy(X[1, 2:12, 5:19], tile)
            T.transpose(tile[1:8, 3:9], Y[0, 2:8, 4:11])
            T.transpose(X[2, 3:8, 11:15], Y[1, 5:9, 1:6])

    x = sample("float32", (3, 12, 20))
    _, y = check(kernel, target, x, zeros("float32", (2, 9, 11)))
    same(y[0, 2:8, 4:11], x[1, 3:10, 8:14].T)
    same(y[1, 5:9, 1:6], x[2, 3:8, 11:15].T)


@pytest.mark.parametrize("dtype", DTYPES)
def test_moves_of_every_element_type(target, dtype):
    """Whole, by slices, through a transposed view of the caller, turned, and masked at the far end."""
    m, n = 13, 22

    @T.prim_func
    def kernel(
        X: T.Tensor((m, n), dtype),
        S: T.StridedTensor((m, n), (1, m), dtype),
        Y: T.Tensor((m, n), dtype),
        Z: T.Tensor((n, m), dtype),
        W: T.Tensor((m, n), dtype),
        V: T.Tensor((2, m, n), dtype),
    ):
        with T.Kernel(T.ceildiv(n, 8), T.ceildiv(m, 4)) as (bx, by):
            tile = T.alloc_shared((4, 8), dtype)
            turned = T.alloc_fragment((8, 4), dtype)
            T.copy(X[by * 4, bx * 8], tile)
            T.copy(tile, Y[by * 4 : by * 4 + 4, bx * 8 : bx * 8 + 8])
            T.transpose(tile, turned)
            T.copy(turned, Z[bx * 8, by * 4])
            T.copy(S[by * 4, bx * 8], tile)
            T.copy(tile, W[by * 4, bx * 8])
            for i, j in T.Parallel(4, 8):
                V[1, by * 4 + i, bx * 8 + j] = tile[i, j]

    x, s = sample(dtype, (m, n), 1), sample(dtype, (n, m), 2).T
    _, _, y, z, w, v = check(
        kernel, target, x, s, *(zeros(dtype, shape) for shape in ((m, n), (n, m), (m, n), (2, m, n)))
    )
    same(y, x)
    same(z, x.T)
    same(w, s)
    same(v[1], s)
    same(v[0], zeros(dtype, (m, n)))


def test_ways_to_name_a_tile(target):
    """Slices with open ends, negative indices, elements as starts, unit axes, ellipsis, assignment of slices."""

    @T.prim_func
    def kernel(
        X: T.Tensor((3, 4, 5, 6), "float32"), Y: T.Tensor((16, 6), "float32"), Z: T.Tensor((3, 4, 5, 6), "float32")
    ):
        with T.Kernel(1):
            row = T.alloc_fragment((6,), "float32")
            matrix = T.alloc_shared((5, 6), "float32")
            cube = T.alloc_shared((1, 2, 1, 6), "float32")
            T.copy(X[0, 1, 2, :], row)
            T.copy(row, Y[0, :])
            T.copy(X[1, 2], matrix)
            T.copy(matrix[1:, 2:5], Y[1:5, 0:3])
            T.copy(matrix[-1, :], Y[5, :])
            T.copy(X[2, 1:3, 4, :], cube)
            T.copy(cube[0, :, 0, :], Y[6:8, :])
            T.copy(X[0, 0, ..., 3], Y[8, 0:5])
            T.copy(X[0:3, 0, 0, 0], Y[9, 0:3])
            Y[10, :] = X[1, 1, 1, :]
            Y[11:13, 1:4] = matrix[0:2, 0:3]
            Y[13, 2:4] = 7
            T.copy(X[2, 3, 3:5, 1:6], Y[14:16, 1:6])
            T.copy(X[:, 3], Z[:, 0])
            T.copy(X[1, 0, 0, 0], Z[2, 3, 4, 5])

    x = sample("float32", (3, 4, 5, 6))
    _, y, z = check(kernel, target, x, zeros("float32", (16, 6)), zeros("float32", (3, 4, 5, 6)))
    same(y[0], x[0, 1, 2])
    same(y[1:5, :3], x[1, 2, 1:, 2:5])
    same(y[5], x[1, 2, -1])
    same(y[6:8], x[2, 1:3, 4])
    same(y[8, :5], x[0, 0, :, 3])
    same(y[9, :3], x[:, 0, 0, 0])
    same(y[10], x[1, 1, 1])
    same(y[11:13, 1:4], x[1, 2, 0:2, 0:3])
    assert y[13].tolist() == [0, 0, 7, 7, 0, 0]
    same(y[14:, 1:], x[2, 3, 3:5, 1:])
    same(z[:, 0], x[:, 3])
    assert z[2, 3, 4, 5] == x[1, 0, 0, 0]


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_any_number_of_axes_with_tails(target, axes):
    shape = (7, 5, 3, 9)[4 - axes :]
    tile = (4, 2, 2, 4)[4 - axes :]
    blocks = [-(-s // t) for s, t in zip(shape, tile, strict=True)]
    while len(blocks) > 3:
        blocks[:2] = [blocks[0] * blocks[1]]

    @T.prim_func
    def kernel(X: T.Tensor(shape, "int32"), Y: T.Tensor(shape, "int32")):
        with T.Kernel(*blocks) as block:
            where = list(block) if isinstance(block, tuple) else [block]
            if axes == 4:
                where = [where[0] // 3, where[0] % 3, *where[1:]]
            start = tuple(b * t for b, t in zip(where, tile, strict=True))
            part = T.alloc_shared(tile, "int32")
            T.copy(X[start], part)
            T.copy(part, Y[start])

    x = sample("int32", shape)
    _, y = check(kernel, target, x, zeros("int32", shape))
    same(y, x)


def test_outside_the_bounds_reads_are_zero_and_writes_are_dropped(target):
    """Before the start, past the end, and in the middle of a vector."""

    @T.prim_func
    def kernel(X: T.Tensor((10, 21), "float32"), Y: T.Tensor((14, 24), "float32"), Z: T.Tensor((10, 21), "float32")):
        with T.Kernel(3) as b:
            tile = T.alloc_shared((14, 24), "float32")
            for i, j in T.Parallel(14, 24):
                tile[i, j] = X[i - 2, j - 1]
            if b == 0:
                T.copy(tile, Y)
                for i, j in T.Parallel(14, 24):
                    Z[i - 2, j - 1] = tile[i, j] + 1

    x = sample("float32", (10, 21))
    _, y, z = check(kernel, target, x, zeros("float32", (14, 24)), zeros("float32", (10, 21)))
    expected = np.zeros((14, 24), np.float32)
    expected[2:12, 1:22] = x
    same(y, expected)
    same(z, x + 1)


def test_safe_values(target):
    @T.prim_func
    def kernel(X: T.Tensor((5,), "float32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            T.annotate_safe_value({X: -3.5})
            tile = T.alloc_fragment((8,), "float32")
            T.copy(X[0:8], tile)
            T.copy(tile, Y)

    x = sample("float32", 5)
    _, y = check(kernel, target, x, zeros("float32", 8))
    same(y[5:], np.full(3, -3.5, np.float32))


def test_strided_tensors(target):
    """Rows with gaps, columns apart, axes turned round, one row for all; strides known and only at the call."""
    step = T.dynamic("step")

    @T.prim_func
    def kernel(
        A: T.StridedTensor((4, 6), (10, 1), "float32"),
        B: T.StridedTensor((4, 6), (1, 4), "float32"),
        C: T.StridedTensor((4, 6), (0, 1), "float32"),
        D: T.StridedTensor((4, 6), (step, 3), "float32"),
        Y: T.Tensor((4, 4, 6), "float32"),
        Z: T.StridedTensor((4, 6), (2, 9), "float32"),
    ):
        with T.Kernel(1):
            T.copy(A, Y[0, :, :])
            T.copy(B, Y[1])
            for i, j in T.Parallel(4, 6):
                Y[2, i, j] = C[i, j]
            T.copy(D[0:4, 0:6], Y[3, :, :])
            T.copy(A, Z)

    a, b = sample("float32", (4, 10))[:, 2:8], sample("float32", (6, 4), 1).T
    c = np.broadcast_to(sample("float32", (1, 6), 2), (4, 6))
    d = sample("float32", (4, 25), 3)[:, 1:19:3]
    z = zeros("float32", 64)[: 6 * 9 + 8].reshape(-1)
    z = np.lib.stride_tricks.as_strided(z, (4, 6), (8, 36))
    got_y, got_z = zeros("float32", (4, 4, 6)), z
    compiled(kernel, target)(a, b, c, d, got_y, got_z)
    same(got_y, np.stack([a, b, c, d]))
    same(got_z, a)


def test_sizes_known_at_the_call_in_shapes_and_strides(target):
    """Each gets its own value, wherever it stands."""
    a, b, n = T.dynamic("a b n")

    @T.prim_func
    def kernel(
        X: T.StridedTensor((3, 4), (a, b), "float32"), Y: T.Tensor((n, 4), "float32"), Z: T.Tensor((3,), "int32")
    ):
        with T.Kernel(1):
            for i, j in T.Parallel(n, 4):
                Y[i, j] = X[i % 3, j] * n
            Z[0], Z[1], Z[2] = a, b, n

    x = sample("float32", (4, 3)).T
    _, y, z = check(kernel, target, x, zeros("float32", (5, 4)), zeros("int32", 3))
    same(y, x[[0, 1, 2, 0, 1]] * 5)
    assert z.tolist() == [1, 3, 5]


def test_views_of_one_memory(target):
    """T.reshape and T.view in each scope; writes through one are seen through the other."""

    @T.prim_func
    def kernel(
        X: T.Tensor((6, 8), "float32"),
        Y: T.Tensor((8, 6), "float32"),
        W: T.Tensor((48,), "int32"),
        B: T.Tensor((6, 16), "uint16"),
    ):
        with T.Kernel(1):
            tile = T.alloc_shared((6, 8), "float32")
            flat = T.reshape(tile, (48,))
            other = T.reshape(flat, (8, 6))
            bits = T.view(tile, (48,), "int32")
            halves = T.view(tile, dtype="uint16")
            T.copy(X, tile)
            for i in T.Parallel(48):
                flat[i] = flat[i] * 2
            T.copy(other, Y)
            T.copy(bits, W)
            for i, j in T.Parallel(6, 16):
                B[i, j] = halves[i, j]
            for i, j in T.Parallel(6, 8):
                tile[i, j] = 1

    x = sample("float32", (6, 8))
    _, y, w, b = check(kernel, target, x, zeros("float32", (8, 6)), zeros("int32", 48), zeros("uint16", (6, 16)))
    same(y, (x * 2).reshape(8, 6))
    same(w, (x * 2).view(np.int32).reshape(-1))
    same(b, (x * 2).view(np.uint16))


def test_views_of_parameters(target):
    n = T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((n, 4), "float32"), Y: T.Tensor((4 * n,), "float32")):
        with T.Kernel(1):
            flat = T.reshape(X, (n * 4,))
            rows = T.view(Y, (n, 4))
            for i in T.serial(n):
                for j in T.Parallel(4):
                    rows[i, j] = flat[i * 4 + 3 - j]

    kernel_ = compiled(kernel, target)
    for size in (0, 1, 7):
        x = sample("float32", (size, 4), size)
        _, y = rerun(kernel_, kernel, x, zeros("float32", 4 * size))
        same(y.reshape(size, 4), x[:, ::-1])


@pytest.mark.parametrize("form", ["direct", "named", "guarded"])
def test_pages_that_a_table_names(target, form):
    """The place of a copy in a pipelined loop is read from a tensor."""

    @T.prim_func
    def kernel(X: T.Tensor((8, 16, 32), "float16"), Table: T.Tensor((6,), "int32"), Y: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=32):
            s, y = T.alloc_shared((16, 32), "float16"), T.alloc_fragment((16, 16), "float32")
            T.clear(y)
            for k in T.Pipelined(6, num_stages=3):
                if form == "direct":
                    T.copy(X[Table[k], :, :], s)
                else:
                    page = Table[k] if form == "named" else T.if_then_else(k < 5, Table[k], 4)
                    T.copy(X[page, :, :], s)
                T.gemm(s, s, y, transpose_B=True)
            T.copy(y, Y)

    x = np.random.default_rng(0).integers(-4, 5, (8, 16, 32)).astype(np.float16)  # sums are exact
    table = np.array([3, 1, 7, 0, 2, 4], np.int32)
    *_, y = check(kernel, target, x, table, zeros("float32", (16, 16)))
    wide = x.astype(np.float32)[table]
    same(y, np.einsum("pik,pjk->ij", wide, wide))


def test_views_before_the_kernels(target):
    """T.reshape and T.view of tensors and workspaces, and of views, shared by two kernels and by a copy."""
    n = T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((n, 10), "float32"), Y: T.Tensor((n * 10,), "float32"), B: T.Tensor((n, 10), "int32")):
        W = T.alloc_global((n, 5, 2), "float32")
        x, w = T.reshape(X, (n * 10,)), T.view(W, (n, 10))
        flat = T.reshape(w, (n * 10,))
        bits = T.view(w, dtype="int32")
        with T.Kernel(T.ceildiv(n * 10, 32), threads=32) as b:
            for i in T.Parallel(32):
                flat[b * 32 + i] = x[b * 32 + i] + 1
        with T.Kernel(T.ceildiv(n, 4), threads=32) as b:
            tile = T.alloc_shared((4, 10), "int32")
            T.copy(bits[b * 4, 0], tile)
            T.copy(tile, B[b * 4, 0])
            for i in T.Parallel(40):
                Y[b * 40 + i] = flat[b * 40 + i] * x[b * 40 + i]

    x = sample("float32", (7, 10))
    y, bits = check(kernel, target, x, zeros("float32", 70), zeros("int32", (7, 10)))[1:]
    np.testing.assert_array_equal(y, (x + np.float32(1)).ravel() * x.ravel())
    np.testing.assert_array_equal(bits.view("float32"), x + np.float32(1))


def test_a_copy_within_one_buffer_reads_before_it_writes(target):
    """Source and destination overlap."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32"), M: T.Tensor((8, 8), "int32")):
        with T.Kernel(1):
            tile = T.alloc_shared((64,), "int32")
            T.copy(X, tile)
            T.copy(tile[0:60], tile[3:63])
            T.copy(tile, Y)
            square = T.alloc_shared((8, 8), "int32")
            T.copy(M, square)
            T.transpose(square, square)
            T.copy(square, M)

    x, m = np.arange(64, dtype=np.int32), sample("int32", (8, 8))
    _, y, turned = check(kernel, target, x, zeros("int32", 64), m)
    same(y, np.concatenate([x[:3], x[:60], x[63:]]))
    same(turned, m.T)


def test_other_operations_within_one_buffer_read_before_they_write(target):
    """A product into its own operand, row sums into the matrix."""

    @T.prim_func
    def kernel(
        M: T.Tensor((8, 8), "float32"),
        P: T.Tensor((8, 8), "float32"),
        S: T.Tensor((8, 8), "float32"),
    ):
        with T.Kernel(1):
            a = T.alloc_shared((8, 8), "float32")
            T.copy(M, a)
            T.gemm(a, a, a, clear_accum=True)
            T.copy(a, P)
            T.copy(M, a)
            T.reduce_sum(a, a[:, 2:3], dim=1)
            T.copy(a, S)

    m = sample("int32", (8, 8)).astype(np.float32)
    _, p, s = check(kernel, target, m, *[zeros("float32", (8, 8))] * 2)
    same(p, m @ m)
    same(s, np.concatenate([m[:, :2], m.sum(1)[:, None], m[:, 3:]], 1))


def test_a_copy_between_overlapping_views_reads_before_it_writes(target):
    @T.prim_func
    def kernel(M: T.Tensor((8, 8), "float32"), V: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((8, 8), "float32")
            flat = T.reshape(a, (64,))
            rows = T.reshape(flat, (8, 8))
            T.copy(M, a)
            T.copy(rows[0:4, :], a[1:5, :])
            T.copy(flat, V)

    m = sample("float32", (8, 8))
    _, v = check(kernel, target, m, zeros("float32", 64))
    same(v.reshape(8, 8), np.concatenate([m[:1], m[:4], m[5:]]))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn", "int8", "uint64", "bool"])
def test_fill_and_clear(target, dtype):
    value = 1 if dtype == "bool" else 3

    @T.prim_func
    def kernel(V: T.Tensor((3,), dtype), Y: T.Tensor((6, 5, 21), dtype)):
        with T.Kernel(1):
            tile = T.alloc_fragment((5, 21), dtype)
            T.fill(tile, value)
            T.copy(tile, Y[0])
            T.fill(tile[1:3, 2:20], V[1])
            T.copy(tile, Y[1])
            T.clear(tile)
            T.copy(tile, Y[2])
            T.fill(Y[3], value)
            T.fill(Y[4, 2, :], V[2])
            single = T.alloc_local((1,), dtype)
            T.fill(single, value)
            Y[5, 0, 0] = single[0]
            var = T.alloc_var(dtype, init=0)
            T.fill(var, value)
            Y[5, 0, 1] = var

    v = sample(dtype, 3, 5)
    _, y = check(kernel, target, v, zeros(dtype, (6, 5, 21)))
    three = element(dtype).type(value)
    assert (y[0] == three).all()
    assert (y[1, 1:3, 2:20] == v[1]).all()
    assert (y[2] == element(dtype).type(0)).all()
    assert (y[4, 2] == v[2]).all()
    assert y[5, 0, 0] == y[5, 0, 1] == three


@pytest.mark.parametrize("size", [1, 20, 33, 40])
def test_a_condition_around_an_element_outside_of_the_bounds(target, size):
    """Where the condition holds and there is no such element it is 0; the other value is for where it does not hold."""

    @T.prim_func
    def kernel(A: T.Tensor((size,), "float32"), Y: T.Tensor((48,), "float32"), Z: T.Tensor((48,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(48):
                Y[i] = T.if_then_else(i < 33, A[i], 1.0) * 2.0
            for i in T.Parallel(48):
                Z[i] = T.if_then_else(i > 2, T.if_then_else(i < 33, A[i], 1.0), 3.0)

    check(kernel, target, sample("float32", size), zeros("float32", 48), zeros("float32", 48))


@pytest.mark.parametrize("place", ["shared", "fragment", "global"])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 1, 3, 4, 5), (2, 3, 1), (2, 1, 3), (4, 1)])
def test_transpose_of_the_last_two_axes(target, shape, place):
    turned = (*shape[:-2], shape[-1], shape[-2])

    @T.prim_func
    def kernel(A: T.Tensor(shape, "float32"), B: T.Tensor(turned, "float16")):
        with T.Kernel(1, threads=64):
            if place == "global":
                T.transpose(A, B)
            else:
                src = T.alloc_shared(shape, "float32")
                dst = T.alloc_shared(turned) if place == "shared" else T.alloc_fragment(turned)
                T.copy(A, src)
                T.transpose(src, dst)
                T.copy(dst, B)

    needs_type(target, "float16")
    a = sample("float32", shape)
    b = check(kernel, target, a, zeros("float16", turned))[1]
    same(b, np.swapaxes(a, -1, -2).astype(np.float16))


def test_transpose_at_the_end_of_tensors(target):
    """What lies outside of a tensor reads as 0 and is not stored, also where nothing lies inside."""

    with pytest.warns(SliceWarning, match="lies outside the axis"):

        @T.prim_func
        def kernel(A: T.Tensor((2, 3, 4), "float32"), B: T.Tensor((4, 2, 4, 3), "float32")):
            with T.Kernel(1, threads=64):
                T.fill(B, -1.0)
                T.transpose(A[0:2, 0:3, 0:4], B[0, 0:2, 0:4, 1:4])
                T.transpose(A[0:2, 1:4, 0:4], B[1, 0:2, 0:4, 0:3])
                T.transpose(A[0:2, 0:3, 4:5], B[2, 0:2, 0:1, 0:3])
                T.transpose(A[0:2, 0:3, 0:1], B[3, 0:2, 4:5, 0:3])

    a = sample("float32", (2, 3, 4))
    b = check(kernel, target, a, zeros("float32", (4, 2, 4, 3)))[1]
    expected = np.full((4, 2, 4, 3), -1, np.float32)
    expected[0, :, :, 1:] = a[:, :2].swapaxes(1, 2)
    expected[1] = np.pad(a[:, 1:], ((0, 0), (0, 1), (0, 0))).swapaxes(1, 2)
    expected[2, :, 0] = 0
    same(b, expected)
