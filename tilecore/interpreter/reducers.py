"""T.alloc_reducer: buffers that the iterations of a T.Parallel accumulate into together."""

from __future__ import annotations

from typing import Any

from tilecore.interpreter.scope import BufferInfo, Scope, Statement
from tilecore.interpreter.state import State
from tilecore.interpreter.tiles.atomic import update
from tilecore.ir.nodes import BufferStore, TensorLoad, structural_equal, tirx

# the operators of an accumulation, and the atomic with the same effect
_FORMS: dict[str, tuple[tuple[type, ...], str]] = {
    "sum": ((tirx.Add, tirx.Sub), "add"),
    "max": ((tirx.Max,), "max"),
    "min": ((tirx.Min,), "min"),
}


def compile_reducer_store(scope: Scope, node: BufferStore, info: BufferInfo) -> Statement | None:
    """``r[i] = r[i] op x`` inside T.Parallel, r a reducer for op, as an update that many iterations may apply to
    one element; None when the store is not of that form."""
    form = _FORMS.get(scope.facts.reducers.get(info.var, ""))
    if form is None or scope.lanes != "parallel":
        return None
    operators, atomic = form
    operand = _accumulated(node, operators)
    if operand is None:
        return None
    indices = [scope.expression(index) for index in node.indices]
    value, access, slot = scope.expression(operand), scope.access(info), info.slot
    negate = isinstance(node.value, tirx.Sub)

    def run(state: State) -> None:
        stored = value(state)
        view = state.env[slot]
        where = [index(state) for index in indices]
        offset, reached = view.place(state, where, state.mask, access)
        update(state, view, offset, reached, -stored if negate else stored, atomic, access)

    return run


def _accumulated(node: BufferStore, operators: tuple[type, ...]) -> Any:
    """x of ``r[i] = r[i] op x``, or None."""
    value: Any = node.value
    if type(value) not in operators:
        return None
    if _is_target(value.a, node):
        return value.b
    if _is_target(value.b, node) and not isinstance(value, tirx.Sub):
        return value.a
    return None


def _is_target(expression: Any, node: BufferStore) -> bool:
    if not isinstance(expression, TensorLoad) or not expression.source.same_as(node.buffer):
        return False
    pairs = zip(expression.indices, node.indices, strict=True)
    return all(structural_equal(index, stored_index, map_free_vars=False) for index, stored_index in pairs)
