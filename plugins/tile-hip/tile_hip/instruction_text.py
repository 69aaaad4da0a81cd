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


STATEMENTS: dict[str, Callable[[Statements, Any], None]] = {
    instructions.MMA: _mma,
    instructions.SCHEDULING_FENCE: _scheduling_fence,
    instructions.SHARED_BARRIER: _shared_barrier,
}
