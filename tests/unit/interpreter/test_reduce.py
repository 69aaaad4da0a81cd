"""reduce, scan and allreduce against numpy."""

import numpy as np
import pytest
from element_types import FLOATS, INTEGERS, element
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.errors import LanguageError, UninitialisedReadError
from tilecore.interpreter import interpret
from tilecore.interpreter.tiles.perturbation import perturbed_sums
from tilecore.ir.nodes import AllocBuffer, BufferStore, Evaluate, IfThenElse, IntImm, SeqStmt, Var
from tilecore.ir.tile_ops import tile_call, tile_statement
from tilecore.language.reductions import reduce as T_reduce

from .kit import buffer, function, launch, rounded, sample, whole, wide

REFERENCE = {
    "sum": lambda x, axis: x.sum(axis),
    "max": lambda x, axis: x.max(axis),
    "min": lambda x, axis: x.min(axis),
    "abssum": lambda x, axis: np.abs(x).sum(axis),
    "absmax": lambda x, axis: np.abs(x).max(axis),
    "bitand": lambda x, axis: np.bitwise_and.reduce(x, axis),
    "bitor": lambda x, axis: np.bitwise_or.reduce(x, axis),
    "bitxor": lambda x, axis: np.bitwise_xor.reduce(x, axis),
}
JOIN = {
    "sum": np.add,
    "abssum": np.add,
    "max": np.maximum,
    "absmax": np.maximum,
    "min": np.minimum,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}


@pytest.mark.parametrize("kind", sorted(REFERENCE))
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_reduce(kind, data):
    integers_only = kind.startswith("bit")
    dtype = data.draw(st.sampled_from(INTEGERS if integers_only else [*FLOATS, *INTEGERS]))
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    keep, clear = data.draw(st.booleans()), data.draw(st.booleans())
    left = [*shape]
    left[axis] = 1
    if not keep:
        left.pop(axis)
    out_shape = tuple(left) or (1,)

    @T.prim_func
    def kernel(A: T.Tensor(shape, dtype), B: T.Tensor(out_shape, dtype)):
        with T.Kernel(1):
            a, b = T.alloc_fragment(shape, dtype), T.alloc_fragment(out_shape, dtype)
            T.copy(A, a)
            T.copy(B, b)
            T_reduce(a, b, kind, dim=axis, clear=clear)
            T.copy(b, B)

    a, b = sample(dtype, shape, 1), sample(dtype, out_shape, 2)
    with np.errstate(all="ignore"):
        reduced = rounded(REFERENCE[kind](wide(a), axis).reshape(out_shape), dtype)
        expected = reduced if clear else rounded(JOIN[kind](wide(b), wide(reduced)), dtype)
    interpret(kernel, a, b)
    if dtype == "float64":
        np.testing.assert_allclose(b, expected, rtol=1e-13, atol=1e-13)
    else:
        np.testing.assert_array_equal(wide(b), wide(expected))


def reduce_row(kind: str, row, dtype="float32", **options) -> float:
    n = len(row)

    @T.prim_func
    def kernel(A: T.Tensor((n,), dtype), B: T.Tensor((1,), dtype)):
        with T.Kernel(1):
            T_reduce(A, B, kind, dim=0, **options)

    out = np.zeros(1, element(dtype))
    interpret(kernel, np.asarray(row).astype(element(dtype)), out)
    return float(out[0])


def test_nan_is_passed_over_or_propagated():
    row = [1.0, np.nan, -3.0]
    assert [reduce_row(k, row) for k in ("max", "min", "absmax")] == [1.0, -3.0, 3.0]
    assert all(np.isnan(reduce_row(k, row, nan_propagate=True)) for k in ("max", "min", "absmax"))
    assert np.isnan(reduce_row("sum", row))


def test_nan_alone_reduces_to_the_identity():
    row = [np.nan, np.nan]
    assert [reduce_row(k, row) for k in ("max", "min", "absmax")] == [-np.inf, np.inf, 0.0]


def test_integer_sums_wrap():
    assert reduce_row("sum", [100, 100, 100], "int8") == 44
    assert reduce_row("abssum", [-128, 1], "int8") == -127


def test_a_sum_of_halves_is_not_rounded_on_the_way():
    assert reduce_row("sum", [2048.0, 1.0, 1.0], "float16") == 2050.0


def test_the_source_is_converted_first():
    @T.prim_func
    def kernel(A: T.Tensor((3,), "int8"), B: T.Tensor((1,), "int32"), C: T.Tensor((1,), "float32")):
        with T.Kernel(1):
            T.reduce_sum(A, B, dim=0)
            T.reduce_max(A, C, dim=0)

    b, c = np.zeros(1, np.int32), np.zeros(1, np.float32)
    interpret(kernel, np.int8([100, 100, 100]), b, c)
    assert (b[0], c[0]) == (300, 100.0)


def test_joining_an_unwritten_output_is_an_error():
    @T.prim_func
    def kernel(A: T.Tensor((3, 4), "float32")):
        with T.Kernel(1):
            out = T.alloc_fragment((3,), "float32")
            T.reduce_sum(A, out, dim=1, clear=False)

    with pytest.raises(UninitialisedReadError, match="out"):
        interpret(kernel, np.zeros((3, 4), np.float32))


@pytest.mark.parametrize(
    ("name", "rest", "message"),
    [
        ("reduce", ["sum", 0, 1, 0], "wrong shape"),
        ("reduce", ["sum", 2, 1, 0], "no axis 2"),
        ("reduce", ["product", 1, 1, 0], "'product'"),
        ("reduce", ["bitand", 1, 1, 0], "has no meaning"),
        ("scan", ["sum", 1, 0], "wrong shape"),
        ("scan", ["min", 1, 0], "'min'"),
    ],
)
def test_wrong_reductions_are_refused(name, rest, message):
    a, b = buffer("A", (3, 4)), buffer("B", (3,))
    main = function([a, b], launch(tile_statement(name, [whole(a), whole(b), *rest]), 1))
    with pytest.raises(LanguageError, match=message):
        interpret(main, np.zeros((3, 4), np.float32), np.zeros(3, np.float32))


