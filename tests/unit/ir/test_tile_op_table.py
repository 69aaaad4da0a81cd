"""Every tile operation of the table has what its row promises."""

from __future__ import annotations

import pytest
from fresh_processes import imported_by

import tilecore.language as T
from tilecore.contract.alternatives import instead_of
from tilecore.interpreter.tiles import dispatch
from tilecore.interpreter.tiles.registry import EXPRESSIONS, STATEMENTS, statement
from tilecore.ir.names import TILE_OP_NAMES
from tilecore.ir.tile_op_table import TILE_OPS
from tilecore.lowering import simt, tile_ops
from tilecore.lowering.simt.pipeline import IMPLEMENTATIONS
from tilecore.lowering.tile_ops.discovery import implementations_in

OPS = [op for op in TILE_OPS.values() if "." not in op.name]  # without those that backends registered


def test_operands_that_are_read_and_written_exist():
    assert [op.name for op in OPS if not {*op.reads, *op.writes} <= set(op.operand_names())] == []


def test_the_interpreter_knows_every_operation_of_the_language():
    assert dispatch.compile_tile_statement
    assert {*STATEMENTS, *EXPRESSIONS} == set(TILE_OP_NAMES)


def test_every_operation_that_is_not_kept_has_an_implementation():
    has_threads = {op.name for op in OPS if op.joins_threads}  # passes lower these in expressions
    assert {impl.op for impl in IMPLEMENTATIONS} == {op.name for op in OPS if not op.kept} - has_threads


def test_every_implementation_of_a_package_is_collected():
    names = {impl.name for impl in implementations_in(tile_ops)} | {
        impl.op for impl in implementations_in(simt.tile_ops)
    }
    assert {"loops", "hint", "gemm", "reduce", "finalize_reducer"} <= names


@pytest.mark.parametrize("op", [op for op in OPS if op.module], ids=lambda op: op.name)
def test_the_language_has_a_function_of_its_name(op):
    function = getattr(T, op.name)
    assert function.__module__ == f"tilecore.language.{op.module}"
    assert op.name in T.__all__


def test_every_operation_that_does_work_names_an_alternative():
    without = [op.name for op in OPS if not op.is_mark and not op.internal and instead_of(op.name) is None]
    assert not without


@pytest.mark.parametrize(
    ("op", "kind", "name"),
    [("scan", "sum", "cumsum"), ("shuffle", "idx", "shfl_sync"), ("shuffle", "up", "shfl_up"), ("fill", "", "fill")],
)
def test_names_in_the_language(op, kind, name):
    assert TILE_OPS[op].spelled(kind) == name


@pytest.mark.parametrize(("name", "message"), [("nothing", "no tile operation"), ("copy", "registered already")])
def test_a_meaning_is_registered_once_for_an_operation_of_the_table(name, message):
    with pytest.raises(ValueError, match=message):
        statement(name)(STATEMENTS["copy"])


def test_the_table_does_not_import_tvm():
    assert imported_by("import tilecore.ir.tile_op_table", ("tvm", "numpy")) == []
