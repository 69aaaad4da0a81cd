"""Atomic updates, of elements and tiles, and T.alloc_reducer."""

import numpy as np
import pytest
from element_types import INTEGERS, element
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError, RaceError, UninitialisedReadError
from tilecore.interpreter import interpret
from tilecore.ir.nodes import BufferLoad, BufferRegion, Evaluate, For, ForKind, IntImm, Range, Var
from tilecore.ir.tile_ops import tile_call, tile_statement

from .kit import buffer, function, launch, rounded, sample, wide

ATOMICS = {
    "add": (T.atomic_add, lambda old, xs: old + sum(xs)),
    "max": (T.atomic_max, lambda old, xs: max([old, *xs])),
    "min": (T.atomic_min, lambda old, xs: min([old, *xs])),
    "and": (T.atomic_and, lambda old, xs: int(np.bitwise_and.reduce([old, *xs]))),
    "or": (T.atomic_or, lambda old, xs: int(np.bitwise_or.reduce([old, *xs]))),
    "xor": (T.atomic_xor, lambda old, xs: int(np.bitwise_xor.reduce([old, *xs]))),
}


@pytest.mark.parametrize("name", sorted(ATOMICS))
@settings(max_examples=15, deadline=None)
@given(
    where=st.lists(st.integers(0, 4), min_size=1, max_size=30),
    dtype=st.sampled_from(INTEGERS),
    lanes=st.sampled_from(["parallel", "serial", "threads"]),
)
def test_updates_of_one_element_all_count(name, where, dtype, lanes):
    op, reference = ATOMICS[name]
    n = len(where)

    @T.prim_func
    def kernel(I: T.Tensor((n,), "int32"), X: T.Tensor((n,), dtype), Y: T.Tensor((5,), dtype)):  # noqa: E741
        with T.Kernel(1, threads=n):
            if lanes == "threads":
                t = T.get_thread_binding()
                op(Y[I[t]], X[t])
            else:
                for i in T.Parallel(n) if lanes == "parallel" else T.serial(n):
                    op(Y[I[i]], X[i])

    x, y = sample(dtype, n, 1), sample(dtype, 5, 2)
    span, low = 2 ** np.iinfo(dtype).bits, int(np.iinfo(dtype).min)
    expected = [reference(int(y[k]), [int(v) for v, at in zip(x, where, strict=True) if at == k]) for k in range(5)]
    interpret(kernel, np.int32(where), x, y)
    assert y.tolist() == [(w - low) % span + low for w in expected]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_float_sums(dtype):
    @T.prim_func
    def kernel(X: T.Tensor((100,), dtype), Y: T.Tensor((3,), dtype)):
        with T.Kernel(1):
            for i in T.Parallel(100):
                T.atomic_add(Y[i % 3], X[i])

    x, y = sample(dtype, 100), np.zeros(3, element(dtype))
    interpret(kernel, x, y)
    expected = [wide(x)[k::3].sum() for k in range(3)]
    np.testing.assert_array_equal(wide(y), wide(rounded(np.array(expected), dtype)))


