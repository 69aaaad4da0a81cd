"""Rows of a tensor whose numbers another tile holds: ``X[rows[i], j]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_tpu.ir.views import View
from tile_tpu.lowering.commands.frames import NotTensor, Tile
from tile_tpu.lowering.commands.gather_rows import gather_rows
from tile_tpu.lowering.views.global_views import global_access, strides_of
from tilecore.ir.build import const, constant, dtype_of
from tilecore.ir.nodes import TensorLoad

if TYPE_CHECKING:
    from tile_tpu.lowering.expressions.values import Values


def gathered(values: Values, node: TensorLoad) -> Tile:
    """Raises NotTensor for what is no such rows."""
    buffer, emit = node.source, values.emit
    axes = [axis for axis, index in enumerate(node.indices) if values.is_looked_up(index)]
    if str(buffer.scope()) != "global" or len(axes) != 1:
        raise NotTensor(f"an index of {buffer.name} that is read from memory")
    (axis,) = axes
    rows = values.value(node.indices[axis])
    zero = const(0, "int32")
    inside: list[Any] = [zero if a == axis else values.index_of(index) for a, index in enumerate(node.indices)]
    access = global_access(emit, buffer, inside)
    if not isinstance(rows, Tile) or rows.axes != frozenset("c") or access.axes(values.frame) != frozenset("w"):
        raise NotTensor(f"an index of {buffer.name} that is read from memory")
    if access.clips or constant(access.steps[next(iter(access.steps))]) != 1:
        raise NotTensor(f"rows of {buffer.name} whose elements are no neighbours")
    columns = values.frame.extents["w"]
    source = View(buffer, 0, access.offset, (1, 1, buffer.shape[axis], columns), (0, 0, strides_of(buffer)[axis], 1))
    made = emit.new(frozenset("cw"), dtype_of(node), str(buffer.name))
    gather_rows(emit, made.view, source, rows.view, values.safe.get(buffer, const(0, dtype_of(node))))
    return made
