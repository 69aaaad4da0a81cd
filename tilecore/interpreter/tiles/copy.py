"""Defines the meaning of copy, transpose and fill."""

from __future__ import annotations

import numpy as np

from tilecore.element_values import cast
from tilecore.errors import LanguageError
from tilecore.interpreter.scope import Scope, Statement, type_of
from tilecore.interpreter.state import State
from tilecore.interpreter.tails import filler_of, mark_filler
from tilecore.interpreter.tiles.operands import Region, Tile, executing_lanes, without_unit_axes
from tilecore.interpreter.tiles.registry import statement
from tilecore.ir.tile_ops import TileCall, name_in_language


@statement("copy")
def compile_copy(scope: Scope, call: TileCall) -> Statement:
    """dst = cast(src), axes of extent 1 aside; the source is read whole before anything is written."""
    source, target = Region.of(scope, call.src), Region.of(scope, call.dst)

    def run(state: State) -> None:
        lanes = executing_lanes(state, (source, target), name_in_language(call))
        src, dst = source.tile(state, lanes), target.tile(state, lanes)
        if without_unit_axes(src.extents) != without_unit_axes(dst.extents):
            raise _shapes_differ(state, src, dst)
        placed = dst.place()
        if placed[1] is False:
            return
        needed = None if placed[1] is None else np.broadcast_to(placed[1], dst.shape).reshape(src.shape)
        value = cast(source.kind, target.kind, src.read(needed))
        filler = filler_of(src)
        dst.write(value.reshape(dst.shape), placed)
        mark_filler(dst, None if filler is None else filler.reshape(dst.shape))

    return run


@statement("transpose")
def compile_transpose(scope: Scope, call: TileCall) -> Statement:
    """dst[j, i] = cast(src[i, j])"""
    source, target = Region.of(scope, call.src), Region.of(scope, call.dst)

    def run(state: State) -> None:
        lanes = executing_lanes(state, (source, target), name_in_language(call))
        src, dst = source.tile(state, lanes), target.tile(state, lanes)
        if src.matrix_shape("T.transpose") != dst.matrix_shape("T.transpose")[::-1]:
            raise _shapes_differ(state, src, dst)
        transposed = np.swapaxes(src.read_matrix("T.transpose"), -1, -2)
        filler = filler_of(src)
        dst.write(cast(source.kind, target.kind, transposed).reshape(dst.shape))
        if filler is not None:
            rows_and_columns = filler.reshape(src.lanes + src.matrix_shape("T.transpose"))
            mark_filler(dst, np.swapaxes(rows_and_columns, -1, -2).reshape(dst.shape))

    return run


def _shapes_differ(state: State, src: Tile, dst: Tile) -> Exception:
    return src.access.site.error(
        state,
        LanguageError,
        "the shapes of source and destination do not fit",
        found=f"{src.view.name} {src.extents} and {dst.view.name} {dst.extents}",
        expected="shapes that agree when axes of extent 1 are left out",
    )


@statement("fill")
def compile_fill(scope: Scope, call: TileCall) -> Statement:
    """Every element of dst = cast(value)."""
    target, kind = Region.of(scope, call.dst), type_of(call.value)
    value = scope.expression(call.value)

    def run(state: State) -> None:
        lanes = executing_lanes(state, (target,), name_in_language(call))
        dst = target.tile(state, lanes)
        fill_value = cast(kind, target.kind, value(state))
        if lanes and np.ndim(fill_value):
            fill_value = fill_value.reshape(fill_value.shape + (1,) * len(dst.extents))
        else:
            fill_value = target.access.site.uniform(state, fill_value, "the value of a fill")
        dst.write(fill_value)

    return run
