"""Defines the meaning of shuffle and ballot: exchanges of values between the threads of a warp."""

from __future__ import annotations

import numpy as np

from tilecore.element_values import Value
from tilecore.errors import LanguageError
from tilecore.interpreter.scope import Expression, Scope
from tilecore.interpreter.state import State
from tilecore.interpreter.tiles.reduce import require_groups
from tilecore.interpreter.tiles.registry import expression
from tilecore.ir.thread_groups import ThreadGroups
from tilecore.ir.tile_ops import TileCall, name_in_language

WARP = 32


@expression("shuffle")
def compile_shuffle(scope: Scope, call: TileCall) -> Expression:
    """The value of another lane in the segment of ``width`` lanes; where that lane is outside of it, the lane's own."""
    value, lane = scope.expression(call.value), scope.expression(call.lane)
    site, width, kind = scope.site, call.width, call.kind
    _in_threads(scope, name_in_language(call))

    def run(state: State) -> Value:
        values = np.broadcast_to(value(state), state.lanes)
        lane_operand = np.broadcast_to(lane(state), state.lanes).astype(np.int64)
        threads = np.arange(values.size)
        require_groups(state, site, threads // WARP, ThreadGroups.of(values.size, WARP, 1))
        segment_start = threads // width * width
        source_lanes = {
            "idx": segment_start + lane_operand % width,
            "xor": threads ^ lane_operand,
            "up": threads - lane_operand,
            "down": threads + lane_operand,
        }[kind]
        is_in_segment = (source_lanes >= segment_start) & (source_lanes < segment_start + width)
        if kind == "xor" and not is_in_segment.all():
            raise site.error(
                state,
                LanguageError,
                "T.shfl_xor beyond its part of the warp",
                found=f"lane_mask {int(lane_operand[~is_in_segment][0])}",
                expected=f"0 to {width - 1}",
            )
        return values[np.where(is_in_segment, source_lanes, threads)]

    return run


@expression("ballot")
def compile_ballot(scope: Scope, call: TileCall) -> Expression:
    """Bit t of the result: does the predicate hold in thread t of the warp?"""
    predicate, site = scope.expression(call.predicate), scope.site
    _in_threads(scope, name_in_language(call))

    def run(state: State) -> Value:
        predicates = np.broadcast_to(predicate(state), state.lanes).astype(np.uint32)
        threads = np.arange(predicates.size)
        require_groups(state, site, threads // WARP, ThreadGroups.of(predicates.size, WARP, 1))
        bits = (predicates << (threads % WARP).astype(np.uint32)).reshape(-1, WARP)
        return np.repeat(np.bitwise_or.reduce(bits, axis=1), WARP).astype(np.uint32)

    return run


def _in_threads(scope: Scope, name: str) -> None:
    if scope.lanes == "single":
        raise scope.error(LanguageError, f"{name} is for the threads of a block", expected="a call in T.Kernel")
