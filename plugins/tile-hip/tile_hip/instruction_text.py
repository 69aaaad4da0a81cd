"""The HIP C++ text of each call of ``tile_hip.instructions``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_hip import instructions
from tilecore.codegen.statements import Statements
from tilecore.ir.build import constant


def _mma(emit: Statements, node: Any) -> None:
    name, along_m, along_n, *registers = node.value.args
    counts = constant(along_m), constant(along_n)
    template = "" if counts == (1, 1) else f"<{counts[0]}, {counts[1]}>"
    places = ", ".join(emit.expressions.place(register) for register in registers)
    emit.line(f"tc_mma_{name.value}{template}({places});")


def _scheduling_fence(emit: Statements, node: Any) -> None:
    emit.line("tc_scheduling_fence();")


def _shared_barrier(emit: Statements, node: Any) -> None:
    emit.call_line(emit.function("tc_shared_barrier"))


def _copy_to_lds(emit: Statements, node: Any) -> None:
    target, source, size, valid = node.value.args
    places = emit.place(target), emit.place(source)
    emit.call_line(emit.sized_function("tc_copy_to_lds", emit.known_number(node, size), *places, emit.value(valid)))


def _wait_copies(emit: Statements, node: Any) -> None:
    emit.call_line(emit.sized_function("tc_wait_copies", emit.known_number(node, node.value.args[0])))


STATEMENTS: dict[str, Callable[[Statements, Any], None]] = {
    instructions.MMA: _mma,
    instructions.SCHEDULING_FENCE: _scheduling_fence,
    instructions.SHARED_BARRIER: _shared_barrier,
    instructions.COPY_TO_LDS: _copy_to_lds,
    instructions.WAIT_COPIES: _wait_copies,
}
