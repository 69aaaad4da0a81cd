"""vectorize_loops: which axis becomes vectors, how wide they are, what is left over, and why a loop stays scalar."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret
from tilecore.ir.nodes import Bind
from tilecore.ir.visit import collect

from ..kit import NARROW, agrees, lowered

N = T.dynamic("n")


def chosen(func, target=NARROW):
    """[(axis, lanes)] of the loops that became vectors, and the reasons of those that did not."""
    _, env = lowered(func, "vectorize_loops", target)
    vectors = [(row["axis"], row["lanes"]) for row in env.report.get("vectorized", [])]
    return vectors, [row["reason"] for row in env.report.get("not_vectorized", [])]


def table(store, shape=(16, 32), dtype="int32"):
    """``store(A, B, i, j)`` over a table."""

    @T.prim_func
    def kernel(A: T.Tensor(shape, dtype), B: T.Tensor(shape, dtype)):
        with T.Kernel(1):
            for i, j in T.Parallel(*shape):
                store(A, B, i, j)

    return kernel


@T.macro
def as_it_is(A, B, i, j):
    B[i, j] = A[i, j] + 1


@T.macro
def doubled(A, B, i, j):
    B[i, j] = A[i, j] + A[i, j]


@T.macro
def halves(A, B, i, j):
    B[i, j] = A[i, j // 2]


@T.macro
def by_columns(A, B, i, j):
    B[j % 16, i] = A[j % 16, i]


@T.macro
def one_place(A, B, i, j):
    B[0, 0] = A[0, 0]


@T.macro
def gathered(A, B, i, j):
    B[i, j] = A[i, A[0, j] % 32]


@pytest.mark.parametrize(
    ("store", "vectors"),
    [(as_it_is, [("j", 4)]), (halves, [("j", 4)]), (gathered, [("j", 4)]), (by_columns, [("i", 4)])],
)
def test_the_axis_along_which_neighbours_lie_side_by_side(store, vectors):
    kernel = table(store)
    assert chosen(kernel) == (vectors, [])
    if store is not by_columns:  # two iterations write one element there
        agrees(kernel, np.arange(512, dtype=np.int32).reshape(16, 32), np.zeros((16, 32), np.int32))


@pytest.mark.parametrize(
    ("dtype", "lanes"), [("int8", 16), ("int16", 8), ("float32", 4), ("float64", 2), ("float16", 4), ("bfloat16", 4)]
)
def test_lanes_are_those_of_the_widest_type_that_is_computed_in(dtype, lanes):
    assert chosen(table(doubled, dtype=dtype))[0] == [("j", lanes)]


def test_offsets_of_64_bits_do_not_make_vectors_shorter():
    assert chosen(table(as_it_is, (N, 32)))[0] == [("j", 4)]
    assert chosen(table(as_it_is, (4, N)))[0] == [("j", 4)]
    assert chosen(table(halves, (N, 32)))[0] == [("j", 4)]

    @T.prim_func
    def converted(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(N):
                B[i] = T.cast(A[i], "int64") % 3

    assert chosen(converted)[0] == [("i", 2)], "these are computed"


@pytest.mark.parametrize(("bits", "lanes"), [(128, 4), (256, 8), (512, 16)])
def test_lanes_follow_the_target(bits, lanes):
    assert chosen(table(as_it_is), f"cpu -march=generic -vector_bits={bits}")[0] == [("j", lanes)]


def test_loops_that_stay_scalar_say_why():
    assert chosen(table(one_place)) == ([], ["no axis has its elements adjacent in memory"])

    @T.prim_func
    def effects(A: T.Tensor((32,), "int32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(32):
                T.atomic_add(A[i], 1)
                B[i] = 1
            for i in T.Parallel(32):
                B[i] = A[i]
                T.device_assert(B[i] >= 0, "negative")
            for i in T.Parallel(32):
                for j in T.serial(i):
                    B[i] = B[i] + j

    vectors, reasons = chosen(effects)
    assert vectors == []
    assert reasons == [
        "atomic_element runs element by element",
        "device_assert runs element by element",
        "the bounds of an inner loop differ between iterations",
    ]
    agrees(effects, np.zeros(32, np.int32), np.zeros(32, np.int32))


def test_a_loop_of_one_iteration_is_no_vector_and_not_worth_a_word():
    assert chosen(table(as_it_is, (1, 1))) == ([], [])


def test_short_loops_have_shorter_vectors():
    assert chosen(table(as_it_is, (64, 2)))[0] in ([("j", 2)], [("i", 4)])
    agrees(table(as_it_is, (64, 2)), np.arange(128, dtype=np.int32).reshape(64, 2), np.zeros((64, 2), np.int32))


def test_copies_through_a_tile_are_vectors():
    """The tile shrinks to one element, which every iteration has for itself."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "float16"), B: T.Tensor((64,), "float32")):
        with T.Kernel(2) as b:
            t, u = T.alloc_shared((32,), "float16"), T.alloc_fragment((32,), "float32")
            T.copy(A[b * 32], t)
            for i in T.Parallel(32):
                u[i] = T.max(t[i], T.float16(0)) * 2.0
            T.copy(u, B[b * 32])

    assert chosen(kernel) == ([("i", 4)], [])
    agrees(kernel, np.linspace(-1, 1, 64).astype(np.float16), np.zeros(64, np.float32))