def test_the_previous_values_are_a_permutation():
    @T.prim_func
    def kernel(count: T.Tensor((2,), "int32"), Y: T.Tensor((20,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(20):
                Y[i] = T.atomic_add(count[i % 2], 1, return_prev=True)

    count, y = np.int32([0, 100]), np.zeros(20, np.int32)
    interpret(kernel, count, y)
    assert count.tolist() == [10, 110]
    assert sorted(y[0::2]) == list(range(10))
    assert sorted(y[1::2]) == list(range(100, 110))


def test_the_previous_value_of_one_lane():
    @T.prim_func
    def kernel(count: T.Tensor((1,), "int32"), Y: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for i in T.serial(4):
                Y[i] = T.atomic_add(count[0], i, return_prev=True)

    count, y = np.int32([10]), np.zeros(4, np.int32)
    interpret(kernel, count, y)
    assert (count[0], y.tolist()) == (16, [10, 10, 11, 13])


def test_exchange_load_and_store():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32"), Y: T.Tensor((4,), "int32"), Z: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((4,), "int32")
            for i in T.Parallel(4):
                T.atomic_store(s[i], i + 7)
            for i in T.Parallel(4):
                Y[i] = T.atomic_exchange(A[i], i * i)
                Z[i] = T.atomic_load(s[i])

    a = np.int32([5, 6, 7, 8])
    y, z = np.zeros((2, 4), np.int32)
    interpret(kernel, a, y, z)
    assert (a.tolist(), y.tolist(), z.tolist()) == ([0, 1, 4, 9], [5, 6, 7, 8], [7, 8, 9, 10])


def test_a_tile_is_added_and_its_tail_dropped():
    @T.prim_func
    def kernel(A: T.Tensor((10, 6), "float32"), C: T.Tensor((10, 6), "float32")):
        with T.Kernel(2) as b:
            tile = T.alloc_fragment((8, 6), "float32")
            T.copy(A[b * 8, 0], tile)
            T.atomic_add(C[b * 8, 0], tile)

    a, c = sample("float32", (10, 6), 1), sample("float32", (10, 6), 2)
    expected = a + c
    interpret(kernel, a, c)
    np.testing.assert_array_equal(c, expected)


def test_a_tile_takes_one_value():
    @T.prim_func
    def kernel(C: T.Tensor((4, 4), "float32")):
        with T.Kernel(3):
            T.atomic_max(C[1:3, :], 2.0)

    c = sample("float32", (4, 4), 2)
    expected = c.copy()
    expected[1:3] = np.maximum(c[1:3], 2)
    interpret(kernel, c)
    np.testing.assert_array_equal(c, expected)


def test_out_of_bounds_updates_are_dropped_in_parallel():
    @T.prim_func
    def kernel(C: T.Tensor((5,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(9):
                T.atomic_add(C[i - 2], 1)

    c = np.zeros(5, np.int32)
    interpret(kernel, c)
    assert c.tolist() == [1] * 5


def test_an_unwritten_element_is_not_updated():
    @T.prim_func
    def kernel(C: T.Tensor((5,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((5,), "int32")
            T.fill(s[0:2], 0)
            for i in T.Parallel(5):
                T.atomic_add(s[i], 1)

    with pytest.raises(UninitialisedReadError, match=r"s\[2\]"):
        interpret(kernel, np.zeros(5, np.int32))


def test_reading_what_another_iteration_updates_is_a_race():
    @T.prim_func
    def kernel(C: T.Tensor((5,), "int32"), Y: T.Tensor((5,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(5):
                T.atomic_add(C[0], 1)
                Y[i] = C[0]

    with pytest.raises(RaceError, match="updates atomically"):
        interpret(kernel, np.zeros(5, np.int32), np.zeros(5, np.int32))


def test_the_whole_tile_inside_parallel_is_refused():
    c, i = buffer("C", (4, 4)), Var("i", "int32")
    row = BufferRegion(c, [Range.from_min_extent(i, 1), Range.from_min_extent(0, 4)])
    atomic = tile_statement("atomic", [row, IntLike(1.0), "add", "relaxed"])
    with pytest.raises(LanguageError, match="inside T"):
        interpret(function([c], launch(For(i, 0, 4, ForKind.PARALLEL, atomic), 1)), np.zeros((4, 4), np.float32))


def IntLike(value):
    from tilecore.ir.nodes import FloatImm

    return FloatImm("float32", value)


@pytest.mark.parametrize(("kind", "message"), [("mul", "'mul'"), ("and", "has no meaning")])
def test_wrong_atomics_are_refused(kind, message):
    c = buffer("C", (4,))
    atomic = tile_statement("atomic", [BufferRegion(c, [Range.from_min_extent(0, 1)]), IntLike(1.0), kind, "relaxed"])
    with pytest.raises(LanguageError, match=message):
        interpret(function([c], launch(atomic, 1)), np.zeros(4, np.float32))


# -- reducers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_a_reducer_takes_many_iterations(op, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((6, 50), dtype), Y: T.Tensor((6,), dtype)):
        with T.Kernel(1):
            r = T.alloc_reducer((6,), dtype, op=op)
            T.fill(r, {"sum": 0, "max": -100, "min": 100}[op])
            for i, j in T.Parallel(6, 50):
                if op == "sum":
                    r[i] += A[i, j]
                elif op == "max":
                    r[i] = T.max(r[i], A[i, j])
                else:
                    r[i] = T.min(A[i, j], r[i])
            T.finalize_reducer(r)
            T.copy(r, Y)

    a, y = sample(dtype, (6, 50)), np.zeros(6, element(dtype))
    interpret(kernel, a, y)
    expected = getattr(wide(a), op)(1)
    np.testing.assert_array_equal(wide(y), wide(rounded(expected, dtype)))


def test_a_reducer_may_be_subtracted_from():
    @T.prim_func
    def kernel(A: T.Tensor((50,), "int32"), Y: T.Tensor((1,), "int32")):
        with T.Kernel(1):
            r = T.alloc_reducer((1,), "int32")
            T.clear(r)
            for j in T.Parallel(50):
                r[0] -= A[j]
            T.finalize_reducer(r, Y)

    a, y = sample("int32", 50), np.zeros(1, np.int32)
    interpret(kernel, a, y)
    assert y[0] == -a.sum()


def test_a_plain_buffer_does_not_take_many_iterations():
    @T.prim_func
    def kernel(A: T.Tensor((50,), "int32"), Y: T.Tensor((1,), "int32")):
        with T.Kernel(1):
            for j in T.Parallel(50):
                Y[0] += A[j]

    with pytest.raises(RaceError, match=r"Y\[0\]"):
        interpret(kernel, sample("int32", 50), np.zeros(1, np.int32))


def test_another_store_to_a_reducer_is_a_race():
    @T.prim_func
    def kernel(A: T.Tensor((50,), "int32")):
        with T.Kernel(1):
            r = T.alloc_reducer((1,), "int32")
            T.clear(r)
            for j in T.Parallel(50):
                r[0] = A[j]

    with pytest.raises(RaceError, match="different values"):
        interpret(kernel, sample("int32", 50))


# -- statements on one element, as the IR has them ---------------------------------------------------------------


def single(buf, index):
    return BufferRegion(buf, [Range.from_min_extent(index, 1)])


@pytest.mark.parametrize("kind", ["add", "store", "exchange"])
@pytest.mark.parametrize("operand", ["value", "region"])
def test_an_element_as_a_region(kind, operand):
    c, v, i = buffer("C", (4,), "int32"), buffer("V", (6,), "int8"), Var("i", "int32")
    value = single(v, i) if operand == "region" else BufferLoad(v, [i])
    atomic = tile_statement("atomic", [single(c, i), value, kind, "relaxed"])
    x, out = sample("int8", 6), np.int32([10, 20, 30, 40])
    expected = x[:4].astype(np.int32) + (out if kind == "add" else 0)
    interpret(function([c, v], launch(For(i, 0, 6, ForKind.PARALLEL, atomic), 1)), out, x)
    assert out.tolist() == expected.tolist()


def test_the_last_of_several_exchanges_stays():
    @T.prim_func
    def kernel(A: T.Tensor((2,), "int32"), Y: T.Tensor((6,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(6):
                Y[i] = T.atomic_exchange(A[i % 2], i)

    a, y = np.int32([-1, -2]), np.zeros(6, np.int32)
    interpret(kernel, a, y)
    assert a.tolist() == [4, 5]
    assert y.tolist() == [-1, -2, 0, 1, 2, 3]


def test_the_last_of_several_stores_stays():
    @T.prim_func
    def kernel(A: T.Tensor((2,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(6):
                T.atomic_store(A[i % 2], i)

    a = np.int32([-1, -2])
    interpret(kernel, a)
    assert a.tolist() == [4, 5]


def test_previous_values_of_threads_take_turns():
    @T.prim_func
    def kernel(count: T.Tensor((1,), "float32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            t = T.get_thread_binding()
            if t % 2 == 0:
                Y[t] = T.atomic_add(count[0], 1.5, return_prev=True)

    count, y = np.zeros(1, np.float32), np.full(8, -1, np.float32)
    interpret(kernel, count, y)
    assert count[0] == 6.0
    assert y.tolist() == [0.0, -1, 1.5, -1, 3.0, -1, 4.5, -1]


def test_updates_outside_give_zero_before():
    @T.prim_func
    def kernel(count: T.Tensor((2,), "int32"), Y: T.Tensor((4,), "int32"), shift: T.int32):
        with T.Kernel(1):
            for i in T.Parallel(4):
                Y[i] = T.atomic_add(count[i + shift], 1, return_prev=True)

    for shift, expected in ((0, [5, 6, 0, 0]), (9, [0, 0, 0, 0])):
        count, y = np.int32([5, 6]), np.zeros(4, np.int32)
        interpret(kernel, count, y, shift)
        assert y.tolist() == expected


def test_a_load_that_nobody_wants_does_nothing():
    c = buffer("C", (4,), "int32")
    load = Evaluate(
        tile_call("atomic_element", [BufferLoad(c, [0]), IntImm("int32", 0), "load", "relaxed"], dtype="int32")
    )
    interpret(function([c], launch(load, 1)), np.zeros(4, np.int32))


@pytest.mark.parametrize(("update", "numpy_update"), [(T.atomic_max, np.fmax), (T.atomic_min, np.fmin)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_special_values_as_numpy_updates_them(update, numpy_update, dtype):
    """The larger of two NaN is NaN, of a NaN and a number it is the number: every pair of values, as one tile."""
    values = np.array([np.nan, -np.inf, np.inf, 0, 1.5, -3], dtype)
    x, z = (side.copy() for side in np.meshgrid(values, values))
    size = len(values)

    @T.prim_func
    def update_kernel(X: T.Tensor((size, size), dtype), Z: T.Tensor((size, size), dtype)):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((size, size), dtype)
            T.copy(X, tile)
            update(Z[0, 0], tile)

    expected = numpy_update(z, x)
    mine = z.copy()
    interpret(update_kernel.ir, x, mine)
    np.testing.assert_array_equal(mine, expected)
    compiled = z.copy()
    tilecore.compile(update_kernel, target="cpu")(x, compiled)
    np.testing.assert_array_equal(compiled, expected)
