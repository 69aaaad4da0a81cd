"""IR that means nothing is refused with a clear error, never run wrongly."""

import numpy as np
import pytest

from tilecore.errors import ArgumentError, LanguageError, UnsupportedError
from tilecore.interpreter import interpret
from tilecore.interpreter.analysis import FunctionFacts
from tilecore.interpreter.scope import Scope
from tilecore.interpreter.statements import compile_statement
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferLoad,
    BufferStore,
    Call,
    Continue,
    DeclBuffer,
    Evaluate,
    FloatImm,
    IntImm,
    StringImm,
    Var,
    tirx,
)
from tilecore.ir.tile_ops import tile_call, tile_statement

from .kit import block, buffer, function, launch, region

ZERO = IntImm("int32", 0)
TRUE = IntImm("bool", 1)


def run(statement, *params, threads=()):
    arrays = [np.zeros([int(e) for e in p.shape], str(p.dtype)) for p in params]
    interpret(function(list(params), launch(statement, 1, threads=threads)), *arrays)


Y = buffer("Y", (4, 4), "float32")
B = buffer("B", (4,), "bool")
S = buffer("S", (4,), "float32", "shared.dyn")

CASES = {
    "string as a value": (BufferStore(Y, Call("tirx.exp", [StringImm("x")], ret_ty="float32"), [0, 0]), Y, "string"),
    "bool addition": (BufferStore(B, tirx.Add(TRUE, TRUE), [0]), B, "Add of bool"),
    "integer logarithm": (Evaluate(Call("tirx.log", [ZERO], ret_ty="int32")), (), r"tirx\.log of int32"),
    "continue outside a loop": (Continue(), (), "outside a loop"),
    "tile operation on a value": (tile_statement("fill", [ZERO, ZERO]), (), "takes regions"),
    "negative extent": (tile_statement("fill", [region(Y, (0, 4), (0, -1)), ZERO]), Y, "negative size"),
    "scan without such an axis": (
        tile_statement("scan", [region(Y, (0, 4), (0, 4)), region(Y, (0, 4), (0, 4)), "sum", 2, 0]),
        Y,
        "no axis 2 to scan",
    ),
    "transpose of another shape": (
        tile_statement("transpose", [region(Y, (0, 4), (0, 2)), region(Y, (0, 4), (0, 2))]),
        Y,
        "do not fit",
    ),
    "atomic of a value": (
        Evaluate(tile_call("atomic_element", [ZERO, ZERO, "add", "relaxed"], dtype="int32")),
        (),
        "updates an element",
    ),
    "atomic of shapes that differ": (
        tile_statement("atomic", [region(Y, (0, 4), (0, 2)), region(Y, (0, 4), (0, 3)), "add", "relaxed"]),
        Y,
        "wrong shape",
    ),
    "atomic of an element and a tile": (
        tile_statement("atomic", [region(Y, (0, 1), (0, 1)), region(Y, (0, 4), (0, 3)), "add", "relaxed"]),
        Y,
        "takes one value",
    ),
    "bool sum": (
        tile_statement("reduce", [region(B, (0, 4)), region(B, (0, 1)), "sum", 0, 1, 0]),
        B,
        "sum of bool values",
    ),
    "view over something else": (
        DeclBuffer(S, data=Call("tirx.address_of", [BufferLoad(Y, [ZERO, ZERO])], ret_ty="handle")),
        Y,
        "not a buffer's data",
    ),
    "negative grid": (BufferStore(Y, FloatImm("float32", 0), [0, 0]), Y, "negative extent"),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_refused(name):
    statement, params, message = CASES[name]
    params = params if isinstance(params, tuple) else (params,)
    threads = (-2,) if name == "negative grid" else ()
    with pytest.raises((LanguageError, UnsupportedError), match=message):
        run(statement, *params, threads=threads)


def test_allreduce_needs_a_block():
    value = tile_call("allreduce", [ZERO, "sum", 0, 1], dtype="int32")
    y = buffer("Y", (1,), "int32")
    with pytest.raises(LanguageError, match="reduces across the threads"):
        interpret(function([y], BufferStore(y, value, [0])), np.zeros(1, np.int32))


@pytest.mark.parametrize("facts", [{"elem_offset": 4}, {"strides": [2]}])
def test_views_start_at_the_beginning_and_are_contiguous(facts):
    view = tirx.decl_buffer((2,), "float32", "v", scope="shared.dyn", layout=None, **facts)
    body = block(AllocBuffer(S), DeclBuffer(view, data=tirx.buffer_data(S)))
    with pytest.raises(UnsupportedError, match="v is a view"):
        interpret(function([], launch(body, 1)))


def test_a_packed_scalar_tensor_has_no_pairs():
    y = buffer("Y", (), "int4")
    with pytest.raises(ArgumentError, match="no axis to hold pairs"):
        interpret(function([y], Evaluate(ZERO)), np.zeros((), np.int8))


def test_the_expected_type_of_packed_tensors_is_told():
    y = buffer("Y", (4,), "int4")
    with pytest.raises(ArgumentError) as caught:
        interpret(function([y], Evaluate(ZERO)), np.zeros(4, np.int32))
    assert "int8 or uint8 holding pairs" in caught.value.expected


def test_statements_that_are_not_tile_ir_are_refused():
    with pytest.raises(UnsupportedError, match="does not know Var nodes"):
        compile_statement(Scope(FunctionFacts()), Var("v", "int32"))
