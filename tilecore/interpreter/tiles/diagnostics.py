"""print, device_assert, assume, sync_threads, annotate."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilecore.errors import DeviceAssertError, InterpreterError
from tilecore.interpreter.scope import Expression, Scope, Statement
from tilecore.interpreter.state import State, first_lane
from tilecore.interpreter.tiles.operands import Region, acting_lanes, require_block
from tilecore.ir.nodes import StringImm, TensorRegion
from tilecore.ir.tile_ops import TileCall


def compile_print(scope: Scope, call: TileCall) -> Statement:
    """One line ``message: values`` for the block, or one for each lane when the values differ between lanes."""
    message = str(call.message)
    readers = [_reader(scope, value) for value in call.rest]

    def run(state: State) -> None:
        values = [read(state) for read in readers]
        show = state.options.print_hook
        if not any(isinstance(value, np.ndarray) and value.ndim and _by_lane(state, value) for value in values):
            show(_line(message, values))
            return
        lanes = np.ones(state.lanes, bool) if state.mask is None else np.broadcast_to(state.mask, state.lanes)
        for lane in zip(*np.nonzero(lanes), strict=True):
            show(_line(message, [_in_lane(state, value, lane) for value in values]))

    return run


class _Whole:
    """A buffer's contents, which do not differ between lanes."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __str__(self) -> str:
        return str(self.array)


def _reader(scope: Scope, node: Any) -> Expression:
    if isinstance(node, StringImm):
        text = str(node.value)
        return lambda state: text
    if not isinstance(node, TensorRegion):
        return scope.expression(node)
    region = Region.of(scope, node)

    def read(state: State) -> Any:
        lanes = acting_lanes(state, (region,), "print of a buffer")
        array = region.tile(state, lanes).read()
        return array if lanes else _Whole(array)

    return read


def _by_lane(state: State, value: np.ndarray) -> bool:
    return bool(state.lanes) and value.ndim >= len(state.lanes)


def _in_lane(state: State, value: Any, lane: tuple[Any, ...]) -> Any:
    if not isinstance(value, np.ndarray) or not value.ndim:
        return value
    rest = value.shape[len(state.lanes) :]
    return np.broadcast_to(value, state.lanes + rest)[lane]


def _line(message: str, values: list[Any]) -> str:
    text = " ".join(str(value) for value in values)
    return f"{message}: {text}" if message and text else message or text


def compile_device_assert(scope: Scope, call: TileCall) -> Statement:
    """The condition holds in every active lane."""
    condition, message, site = scope.expression(call.condition), str(call.message), scope.site
    return _require(condition, site, DeviceAssertError, message or "a device assertion failed", str(call.condition))


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


def compile_sync(scope: Scope, call: TileCall) -> Statement:
    """Lanes run in step, so all that is left to do is to see that all threads come here."""
    site = scope.site

    def run(state: State) -> None:
        if state.lanes:
            require_block(state, site, "sync_threads")

    return run


def compile_annotate(scope: Scope, call: TileCall) -> Statement:
    """Hints mean nothing when they are reached; the ones that matter were read beforehand."""
    return lambda state: None
