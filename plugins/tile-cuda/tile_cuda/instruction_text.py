"""The target's own calls as statements of the source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_cuda import instructions
from tilecore.codegen.refusal import refuse
from tilecore.codegen.statements import Statements
from tilecore.ir.build import constant
from tilecore.ir.nodes import TensorLoad


def _operand(emit: Statements, node: Any) -> str:
    """An element by its address, a number by its value."""
    return emit.expressions.place(node) if isinstance(node, TensorLoad) else str(emit.value(node))


def _mma(emit: Statements, node: Any) -> None:
    name, *operands = node.value.args
    emit.line(f"tc_mma_{name.value}({', '.join(_operand(emit, o) for o in operands)});")


def _matrix_move(word: str) -> Callable[[Statements, Any], None]:
    def emit_move(emit: Statements, node: Any) -> None:
        count, trans, to, source = node.value.args
        if constant(count) not in (1, 2, 4):
            refuse(node.value, emit.dialect.kind, what=f"{word} of {constant(count)} tiles")
        suffix = "_trans" if constant(trans) else ""
        emit.line(f"tc_{word}_x{constant(count)}{suffix}({_operand(emit, to)}, {_operand(emit, source)});")

    return emit_move


def _transaction(emit: Statements, node: Any) -> None:
    name, *operands = node.value.args
    emit.line(f"tc_transaction_{name.value}({', '.join(_operand(emit, o) for o in operands)});")


def _bulk_copy(emit: Statements, node: Any) -> None:
    emit.line(f"tc_bulk_copy_async({', '.join(_operand(emit, o) for o in node.value.args)});")


def _atomic_add_vector(emit: Statements, node: Any) -> None:
    to, values, count = node.value.args
    if constant(count) not in (2, 4):
        refuse(node.value, emit.dialect.kind, what=f"an atomic addition of {constant(count)} elements")
    emit.line(f"tc_atomic_add_x{constant(count)}({_operand(emit, to)}, {_operand(emit, values)});")


def _prefetch(emit: Statements, node: Any) -> None:
    emit.line(f"tc_prefetch_l2({_operand(emit, node.value.args[0])});")


STATEMENTS: dict[str, Callable[[Statements, Any], None]] = {
    instructions.MMA: _mma,
    instructions.LDMATRIX: _matrix_move("ldmatrix"),
    instructions.STMATRIX: _matrix_move("stmatrix"),
    instructions.TRANSACTION: _transaction,
    instructions.BULK_COPY: _bulk_copy,
    instructions.ATOMIC_ADD_VECTOR: _atomic_add_vector,
    instructions.PREFETCH: _prefetch,
}
