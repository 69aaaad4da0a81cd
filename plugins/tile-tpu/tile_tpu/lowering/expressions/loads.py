"""Loads from arrays of an iteration, from tiles and from tensors, and gathers of rows of a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_tpu.ir.views import View
from tile_tpu.lowering.commands.frames import NotTensor, Tile
from tile_tpu.lowering.commands.gather_rows import gather_rows
from tile_tpu.lowering.views.global_views import global_access, load_into, strides_of
from tile_tpu.lowering.views.local_views import read
from tilecore.ir.build import const, constant, dtype_of
from tilecore.ir.nodes import TensorLoad

if TYPE_CHECKING:
    from tile_tpu.lowering.expressions.values import Values


def load_elements(values: Values, node: TensorLoad) -> Tile:
    """The elements that the iterations load. Raises NotTensor."""
    buffer = node.source
    if buffer in values.private_buffers:
        return _load_private(values, node)
    if any(values.reads_memory(index) for index in node.indices):
        return _load_rows(values, node)
    if buffer in values.layouts:
        return read(values.emit, values.local_access(node))
    if str(buffer.scope()) != "global":
        raise NotTensor(f"{buffer.name} is a variable of the control core")
    dtype = dtype_of(node)
    access = global_access(values.emit, buffer, values.indices_of(node))
    loaded = values.emit.new(access.axes(values.frame), dtype, str(buffer.name))
    load_into(values.emit, access, loaded.view, values.safe_values.get(buffer, const(0, dtype)))
    return loaded


def _load_private(values: Values, node: TensorLoad) -> Tile:
    """An element of an array that each iteration has."""
    buffer = node.source
    index = constant(node.indices[0]) if len(node.indices) == 1 else None
    element = values.private_tiles.get((buffer, index)) if index is not None else None
    if element is None or index is None:
        raise NotTensor(
            f"{buffer.name} is read before it is written, or at an index that is not a compile-time constant"
        )
    if values.guards:
        values.fill_unwritten(buffer, index)
    return element


def _load_rows(values: Values, node: TensorLoad) -> Tile:
    """``X[rows[i], j]`` of a tensor X, as a gather. Raises NotTensor for other indices that are read from memory."""
    buffer, emit = node.source, values.emit
    row_axes = [axis for axis, index in enumerate(node.indices) if values.reads_memory(index)]
    if str(buffer.scope()) != "global" or len(row_axes) != 1:
        raise NotTensor(f"an index of {buffer.name} is read from memory")
    (row_axis,) = row_axes
    rows = values.value(node.indices[row_axis])
    zero = const(0, "int32")
    indices: list[Any] = [zero if a == row_axis else values.index_of(index) for a, index in enumerate(node.indices)]
    access = global_access(emit, buffer, indices)
    if not isinstance(rows, Tile) or rows.axes != frozenset("c") or access.axes(values.frame) != frozenset("w"):
        raise NotTensor(f"an index of {buffer.name} is read from memory")
    if access.clips or constant(access.steps[next(iter(access.steps))]) != 1:
        raise NotTensor(f"a gather needs rows whose elements are adjacent, unlike those of {buffer.name}")
    shape = (1, 1, buffer.shape[row_axis], values.frame.extents["w"])
    source = View(buffer, 0, access.offset, shape, (0, 0, strides_of(buffer)[row_axis], 1))
    gathered = emit.new(frozenset("cw"), dtype_of(node), str(buffer.name))
    gather_rows(emit, gathered.view, source, rows.view, values.safe_values.get(buffer, const(0, dtype_of(node))))
    return gathered
