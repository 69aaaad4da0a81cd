"""Every call of the table of thread IR is registered, emitted and described as its row says."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tilecore.codegen.calls import VALUE_CALLS
from tilecore.codegen.dialect import C_MATH
from tilecore.codegen.effects import STATEMENT_CALLS
from tilecore.ir.build import const, constant, op_name
from tilecore.ir.nodes import CallEffectKind, Evaluate, Op
from tilecore.ir.thread_calls import BARRIER, MATH_CALLS, SHUFFLE, THREAD_CALLS
from tilecore.ir.thread_ops import thread_call, thread_statement
from tilecore.ir.tile_op_table import PREFIX, TILE_OPS
from tilecore.lowering.race_check import effects

CALLS = list(THREAD_CALLS.values())
# parts of other calls and of a DeclBuffer, which emit them
PART = {"address_of", "buffer_data"}


def test_the_emitter_has_a_method_for_every_call_and_for_no_other():
    handled = {*VALUE_CALLS, *STATEMENT_CALLS, *C_MATH}
    assert handled == set(THREAD_CALLS) - PART


def test_calls_without_a_value_stand_alone():
    assert {call.name for call in CALLS if not call.result} == set(STATEMENT_CALLS)


def test_functions_of_floats_have_a_name_in_every_language():
    own_methods = {"fabs", "fma", "ldexp", "nextafter"}
    assert {call.name for call in MATH_CALLS} == set(C_MATH) - own_methods


@pytest.mark.parametrize("call", [call for call in CALLS if "." in call.name], ids=lambda call: call.name)
def test_tilecores_calls_are_registered_as_pure_or_not(call):
    effect = Op.get(call.name).get_attr("TCallEffectKind")
    assert int(effect) == int((CallEffectKind.Pure if call.pure else CallEffectKind.Opaque).value)


def test_arguments_that_are_read_and_written_are_elements():
    for call in CALLS:
        elements = {argument.name for argument in call.arguments if argument.kind == "element"}
        assert {*call.reads, *call.writes} <= elements, call.name


def test_only_the_last_argument_takes_the_rest():
    for call in CALLS:
        kinds = [argument.kind for argument in call.arguments]
        assert not [kind for kind in kinds[:-1] if kind.endswith("*")], call.name
        assert {kind.rstrip("*") for kind in kinds} <= {"value", "element", "buffer", "int", "str"}, call.name


def test_operations_on_tiles_that_stay_have_the_same_operands():
    stay = {op.full_name: op for op in TILE_OPS.values() if op.is_emitted or op.name in ("print", "annotate")}
    rest = {"tile.rounded", "tile.directed", "tile.address"}
    assert stay.keys() == {name for name in THREAD_CALLS if name.startswith(PREFIX)} - rest
    for name, op in stay.items():
        assert len(op.operands) == len(THREAD_CALLS[name].arguments), name


def test_the_race_check_knows_every_call_that_orders_or_accesses_memory():
    described = set(effects._calls)
    concerned = {c.name for c in CALLS if c.waits_for or any(a.kind == "element" for a in c.arguments)}
    assert concerned <= described
    assert {name for name in described if name in THREAD_CALLS} == concerned | {"simt.commit_async"}


def test_calls_are_built_with_python_values():
    statement = thread_statement(BARRIER)
    assert isinstance(statement, Evaluate)
    assert op_name(statement.value) == BARRIER
    call = thread_call(SHUFFLE, [const(1.0, "float32"), 3, "idx", 32], dtype="float32")
    assert [constant(argument) for argument in call.args] == [None, 3, None, 32]
    assert call.args[2].value == "idx"
    assert str(call.ty.dtype) == "float32"
    assert THREAD_CALLS[SHUFFLE].signature() == "simt.shuffle(value, lane, kind, width)"


def test_the_table_is_read_without_tvm():
    code = "import sys, tilecore.ir.thread_calls; sys.exit('tvm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
