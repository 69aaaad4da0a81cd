"""The MSL text of the calls ``metal.*`` of thread IR, and of calls that have no function of the header's usual name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_metal import instructions
from tilecore.codegen.expressions import Expressions
from tilecore.codegen.statements import Statements
from tilecore.codegen.text import Text
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.thread_calls import COMMIT_ASYNC, NAMED_BARRIER, WAIT_ASYNC


def _no_wait(emit: Statements, node: Any) -> None:
    """Emits nothing for a wait: copies to threadgroup memory are loads and stores."""


def _refuse_named_barrier(emit: Statements, node: Any) -> None:
    from tilecore.codegen.refusal import refuse

    refuse(node, "metal", "a threadgroup has one barrier, of all its threads: use T.sync_threads")


def _multiply_add(emit: Statements, node: Any) -> None:
    factor, *counts, d, a, b = node.value.args
    along_m, along_n, along_k, b_along_k = (int(constant(count) or 0) for count in counts)
    name = "tc_multiply_add_transposed" if b_along_k else "tc_multiply_add"
    products = "" if along_m == along_n == along_k == 1 else f", {along_m}, {along_n}, {along_k}"
    places = ", ".join(str(emit.place(register)) for register in (d, a, b))
    emit.line(f"{name}<{emit.type_of(str(factor.value), node)}{products}>({places});")


def _matmul2d(emit: Statements, node: Any) -> None:
    factor, *transposed, d, a, b = node.value.args
    flags = ", ".join("true" if constant(flag) else "false" for flag in transposed)
    places = ", ".join(str(emit.place(register)) for register in (d, a, b))
    emit.line(f"tc_matmul2d<{emit.type_of(str(factor.value), node)}, {flags}>({places});")


def _scheduling_fence(emit: Statements, node: Any) -> None:
    emit.call_line(emit.function("tc_scheduling_fence"))


def _shared_barrier(emit: Statements, node: Any) -> None:
    emit.call_line(emit.function("tc_shared_barrier"))


def _reduce_lanes(emit: Expressions, node: Any) -> Text:
    function, value = node.args
    text = emit.value(value)
    if FACTS[dtype_of(value)].bits < 32:  # C has made an int of it
        text = emit.cast(dtype_of(value), text)
    return emit.function(f"tc_lanes_{function.value}", text)


VALUES: dict[str, Callable[[Expressions, Any], Text]] = {instructions.REDUCE_LANES: _reduce_lanes}
STATEMENTS: dict[str, Callable[[Statements, Any], None]] = {
    COMMIT_ASYNC: _no_wait,
    WAIT_ASYNC: _no_wait,
    NAMED_BARRIER: _refuse_named_barrier,
    instructions.MULTIPLY_ADD: _multiply_add,
    instructions.MATMUL2D: _matmul2d,
    instructions.SCHEDULING_FENCE: _scheduling_fence,
    instructions.SHARED_BARRIER: _shared_barrier,
}
