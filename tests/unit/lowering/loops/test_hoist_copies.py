"""The pass hoist_copies: which copies move out of the grid, and that results stay."""

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.lowering.loops import hoist_copies, register_tiles

from .cpu_kit import copies, whole_numbers


@pytest.fixture(autouse=True)
def small_tiles_count(monkeypatch):
    """Copies of tests are small, and A is not read in place; compiled kernels are not kept, as neither is part of their
    keys."""
    monkeypatch.setattr(hoist_copies, "LEAST_BYTES", 1)
    monkeypatch.setattr(register_tiles, "MOST_ROWS_OF_SET", 0)
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")


def hoisted(func):
    """The tensors whose copies move out of the grid."""
    return copies(func, "hoisted")


def product(M, N, K, bm, bn, bk, kinds=("float32", "float32"), transposed=(False, False), stages=2):
    kind, total = kinds
    a_shape, b_shape = ((K, M) if transposed[0] else (M, K)), ((N, K) if transposed[1] else (K, N))
    a_tile, b_tile = ((bk, bm) if transposed[0] else (bm, bk)), ((bn, bk) if transposed[1] else (bk, bn))

    @T.prim_func
    def kernel(A: T.Tensor(a_shape, kind), B: T.Tensor(b_shape, kind), C: T.Tensor((M, N), total)):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm)) as (bx, by):
            a, b = T.alloc_shared(a_tile, kind), T.alloc_shared(b_tile, kind)
            c = T.alloc_fragment((bm, bn), total)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
                if transposed[0]:
                    T.copy(A[k * bk, by * bm], a)
                else:
                    T.copy(A[by * bm, k * bk], a)
                if transposed[1]:
                    T.copy(B[bx * bn, k * bk], b)
                else:
                    T.copy(B[k * bk, bx * bn], b)
                T.gemm(a, b, c, transpose_A=transposed[0], transpose_B=transposed[1])
            T.copy(c, C[by * bm, bx * bn])

    return kernel


SHAPES = [
    ((64, 96, 64), (32, 32, 32)),
    ((70, 33, 40), (32, 32, 16)),  # tails along all axes
    ((1, 64, 32), (1, 16, 32)),
    ((17, 100, 13), (17, 50, 13)),
    ((56, 64, 128), (28, 32, 64)),
    ((29, 31, 37), (16, 16, 16)),
    ((128, 64, 128), (64, 32, 128)),
]
KINDS = [
    ("float32", "float32"), ("float16", "float32"), ("bfloat16", "float32"), ("int8", "int32"), ("uint8", "int32"),
    ("float64", "float64"), ("float8_e4m3", "float32"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "tile"), SHAPES, ids=str)
@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: kinds[0])
def test_products_are_right(shape, tile, kinds):
    rng = np.random.default_rng(0)
    m, n, k = shape
    if kinds[0] == "uint8":
        a, b = (rng.integers(0, 9, s).astype(np.uint8) for s in ((m, k), (k, n)))
    else:
        a, b = whole_numbers(rng, (m, k), kinds[0]), whole_numbers(rng, (k, n), kinds[0])
    c = np.full((m, n), 7, T.dtype(kinds[1]).as_numpy())
    tilecore.compile(product(*shape, *tile, kinds), target="cpu")(a, b, c)
    np.testing.assert_array_equal(c, a.astype(c.dtype) @ b.astype(c.dtype))


@pytest.mark.parametrize("transposed", [(False, True), (True, False), (True, True)], ids=str)
@pytest.mark.parametrize("kinds", KINDS[:4], ids=lambda kinds: kinds[0])
@pytest.mark.parametrize(("shape", "tile"), [SHAPES[0], SHAPES[1], SHAPES[5]], ids=str)
def test_transposed_products_are_right(shape, tile, kinds, transposed):
    rng = np.random.default_rng(1)
    m, n, k = shape
    a = whole_numbers(rng, (k, m) if transposed[0] else (m, k), kinds[0])
    b = whole_numbers(rng, (n, k) if transposed[1] else (k, n), kinds[0])
    c = np.zeros((m, n), T.dtype(kinds[1]).as_numpy())
    tilecore.compile(product(*shape, *tile, kinds, transposed), target="cpu")(a, b, c)
    left, right = a.astype(c.dtype), b.astype(c.dtype)
    np.testing.assert_array_equal(c, (left.T if transposed[0] else left) @ (right.T if transposed[1] else right))


def test_tiles_that_several_blocks_copy_are_hoisted():
    assert hoisted(product(64, 96, 64, 32, 32, 32)) == ["A", "B"]
    assert hoisted(product(64, 32, 64, 32, 32, 32)) == ["B"], "one column of blocks: each block has its own rows of A"
    assert hoisted(product(32, 96, 64, 32, 32, 32)) == ["A"]
    assert hoisted(product(32, 32, 64, 32, 32, 32)) == []


