"""Atomic updates of elements and tiles, and accumulation into reducers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilecore.element_values import Value, ValueType, cast
from tilecore.errors import LanguageError
from tilecore.interpreter.memory import Access, View
from tilecore.interpreter.races import select
from tilecore.interpreter.scope import Expression, Scope, Statement, type_of
from tilecore.interpreter.state import Mask, State
from tilecore.interpreter.tiles.operands import Region, executing_lanes, without_unit_axes
from tilecore.interpreter.tiles.reductions import ATOMICS, UPDATES, Reduction
from tilecore.interpreter.tiles.registry import expression, statement
from tilecore.ir.nodes import TensorLoad, TensorRegion
from tilecore.ir.tile_ops import TileCall, name_in_language

_REPLACING = ("exchange", "store")


def _check_kind(scope: Scope, name: str, kind: ValueType, others: tuple[str, ...] = ()) -> None:
    if name in _REPLACING or name in others:
        return
    reduction = ATOMICS.get(name)
    if reduction is None:
        raise scope.error(LanguageError, f"no atomic is called {name!r}", expected=", ".join([*ATOMICS, *_REPLACING]))
    try:
        reduction.ufunc(kind)
    except TypeError as error:
        raise scope.error(LanguageError, str(error)) from None


def update(
    state: State,
    view: View,
    offset: Any,
    reached: Mask,
    value: Value,
    name: str,
    access: Access,
    lanes: tuple[int, ...] | None = None,
) -> None:
    """Apply the atomic or accumulation ``name`` with ``value`` (of the view's type) at ``offset`` in the lanes that are
    ``reached``.

    Several lanes may update one element: their sum is rounded once, and of exchanges the last lane's value stays.
    lanes: the shape that the arguments broadcast to, where it is not that of the state's lanes.
    """
    if reached is False or view.size == 0:
        return
    if name not in _REPLACING:
        _require_written(state, view, offset, reached, access)
    shape = state.lanes if lanes is None else lanes
    _track(state, view, np.atleast_1d(select(offset, reached, shape)), reached, access)
    where, values = np.atleast_1d(select(offset, reached, shape)), np.atleast_1d(select(value, reached, shape))
    order = np.argsort(where, kind="stable")
    where, values = where[order], values[order]
    starts = np.flatnonzero(np.concatenate(([True], where[1:] != where[:-1])))
    targets = where[starts]
    if name in _REPLACING:
        ends = np.concatenate((starts[1:], [len(where)])) - 1
        new = values[ends]
    else:
        reduction = UPDATES[name]
        more = reduction.by_group(view.kind, values, starts, has_start=False)
        new = _combined(reduction, view.kind, view.kind.decode(view.data[targets]), more)
    view.data[targets] = view.kind.encode(new)
    view.mark_written(targets)


def _combined(reduction: Reduction, kind: ValueType, old: Value, more: Any) -> Value:
    return reduction.finish(kind, reduction.ufunc(kind)(reduction.ready(kind, old), more))


def _track(state: State, view: View, where: np.ndarray, reached: Mask, access: Access) -> None:
    if view.is_race_checked(state, access):
        for log, unit_access in view.race_accesses(state, access, where, reached):
            log.update(state, view, unit_access, access.site)


def _require_written(state: State, view: View, offset: Any, reached: Mask, access: Access) -> None:
    if not view.storage.complete:
        inside = np.unravel_index(np.asarray(offset) % max(view.size, 1), view.shape) if view.shape else ()
        view.require_written(state, offset, reached, list(inside), access)


# -- statements --------------------------------------------------------------------------------------------------


@statement("atomic")
def compile_atomic(scope: Scope, call: TileCall) -> Statement:
    """Every element of dst is updated with the value, or with the element of the value's tile in its place."""
    target = Region.of(scope, call.dst)
    _check_kind(scope, call.kind, target.kind)
    if target.is_element:
        return _one_element(scope, call, target)
    if scope.lanes == "parallel":
        raise scope.error(
            LanguageError,
            "an atomic of a whole tile stands inside T.Parallel",
            found=str(call.dst)[:120],
            expected="one element for each iteration",
        )
    return _whole_tile(scope, call, target)


def _one_element(scope: Scope, call: TileCall, target: Region) -> Statement:
    operand, kind = _element_operand(scope, call.value)

    def run(state: State) -> None:
        value = cast(kind, target.kind, operand(state))
        view, indices = target.element(state)
        offset, reached = view.place(state, indices, state.mask, target.access)
        update(state, view, offset, reached, value, call.kind, target.access)

    return run


def _element_operand(scope: Scope, node: Any) -> tuple[Expression, ValueType]:
    if not isinstance(node, TensorRegion):
        return scope.expression(node), type_of(node)
    source = Region.of(scope, node)
    if not source.is_element:
        raise scope.error(LanguageError, "an atomic of one element takes one value", found=str(node)[:120])

    def read(state: State) -> Value:
        view, indices = source.element(state)
        return view.load(state, indices, source.access)

    return read, source.kind


def _whole_tile(scope: Scope, call: TileCall, target: Region) -> Statement:
    source = Region.of(scope, call.value) if isinstance(call.value, TensorRegion) else None
    scalar = None if source else scope.expression(call.value)
    kind = source.kind if source else type_of(call.value)
    regions = [target, *([source] if source else [])]

    def run(state: State) -> None:
        lanes = executing_lanes(state, regions, name_in_language(call))
        dst = target.tile(state, lanes)
        offset, reached = dst.place()
        if reached is False:
            return
        if source is not None:
            src = source.tile(state, lanes)
            if without_unit_axes(src.extents) != without_unit_axes(dst.extents):
                src.require_shape(dst.extents, name_in_language(call))
            needed = None if reached is None else np.broadcast_to(reached, dst.shape).reshape(src.shape)
            value = src.read(needed).reshape(dst.shape)
        else:
            assert scalar is not None
            value = target.access.site.uniform(state, scalar(state), "the value of an atomic of a tile")
        update(state, dst.view, offset, reached, cast(kind, target.kind, value), call.kind, target.access, dst.shape)

    return run


# -- expressions -------------------------------------------------------------------------------------------------


_Element = Callable[[State], tuple[View, list[Value], Any, Mask, Value]]


def _element(scope: Scope, call: TileCall) -> tuple[_Element, Access]:
    """A closure that returns the view, the indices, their offset, the lanes inside the buffer, and the value."""
    if not isinstance(call.dst, TensorLoad):
        raise scope.error(LanguageError, "an atomic updates an element of a buffer", found=str(call.dst)[:120])
    info = scope.buffer(call.dst.source)
    _check_kind(scope, call.kind, info.kind, ("load", "cas"))
    indices = [scope.expression(index) for index in call.dst.indices]
    value, kind, access = scope.expression(call.value), type_of(call.value), scope.access(info)

    def find(state: State) -> tuple[View, list[Value], Any, Mask, Value]:
        view = state.env[info.slot]
        update_value = cast(kind, info.kind, value(state))
        where = [index(state) for index in indices]
        return view, where, *view.place(state, where, state.mask, access), update_value

    return find, access


@statement("atomic_element")
def compile_atomic_update(scope: Scope, call: TileCall) -> Statement:
    """An atomic update of one element whose previous value is not used."""
    if call.kind == "cas":
        swap = _compare_and_swap(scope, call)
        return lambda state: (swap(state), None)[1]
    find, access = _element(scope, call)
    if call.kind == "load":
        return lambda state: None

    def run(state: State) -> None:
        view, _, offset, reached, update_value = find(state)
        update(state, view, offset, reached, update_value, call.kind, access)

    return run


@expression("atomic_element")
def compile_atomic_element(scope: Scope, call: TileCall) -> Expression:
    """The value of an element before it is updated; lanes with the same element execute in lane order."""
    if call.kind == "cas":
        return _compare_and_swap(scope, call)
    find, access = _element(scope, call)
    name = call.kind

    def run(state: State) -> Value:
        view, where, offset, reached, update_value = find(state)
        if reached is False or view.size == 0:
            return view.kind.carrier.type(0)
        if not view.storage.complete:
            view.require_written(state, offset, reached, where, access)
        if name == "load":
            _track(state, view, select(offset, reached, state.lanes), reached, access)
            return _where(reached, view.kind.decode(view.data[offset]))
        if not state.lanes:
            old = view.kind.decode(view.data[offset])
            update(state, view, offset, reached, update_value, name, access)
            return old
        return _update_in_lane_order(state, view, offset, reached, update_value, name, access)

    return run


def _compare_and_swap(scope: Scope, call: TileCall) -> Expression:
    """Store a value where the element equals another; lanes with the same element execute in lane order."""
    find, access = _element(scope, call)
    (operand,) = call.rest
    compare, kind = scope.expression(operand), type_of(operand)

    def run(state: State) -> Value:
        view, where, offset, reached, update_value = find(state)
        expected = cast(kind, view.kind, compare(state))
        result = np.zeros(state.lanes, view.kind.carrier)
        if reached is False or view.size == 0:
            return result[()]
        if not view.storage.complete:
            view.require_written(state, offset, reached, where, access)
        active = np.ones(state.lanes, bool) if reached is None else np.broadcast_to(reached, state.lanes)
        places = np.atleast_1d(select(offset, reached, state.lanes))
        _track(state, view, places, reached, access)
        values, tests = (np.atleast_1d(select(x, reached, state.lanes)) for x in (update_value, expected))
        seen = np.empty(places.shape, view.kind.carrier)
        for position, (at, new, test) in enumerate(zip(places, values, tests, strict=True)):
            seen[position] = view.kind.decode(view.data[at])
            if seen[position] == test:
                view.data[at] = view.kind.encode(new)
        result[active] = seen
        return result[()]

    return run


def _where(reached: Mask, value: Value) -> Value:
    """``value`` in the lanes that are inside the buffer, 0 in others."""
    return value if reached is None else np.where(reached, value, value.dtype.type(0))


def _update_in_lane_order(
    state: State, view: View, offset: Any, reached: Mask, value: Value, name: str, access: Access
) -> Value:
    """Update elements lane by lane; returns the value that each lane has read."""
    full = np.broadcast_to(offset, state.lanes)
    where = select(offset, reached, state.lanes)
    if np.unique(where).size == where.size:
        before = view.kind.decode(view.data[full])
        update(state, view, offset, reached, value, name, access)
        return _where(reached, before)
    _track(state, view, where, reached, access)
    values = select(value, reached, state.lanes)
    seen = np.empty(where.shape, view.kind.carrier)
    for position, (at, update_value) in enumerate(zip(where, values, strict=True)):
        old = view.kind.decode(view.data[at])
        seen[position] = old
        new = update_value if name in _REPLACING else ATOMICS[name].pair(view.kind, old, update_value)
        view.data[at] = view.kind.encode(new)
    result = np.zeros(state.lanes, view.kind.carrier)
    active = np.ones(state.lanes, bool) if reached is None else np.broadcast_to(reached, state.lanes)
    result[active] = seen
    return result
