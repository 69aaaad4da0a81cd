"""T.alloc_reducer: buffers that the iterations of a T.Parallel accumulate into together."""

from __future__ import annotations

from tilecore.element_values import cast
from tilecore.interpreter.scope import BufferInfo, Scope, Statement, type_of
from tilecore.interpreter.state import State
from tilecore.interpreter.tiles.atomic import update
from tilecore.ir.nodes import BufferStore
from tilecore.ir.reducers import accumulated

# the update of an element with the effect of many accumulations of a kind
_UPDATES = {
    "sum": "add",
    "prod": "mul",
    "max": "max",
    "min": "min",
    "bitand": "and",
    "bitor": "or",
    "bitxor": "xor",
}


def compile_reducer_store(scope: Scope, node: BufferStore, info: BufferInfo) -> Statement | None:
    """``r[i] = r[i] op x`` inside T.Parallel, r a reducer for op, as an update that many iterations may apply to
    one element; None when the store is not of that form."""
    kind = scope.facts.reducers.get(info.var)
    if kind is None or scope.lanes != "parallel":
        return None
    operand = accumulated(node, kind)
    if operand is None:
        return None
    indices = [scope.expression(index) for index in node.indices]
    value, access, slot = scope.expression(operand), scope.access(info), info.slot
    operand_type, name = type_of(operand), _UPDATES[kind]

    def run(state: State) -> None:
        view = state.env[slot]
        stored = cast(operand_type, view.kind, value(state))
        where = [index(state) for index in indices]
        offset, reached = view.place(state, where, state.mask, access)
        update(state, view, offset, reached, stored, name, access)

    return run
