"""Defines the meaning of print, device_assert, assume, sync_threads and annotate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilecore.errors import DeviceAssertError, InterpreterError
from tilecore.interpreter.scope import Expression, Scope, Statement
from tilecore.interpreter.state import State, first_lane
from tilecore.interpreter.tiles.operands import Region, executing_lanes, require_block
from tilecore.interpreter.tiles.registry import statement
from tilecore.ir.attributes import CallAttr
from tilecore.ir.nodes import StringImm, TensorRegion
from tilecore.ir.tile_ops import TileCall


@statement("print")
def compile_print(scope: Scope, call: TileCall) -> Statement:
    """Prints ``message: values``: once for the block, or for each active lane where the values differ between lanes or
    only some lanes may be active. Floats are printed as by C's %g, bool as 1 and 0; a tile element by element, each
    with its indices on a line of its own."""
    message = str(call.message)
    if len(call.rest) == 1 and isinstance(call.rest[0], TensorRegion):
        return _print_tile(scope, message, Region.of(scope, call.rest[0]))
    in_parallel = scope.lanes == "parallel"
    readers = [_reader(scope, value) for value in call.rest]

    def run(state: State) -> None:
        values = [read(state) for read in readers]
        show = state.options.print_hook
        differ = any(isinstance(value, np.ndarray) and value.ndim for value in values)
        if not (differ or in_parallel or state.mask is not None):
            show(_line(message, values))
            return
        for lane in _active(state):
            show(_line(message, [_in_lane(state, value, lane) for value in values]))

    return run


def _print_tile(scope: Scope, name: str, region: Region) -> Statement:
    in_parallel = scope.lanes == "parallel"

    def run(state: State) -> None:
        each = in_parallel or state.mask is not None
        lanes = state.lanes if each else executing_lanes(state, (region,), "T.print of a buffer")
        tile = region.tile(state, lanes)
        places = [np.broadcast_to(index, tile.shape) for index in tile.indices]
        values = tile.read()
        for lane in _active(state) if lanes else [()]:
            for element in np.ndindex(*tile.extents):
                at = (*lane, *element)
                where = ", ".join(_text(place[at]) for place in places)
                state.options.print_hook(_line(f"{name}[{where}]", [values[at]]))

    return run


def _reader(scope: Scope, node: Any) -> Expression:
    if isinstance(node, StringImm):
        text = str(node.value)
        return lambda state: text
    return scope.expression(node)


def _active(state: State) -> Iterator[tuple[int, ...]]:
    """The active lanes, in order."""
    lanes = np.ones(state.lanes, bool) if state.mask is None else np.broadcast_to(state.mask, state.lanes)
    return zip(*np.nonzero(lanes), strict=True)


def _in_lane(state: State, value: Any, lane: tuple[int, ...]) -> Any:
    return np.broadcast_to(value, state.lanes)[lane] if isinstance(value, np.ndarray) and value.ndim else value


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(int(value)) if np.asarray(value).dtype.kind in "iub" else f"{float(value):g}"


def _line(message: str, values: list[Any]) -> str:
    text = " ".join(_text(value) for value in values)
    return f"{message}: {text}" if message and text else message or text


@statement("device_assert")
def compile_device_assert(scope: Scope, call: TileCall) -> Statement:
    """The condition holds in every active lane."""
    condition, message, site = scope.expression(call.condition), str(call.message), scope.site
    return _require(condition, site, DeviceAssertError, message or "a device assertion failed", str(call.condition))


@statement("assume")
def compile_assume(scope: Scope, call: TileCall) -> Statement:
    """The condition holds in every active lane: the compiler was promised so."""
    condition = scope.expression(call.condition)
    return _require(condition, scope.site, InterpreterError, "an assumption does not hold", str(call.condition))


def _require(condition: Expression, site: Any, error: type, message: str, text: str) -> Statement:
    def run(state: State) -> None:
        failed = np.logical_not(condition(state))
        if state.mask is not None:
            failed = failed & state.mask
        if np.any(failed):
            raise site.error(state, error, message, lane=first_lane(failed), found=f"{text} is false")

    return run


def _count_active(state: State) -> int:
    return int(np.prod(state.lanes) if state.mask is None else np.sum(np.broadcast_to(state.mask, state.lanes)))


@statement("sync_threads")
def compile_sync(scope: Scope, call: TileCall) -> Statement:
    """Lanes run in lockstep, so a barrier only checks that all threads reach it, or as many as it states."""
    site, arrivals = scope.site, call.hints.get(CallAttr.ARRIVALS)

    def run(state: State) -> None:
        if state.lanes and (arrivals is None or int(arrivals) != _count_active(state)):
            require_block(state, site, "T.sync_threads")

    return run


@statement("annotate")
def compile_annotate(scope: Scope, call: TileCall) -> Statement:
    """Hints have no effect when they are executed; analysis.py has read those that matter."""
    return lambda state: None