def test_reductions_have_vectors_along_their_axis():
    @T.prim_func
    def kernel(A: T.Tensor((6, 37), "float32"), R: T.Tensor((6,), "float32")):
        with T.Kernel(1):
            t, r = T.alloc_shared((6, 37), "float32"), T.alloc_fragment((6,), "float32")
            T.copy(A, t)
            T.reduce_max(t, r, dim=1)
            T.copy(r, R)

    assert chosen(kernel)[0] == [("j", 4)], "of the copy and the reduction, which are one loop; rows are 6"
    agrees(kernel, np.random.default_rng(0).standard_normal((6, 37)).astype(np.float32), np.zeros(6, np.float32))


def test_explicit_vectors_are_as_long_as_asked_for():
    @T.prim_func
    def kernel(A: T.Tensor((24,), "int32"), B: T.Tensor((24,), "int32")):
        with T.Kernel(1):
            for k in T.serial(3):
                for v in T.vectorized(8):
                    B[k * 8 + v] = A[k * 8 + v] * 2

    assert chosen(kernel) == ([("v", 8)], [])
    agrees(kernel, np.arange(24, dtype=np.int32), np.zeros(24, np.int32))


@pytest.fixture(scope="module")
def masked():
    """A loop whose length the call knows, with conditions, choices and a division that must not trap."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), C: T.Tensor((40,), "int32"), low: T.int32):
        with T.Kernel(1):
            for i in T.Parallel(N):
                if A[i] > low:
                    B[i] = C[A[i] % 40] // A[i]
                elif i % 3 == 0:
                    B[i] = T.if_then_else(A[i] < 0, -A[i], i)

    assert [lanes for _, lanes in chosen(kernel)[0]] == [4]
    return kernel, tilecore.compile(kernel, target=NARROW)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 21), st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_lanes_that_take_no_part_change_nothing_and_do_not_trap(masked, size, seed, low):
    kernel, built = masked
    rng = np.random.default_rng(seed)
    values = [rng.integers(-5, 6, size, dtype=np.int32), np.full(size, 99, np.int32), np.arange(40, dtype=np.int32)]
    got, expected = [v.copy() for v in values], [v.copy() for v in values]
    built(*got, low)
    interpret(kernel.ir, *expected, low)
    np.testing.assert_array_equal(got[1], expected[1])


def test_a_condition_that_reads_memory_is_worked_out_once():
    @T.prim_func
    def kernel(A: T.Tensor((32,), "int32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(32):
                if A[i] > 3:
                    A[i] = 0
                    B[i] = 1
                    if A[i] + B[i] == 1:
                        B[i] = 5
                        A[i] = 9
                elif i < 20:
                    A[i] = A[i] + 100

    assert chosen(kernel) == ([("i", 4)], [])
    func, _ = lowered(kernel, "vectorize_loops")
    assert [str(node.var.name) for node in collect(func.body, Bind)].count("mask") == 2, "not for i < 20"
    agrees(kernel, np.arange(32, dtype=np.int32) % 7, np.zeros(32, np.int32))


@pytest.mark.parametrize("m", [0, 7, 1_500_000_000, -1_500_000_000])
def test_comparisons_whose_difference_wraps(m):
    """The sides are int32, their difference needs more bits."""

    @T.prim_func
    def compare(Out: T.Tensor((8, 64), "int32"), m: T.int32):
        with T.Kernel(1):
            for i, j in T.Parallel(8, 64):
                Out[i, j] = T.if_then_else(m > j - m, 1, 0)

    out = np.zeros((8, 64), np.int32)
    tilecore.compile(compare, target=NARROW)(out, m)
    wrapped = (np.arange(64, dtype=np.int64) - m + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(out, np.broadcast_to(m > wrapped, (8, 64)))
