"""Defines the meaning of reduce, scan, finalize_reducer and allreduce."""

from __future__ import annotations

import numpy as np

from tilecore.element_values import Value, ValueType, cast, wrap
from tilecore.errors import LanguageError
from tilecore.interpreter.scope import Expression, Scope, Statement, type_of
from tilecore.interpreter.state import Site, State, all_active
from tilecore.interpreter.tails import check_reduction, mark_filler
from tilecore.interpreter.tiles.operands import Region, executing_lanes, require_block
from tilecore.interpreter.tiles.reductions import PROPAGATING, REDUCTIONS, Reduction
from tilecore.interpreter.tiles.registry import expression, statement
from tilecore.ir.thread_groups import ThreadGroups
from tilecore.ir.tile_ops import TileCall, name_in_language


def _reduction(scope: Scope, name: str, kind: ValueType, propagate: bool = False) -> Reduction:
    reduction = (PROPAGATING.get(name) if propagate else None) or REDUCTIONS.get(name)
    if reduction is None:
        raise scope.error(LanguageError, f"no reduction is called {name!r}", expected=", ".join(REDUCTIONS))
    try:
        reduction.ufunc(kind)
    except TypeError as error:
        raise scope.error(LanguageError, str(error)) from None
    return reduction


@statement("reduce")
def compile_reduce(scope: Scope, call: TileCall) -> Statement:
    """dst = the elements of src reduced along dim, combined with the old dst unless clear.

    src is converted to dst's type first; absmax and abssum take absolute values then. max, min and absmax pass over
    NaN (of NaN alone the result is the identity, -inf, +inf or 0) unless nan_propagate.
    """
    source, target = Region.of(scope, call.src), Region.of(scope, call.dst)
    kind, name, clear = target.kind, call.kind, bool(call.clear)
    reduction = _reduction(scope, name, kind, bool(call.nan_propagate))
    axis = call.dim + source.info.rank if call.dim < 0 else call.dim
    if not 0 <= axis < source.info.rank:
        raise scope.error(LanguageError, f"{source.name} has no axis {call.dim} to reduce")

    def run(state: State) -> None:
        lanes = executing_lanes(state, (source, target), name_in_language(call))
        src, dst = source.tile(state, lanes), target.tile(state, lanes)
        remaining = src.extents[:axis] + src.extents[axis + 1 :]
        keepdim_shape = (*src.extents[:axis], 1, *src.extents[axis + 1 :])
        if dst.extents not in (remaining, keepdim_shape, remaining or (1,)):
            dst.require_shape(remaining or (1,), name_in_language(call))
        value = _prepared(source.kind, kind, name, src.read())
        filler = check_reduction(src, reduction, name, axis, value, dst)
        result = reduction.finish(kind, reduction.reduce(kind, value, axis + len(lanes))).reshape(dst.shape)
        if not clear:
            result = reduction.pair(kind, dst.read(), result)
        dst.write(result)
        mark_filler(dst, filler if clear else None)

    return run


def _prepared(source: ValueType, kind: ValueType, name: str, value: Value) -> Value:
    converted = cast(source, kind, value)
    return wrap(kind, np.abs(converted)) if name.startswith("abs") and kind.kind != "bool" else converted


@statement("scan")
def compile_scan(scope: Scope, call: TileCall) -> Statement:
    """dst = the inclusive prefix sums or maxima of src along dim, from the end if reverse."""
    source, target = Region.of(scope, call.src), Region.of(scope, call.dst)
    kind = target.kind
    if call.kind not in ("sum", "max"):
        raise scope.error(LanguageError, f"no scan is called {call.kind!r}", expected="sum or max")
    reduction = _reduction(scope, call.kind, kind)
    axis = call.dim + source.info.rank if call.dim < 0 else call.dim
    if not 0 <= axis < source.info.rank:
        raise scope.error(LanguageError, f"{source.name} has no axis {call.dim} to scan")
    reverse = bool(call.reverse)

    def run(state: State) -> None:
        lanes = executing_lanes(state, (source, target), name_in_language(call))
        src, dst = source.tile(state, lanes), target.tile(state, lanes)
        dst.require_shape(src.extents, name_in_language(call))
        along = axis + len(lanes)
        value = cast(source.kind, kind, src.read())
        value = np.flip(value, along) if reverse else value
        scanned = reduction.finish(kind, reduction.accumulate(kind, value, along))
        dst.write(np.flip(scanned, along) if reverse else scanned)

    return run


@statement("finalize_reducer")
def compile_finalize(scope: Scope, call: TileCall) -> Statement:
    """The updates have already reduced; the buffer must be initialised."""
    region = Region.of(scope, call.buffer)

    def run(state: State) -> None:
        region.tile(state, executing_lanes(state, (region,), name_in_language(call))).read()

    return run


@expression("allreduce")
def compile_allreduce(scope: Scope, call: TileCall) -> Expression:
    """The reduction of one value of every thread of a group; each of them gets the result."""
    kind, site = type_of(call.value), scope.site
    reduction, value = _reduction(scope, call.kind, kind), scope.expression(call.value)
    absolute = call.kind.startswith("abs")
    if scope.lanes == "single":
        raise scope.error(
            LanguageError,
            f"{name_in_language(call)} reduces across the threads of a block",
            expected="a call in T.Kernel",
        )

    def run(state: State) -> Value:
        values = np.broadcast_to(value(state), state.lanes)
        values = wrap(kind, np.abs(values)) if absolute else values
        groups = ThreadGroups.of(values.size, call.extent, call.stride)
        if groups.is_whole_block:
            require_block(state, site, name_in_language(call))
            return reduction.finish(kind, reduction.reduce(kind, values, None))
        group_of_thread = groups.group(np.arange(values.size))
        require_groups(state, site, group_of_thread, groups)
        order = np.argsort(group_of_thread, kind="stable")
        starts = np.searchsorted(group_of_thread[order], np.arange(groups.count))
        return reduction.finish(kind, reduction.by_group(kind, values[order], starts))[group_of_thread]

    return run


def require_groups(state: State, site: Site, group_of_thread: np.ndarray, groups: ThreadGroups) -> None:
    """Raises unless all or none of the threads of each group are active."""
    if all_active(state.mask):
        return
    active_count = np.bincount(group_of_thread, np.broadcast_to(state.mask, state.lanes), groups.count)
    partly = (active_count > 0) & (active_count < np.bincount(group_of_thread, minlength=groups.count))
    if partly.any():
        raise site.error(
            state,
            LanguageError,
            "what threads do together is reached by only some threads of a group only",
            found=f"{int(active_count[partly][0])} of {groups.extent} threads",
            expected="all threads of a group, or none",
        )