@pytest.mark.parametrize(("shape", "tile", "parts"), [
    ((64, 96, 64), (32, 32, 64), (2, 4)),  # of 16 rows
    ((64, 96, 64), (40, 32, 64), (2, 4)),  # 40 rows: 2 x 20
    ((66, 99, 62), (33, 33, 31), (1, 1)),  # no part has a multiple of 4 rows
    ((256, 64, 256), (32, 32, 32), (1, 2)),  # 64 tiles of A are enough
], ids=str)  # fmt: skip
def test_few_tiles_are_divided_among_more_blocks(shape, tile, parts):
    """So that many threads share the copies. parts: of a tile of A, and of B."""
    m, n, k = shape
    kernel = tilecore.compile(product(*shape, *tile), target="cpu")
    of_a, of_b, _ = (int(np.prod(entry.grid)) for entry in kernel.artifact.entries)
    steps = -(-k // tile[2])
    assert of_a == parts[0] * steps * -(-m // tile[0])
    assert of_b == parts[1] * steps * -(-n // tile[1])
    rng = np.random.default_rng(3)
    a, b = whole_numbers(rng, (m, k), "float32"), whole_numbers(rng, (k, n), "float32")
    c = np.zeros((m, n), np.float32)
    kernel(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_small_tensors_are_copied_by_each_block(monkeypatch):
    monkeypatch.setattr(hoist_copies, "LEAST_BYTES", 1 << 15)
    assert hoisted(product(64, 96, 64, 32, 32, 32)) == []


def test_tensors_that_would_take_too_much_memory_are_copied_by_each_block(monkeypatch):
    monkeypatch.setattr(hoist_copies, "MOST_BYTES", 64 * 64 * 4)
    assert hoisted(product(64, 96, 64, 32, 32, 32)) == ["A"]


def varied(case):
    """A product of A [64, 64] and B [64, 64] with something that keeps a copy in its place."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32"),
        P: T.Tensor((4,), "int32"), S: T.Tensor((64, 64), "float32"), N: T.int32,
    ):  # fmt: skip
        with T.Kernel(2, 2) as (bx, by):
            a, b = T.alloc_shared((32, 32), "float32"), T.alloc_shared((32, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for k in T.serial(2):
                if case == "conditional":
                    if by < N:
                        T.copy(B[k * 32, bx * 32], b)
                elif case == "from a table":
                    T.copy(B[P[k] * 32, bx * 32], b)
                elif case == "from an argument":
                    T.copy(B[N * 32, bx * 32], b)
                else:
                    T.copy(B[k * 32, bx * 32], b)
                T.copy(A[by * 32, k * 32], a)
                if case == "changed":
                    for i, j in T.Parallel(32, 32):
                        b[i, j] = b[i, j] * 2
                if case == "read":
                    S[by * 32, bx * 32] = b[1, 2]
                if case == "copied twice":
                    T.copy(B[32 - k * 32, bx * 32], b)
                T.gemm(a, b, c)
                if case == "source written":
                    B[k * 32 + by, bx * 32] = 1
            T.copy(c, C[by * 32, bx * 32])

    return kernel


CASES = ["conditional", "from a table", "from an argument", "changed", "read", "copied twice", "source written"]


@pytest.mark.parametrize("case", CASES)
def test_copies_stay_where_their_tile_is_not_the_tensors(case):
    assert hoisted(varied(case)) == ["A"]
    assert hoisted(varied("")) == ["A", "B"]


@pytest.mark.parametrize("case", ["", *CASES[:-1]])
def test_variations_are_right(case):
    rng = np.random.default_rng(2)
    a, b = whole_numbers(rng, (64, 64), "float32"), whole_numbers(rng, (64, 64), "float32")
    table, seen = np.array([1, 0, 0, 0], np.int32), np.zeros((64, 64), np.float32)
    c = np.zeros((64, 64), np.float32)
    tilecore.compile(varied(case), target="cpu")(a, b, c, table, seen, 2 if case == "conditional" else 1)
    if case in ("from a table", "copied twice"):
        b = np.concatenate([b[32:], b[:32]])
    if case == "from an argument":
        b = np.concatenate([b[32:], b[32:]])
    np.testing.assert_array_equal(c, a @ (2 * b if case == "changed" else b))


def test_loops_that_do_not_start_at_zero_and_end_by_block():
    """Rows of blocks that see different numbers of tiles: the workspace has room for the most."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 96), "float32"), B: T.Tensor((96, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, 2) as (bx, by):
            a, b = T.alloc_shared((32, 32), "float32"), T.alloc_shared((32, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for k in T.serial(1, by + 2):
                T.copy(A[by * 32, k * 32], a)
                T.copy(B[k * 32, bx * 32], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 32, bx * 32])

    assert hoisted(kernel) == ["A", "B"]
    rng = np.random.default_rng(3)
    a, b = whole_numbers(rng, (64, 96), "float32"), whole_numbers(rng, (96, 64), "float32")
    c = np.zeros((64, 64), np.float32)
    tilecore.compile(kernel, target="cpu")(a, b, c)
    np.testing.assert_array_equal(c[:32], a[:32, 32:64] @ b[32:64])
    np.testing.assert_array_equal(c[32:], a[32:, 32:] @ b[32:])


def test_blocks_of_a_call_and_safe_values():
    """Grids that only the call knows do not count as repeats, and reads out of bounds keep their value."""

    M = T.dynamic("M")

    @T.prim_func
    def kernel(A: T.Tensor((M, 40), "float32"), B: T.Tensor((40, 64), "float32"), C: T.Tensor((M, 64), "float32")):
        with T.Kernel(2, T.ceildiv(M, 16)) as (bx, by):
            a, b = T.alloc_shared((16, 48), "float32"), T.alloc_shared((48, 32), "float32")
            c = T.alloc_fragment((16, 32), "float32")
            T.annotate_safe_value({B: 3.0})
            T.clear(c)
            T.copy(A[by * 16, 0], a)
            T.copy(B[0, bx * 32], b)
            T.gemm(a, b, c)
            T.copy(c, C[by * 16, bx * 32])

    rng = np.random.default_rng(4)
    for rows in (1, 16, 50):
        a, b = whole_numbers(rng, (rows, 40), "float32"), whole_numbers(rng, (40, 64), "float32")
        c = np.zeros((rows, 64), np.float32)
        tilecore.compile(kernel, target="cpu")(a, b, c)
        np.testing.assert_array_equal(c, a @ b)  # elements of A out of bounds are 0


@pytest.mark.parametrize(("rows", "names"), [(16, []), (32, ["W"])], ids=str)
def test_a_call_in_place_reads_the_old_values(rows, names):
    """A product that replaces its operand, a strip of rows a block. Of few rows W is read in place."""

    @T.prim_func
    def kernel(X: T.Tensor((64, 64), "float32"), W: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
        with T.Kernel(64 // rows) as by:
            x, w = T.alloc_shared((rows, 64), "float32"), T.alloc_shared((64, 64), "float32")
            y = T.alloc_fragment((rows, 64), "float32")
            T.copy(X[by * rows, 0], x)
            T.copy(W, w)
            T.gemm(x, w, y, clear_accum=True)
            T.copy(y, Y[by * rows, 0])

    assert hoisted(kernel) == names
    rng = np.random.default_rng(5)
    x, w = whole_numbers(rng, (64, 64), "float32"), whole_numbers(rng, (64, 64), "float32")
    expected = x @ w
    tilecore.compile(kernel, target="cpu")(x, w, x)
    np.testing.assert_array_equal(x, expected)


def test_kernels_one_after_another_see_each_others_results():
    """The copies of the second kernel run after the first one, which writes what they read."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(64) as row:
            for i in T.Parallel(64):
                B[row, i] = B[row, i] + 1
        with T.Kernel(2, 2) as (bx, by):
            a, b = T.alloc_shared((32, 64), "float32"), T.alloc_shared((64, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, 0], a)
            T.copy(B[0, bx * 32], b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C[by * 32, bx * 32])

    assert hoisted(kernel) == ["A", "B"]
    rng = np.random.default_rng(6)
    a, b = whole_numbers(rng, (64, 64), "float32"), whole_numbers(rng, (64, 64), "float32")
    expected, c = a @ (b + 1), np.zeros((64, 64), np.float32)
    tilecore.compile(kernel, target="cpu")(a, b, c)
    np.testing.assert_array_equal(c, expected)


def test_heads_that_share_keys_and_many_batches():
    """Grouped heads, three axes of the grid, and the operand's rows apart in memory."""

    @T.prim_func
    def kernel(
        Q: T.Tensor((2, 32, 4, 16), "float32"),
        K: T.Tensor((2, 24, 2, 16), "float32"),
        S: T.Tensor((2, 4, 32, 24), "float32"),
    ):
        with T.Kernel(2, 4, 2) as (bx, by, bz):
            q, k = T.alloc_shared((16, 16), "float32"), T.alloc_shared((24, 16), "float32")
            s = T.alloc_fragment((16, 24), "float32")
            T.copy(Q[bz, bx * 16 : bx * 16 + 16, by, :], q)
            T.copy(K[bz, :, by // 2, :], k)
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            T.copy(s, S[bz, by, bx * 16, 0])

    assert hoisted(kernel) == ["K"]
    rng = np.random.default_rng(7)
    q, k = whole_numbers(rng, (2, 32, 4, 16), "float32"), whole_numbers(rng, (2, 24, 2, 16), "float32")
    s = np.zeros((2, 4, 32, 24), np.float32)
    tilecore.compile(kernel, target="cpu")(q, k, s)
    np.testing.assert_array_equal(s, np.einsum("bqhd,bkhd->bhqk", q, np.repeat(k, 2, axis=2)))
