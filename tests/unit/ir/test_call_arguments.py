"""Calls are compared with their rows: the number, the kinds and the types of arguments, and the type of the result."""

from __future__ import annotations

import pytest

from tilecore.dtypes import FACTS
from tilecore.ir.build import const, load
from tilecore.ir.call_arguments import wrong_call
from tilecore.ir.nodes import BufferRegion, Call, Range, StringImm, Var, tirx
from tilecore.ir.register_call import register_call
from tilecore.ir.thread_calls import (
    ATOMIC_ADD,
    ATOMIC_ELEMENT,
    COPY_ASYNC,
    FENCE,
    SHUFFLE,
    THREAD_CALLS,
    TYPE_WORDS,
    VOTE,
    argument_of_same_type,
)
from tilecore.ir.thread_ops import thread_call
from tilecore.ir.tile_ops import tile_call

A = tirx.decl_buffer((64,), "float32", "A", layout=None)
S = tirx.decl_buffer((64,), "float32", "S", scope="shared", layout=None)
TX = Var("tx", "int32")
ONE, HALF, TRUE = const(1.0, "float32"), const(0.5, "float16"), const(True, "bool")
ELEMENT = load(A, [TX])
REGION = BufferRegion(A, [Range(0, 64)])


def exp(*arguments, dtype="float32"):
    return tirx.call_intrin(dtype, "tirx.exp", *arguments)


RIGHT = [
    thread_call(SHUFFLE, [HALF, TX, "xor", 32], dtype="float16"),
    thread_call(COPY_ASYNC, [load(S, [TX]), ELEMENT, 16, TRUE]),
    thread_call(
        COPY_ASYNC, [tirx.address_of(load(S, [TX])), Call(register_call("acme.place"), [TX], ret_ty="handle"), 4, TRUE]
    ),
    thread_call(ATOMIC_ELEMENT, [ELEMENT, ONE, "add", "relaxed"], dtype="float32"),
    thread_call(ATOMIC_ELEMENT, [ELEMENT, ONE, "cas", "relaxed", ONE], dtype="float32"),
    tile_call("print", ["x", ONE, TX]),
    tile_call("print", ["x"]),
    tile_call("fill", [REGION, ONE]),
    tile_call("reduce", [REGION, REGION, "sum", 0, 1, 0]),
    exp(ONE),
    exp(const(1.0, "float32x4"), dtype="float32x4"),
    Call(register_call("acme.anything"), [], ret_ty="void"),
]


@pytest.mark.parametrize("call", RIGHT, ids=str)
def test_right_calls(call):
    assert wrong_call(call) is None


WRONG = [
    (
        thread_call(SHUFFLE, [ONE, TX, "xor"], dtype="float32"),
        ": 3 arguments",
        "simt.shuffle(value, lane, kind, width): 4 arguments",
    ),
    (thread_call(FENCE, ["block", "block"]), ": 2 arguments", "simt.fence(scope): 1 argument"),
    (tile_call("print", []), ": 0 arguments", "tile.print(message, *values): 1 or more arguments"),
    (tile_call("fill", [REGION]), ": 1 argument", "tile.fill(dst, value): 2 arguments"),
    (
        thread_call(FENCE, ["warp"]),
        "the str 'warp' as scope",
        "one of block, device as argument scope of simt.fence(scope)",
    ),
    (thread_call(FENCE, [TX]), "a value of type int32 as scope", "one of block, device as argument scope"),
    (
        thread_call(COPY_ASYNC, [load(S, [TX]), ELEMENT, 5, TRUE]),
        "the constant 5, a value of type int32 as size",
        "one of 4, 8, 16 as",
    ),
    (
        thread_call(COPY_ASYNC, [load(S, [TX]), ELEMENT, TX, TRUE]),
        "a value of type int32 as size",
        "one of 4, 8, 16 as",
    ),
    (
        thread_call(COPY_ASYNC, [TX, ELEMENT, 4, TRUE]),
        "a value of type int32 as target",
        "an element: a load, or address_of a load",
    ),
    (
        thread_call(COPY_ASYNC, [load(S, [TX]), ELEMENT, 4, TX]),
        "a value of type int32 as valid",
        "bool as argument valid",
    ),
    (thread_call(ATOMIC_ADD, [ELEMENT, ELEMENT, 4, "total"]), "the str 'total' as order", "one of relaxed, consume,"),
    (
        thread_call(ATOMIC_ELEMENT, [ELEMENT, HALF, "add", "relaxed"], dtype="float32"),
        "float16 as value",
        "float32, the type of element, as",
    ),
    (
        thread_call(ATOMIC_ELEMENT, [ELEMENT, ONE, "cas", "relaxed", TX], dtype="float32"),
        "int32 as compare",
        "float32, the type of element, as",
    ),
    (
        thread_call(SHUFFLE, [StringImm("x"), TX, "xor", 32], dtype="float32"),
        "the str 'x' as value",
        "a value as argument value",
    ),
    (
        thread_call(SHUFFLE, [REGION, TX, "xor", 32], dtype="float32"),
        "a region of A as value",
        "a value as argument value",
    ),
    (thread_call(SHUFFLE, [ONE, ONE, "xor", 32], dtype="float32"), "float32 as lane", "int32 as argument lane"),
    (thread_call(SHUFFLE, [ONE, TX, "xor", 32]), "whose type is", "the type float32"),
    (thread_call(VOTE, [TX, "any"], dtype="bool"), "int32 as predicate", "bool as argument predicate"),
    (tile_call("fill", [ELEMENT, ONE]), "a load of A, float32, as dst", "a region of a buffer as argument dst"),
    (tile_call("reduce", [REGION, REGION, "sum", TX, 1, 0]), "int32 as dim", "a constant integer as argument dim"),
    (exp(TX), "int32 as value", "a float as argument value of exp(value)"),
    (exp(ONE, dtype="float16"), "whose type is float16", "the type float32"),
]


@pytest.mark.parametrize(
    ("call", "found", "expected"), WRONG, ids=lambda value: value if isinstance(value, str) else ""
)
def test_wrong_calls(call, found, expected):
    problem = wrong_call(call)
    assert problem is not None
    assert found in problem.found
    assert expected in problem.expected


def test_types_of_arguments_are_those_that_the_check_knows():
    for call in THREAD_CALLS.values():
        names = {argument.name for argument in call.arguments}
        for argument in call.arguments:
            other = argument_of_same_type(argument.dtype)
            assert other in names if other else argument.dtype in {"", *FACTS, *TYPE_WORDS}, call.name