@settings(max_examples=30, deadline=None)
@given(
    shape=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    data=st.data(),
    dtype=st.sampled_from(["float64", "float32", "float16", "int32", "uint8"]),
    kind=st.sampled_from(["sum", "max"]),
    reverse=st.booleans(),
)
def test_scans(shape, data, dtype, kind, reverse):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    scan = T.cumsum if kind == "sum" else T.cummax

    @T.prim_func
    def kernel(A: T.Tensor(shape, dtype), B: T.Tensor(shape, dtype), C: T.Tensor(shape, dtype)):
        with T.Kernel(1):
            scan(A, B, dim=axis, reverse=reverse)
            T.copy(A, C)
            scan(C, dim=axis, reverse=reverse)

    a = sample(dtype, shape)
    b, c = np.zeros((2, *shape), element(dtype))
    interpret(kernel, a, b, c)
    turned = np.flip(wide(a), axis) if reverse else wide(a)
    expected = (np.cumsum if kind == "sum" else np.maximum.accumulate)(turned, axis).astype(element(dtype))
    np.testing.assert_array_equal(b, np.flip(expected, axis) if reverse else expected)
    np.testing.assert_array_equal(c, b)


@pytest.mark.parametrize(("kind", "expected"), [("sum", 28), ("max", 7), ("min", 0), ("bitor", 7), ("absmax", 7)])
def test_allreduce_joins_the_threads(kind, expected):
    y, tx = buffer("Y", (8,), "int32"), Var("tx", "int32")
    store = BufferStore(y, tile_call("allreduce", [tx, kind, 0, 1], dtype="int32") + tx, [tx])
    out = np.zeros(8, np.int32)
    interpret(function([y], launch(store, 1, threads=(8,), thread_vars=(tx,))), out)
    assert out.tolist() == [expected + t for t in range(8)]


def test_allreduce_counts_threads_that_the_code_does_not_name():
    y = buffer("Y", (1,), "int32")
    store = BufferStore(y, tile_call("allreduce", [IntImm("int32", 3), "sum", 0, 1], dtype="int32"), [0])
    out = np.zeros(1, np.int32)
    interpret(function([y], launch(store, 1, threads=(4, 2))), out)
    assert out[0] == 24


@pytest.mark.parametrize(
    ("extent", "stride", "group"),
    [
        (4, 1, lambda n: n // 4),
        (5, 1, lambda n: n // 5),
        (3, 4, lambda n: n % 4 + n // 12 * 4),
        (6, 4, lambda n: n % 4),
    ],
)
def test_allreduce_joins_groups_of_threads(extent, stride, group):
    y, tx, ty = buffer("Y", (24,), "int32"), Var("tx", "int32"), Var("ty", "int32")
    number = ty * 4 + tx
    store = BufferStore(y, tile_call("allreduce", [number * number, "sum", extent, stride], dtype="int32"), [number])
    out = np.zeros(24, np.int32)
    interpret(function([y], launch(store, 1, threads=(4, 6), thread_vars=(tx, ty))), out)
    n = np.arange(24)
    assert out.tolist() == [int((n[group(n) == group(t)] ** 2).sum()) for t in range(24)]


def test_groups_are_complete_or_absent_in_an_allreduce():
    def kernel(limit):
        y, tx = buffer("Y", (8,), "int32"), Var("tx", "int32")
        store = BufferStore(y, tile_call("allreduce", [tx, "sum", 4, 1], dtype="int32"), [tx])
        return function([y], launch(IfThenElse(tx < limit, store, None), 1, threads=(8,), thread_vars=(tx,)))

    out = np.zeros(8, np.int32)
    interpret(kernel(4), out)
    assert out.tolist() == [6] * 4 + [0] * 4
    with pytest.raises(LanguageError, match="some threads of a group only"):
        interpret(kernel(5), out)


def test_a_tile_operation_with_a_value_is_not_a_statement_and_the_other_way_round():
    y = buffer("Y", (1,), "int32")
    as_value = BufferStore(y, tile_call("sync_threads", [], dtype="int32"), [0])
    with pytest.raises(LanguageError, match="has no value"):
        interpret(function([y], launch(as_value, 1)), np.zeros(1, np.int32))
    dropped = Evaluate(tile_call("allreduce", [IntImm("int32", 3), "sum", 0, 1], dtype="int32"))
    interpret(function([y], launch(dropped, 1, threads=(4,))), np.zeros(1, np.int32))


def test_finalize_reducer_needs_an_initialised_buffer():
    r = buffer("r", (4,), scope="local.fragment")
    body = SeqStmt([AllocBuffer(r), tile_statement("finalize_reducer", [whole(r)])])
    with pytest.raises(UninitialisedReadError, match=r"r\[0\]"):
        interpret(function([], launch(body, 1)))


def test_perturbed_sums():
    """The error of a sum is told the sum of the absolute values; extremes and sums of integers have none."""
    with perturbed_sums(lambda absolute, dtype: absolute / 8):
        assert reduce_row("sum", [8.0, -4.0, 4.0], "float32") == 10.0
        assert reduce_row("max", [8.0, -4.0, 4.0], "float32") == 8.0
        assert reduce_row("sum", [8, -4, 4], "int32") == 8
    assert reduce_row("sum", [8.0, -4.0, 4.0], "float32") == 8.0
