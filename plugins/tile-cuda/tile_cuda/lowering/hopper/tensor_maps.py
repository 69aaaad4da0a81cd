"""Chooses the tensor map that moves a tile between global and shared memory, and the coordinates of the tile in it.

Axes are counted from the innermost one, as the hardware does. Take a tile that is divided into blocks of columns. Where
the tensor's rows are whole blocks, it is one box of a map whose innermost axis is split into (columns of a block, ...,
index of the block). Else every block is a box of its own, and elements past the end of a row are filled with zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tile_cuda.launch.tensor_maps import DTYPES, MAX_RANK
from tile_cuda.lowering.hopper.column_blocks import NAMES, PATTERN, PIECE, ColumnBlocks
from tilecore.artifact.dims import dim_to_json
from tilecore.dtypes import dtype as DType
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of
from tilecore.ir.nodes import AllocBuffer, PrimFunc, TensorRegion, Var, is_buffer_var
from tilecore.ir.scopes import is_global
from tilecore.ir.sizes import to_dim
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.assumptions import is_multiple

MOST_IN_BOX = 256  # elements along an axis


@dataclass(frozen=True)
class Axis:
    """One axis of a tensor map.

    size: elements of the tensor. stride: in elements. box: elements of the box. at: the first index of the box.
    """

    size: Any
    stride: Any
    box: int
    at: Any


@dataclass(frozen=True)
class Tiling:
    """A tensor map's axes for a tile, and the boxes that make up the tile.

    boxes: for each (index of the block of columns, offset of the coordinate along the innermost axis).
    """

    tensor: Var
    axes: tuple[Axis, ...]
    swizzle: str
    boxes: tuple[tuple[int, int], ...] = ((0, 0),)

    @property
    def bytes(self) -> int:
        """The size of one box."""
        total = DType(dtype_of(self.tensor)).bytes
        for axis in self.axes:
            total *= axis.box
        return total

    def coordinates(self, box_index: int) -> list[Any]:
        """The coordinates of a box, the innermost axis first (int32)."""
        first = self.axes[0].at + const(self.boxes[box_index][1], dtype_of(self.axes[0].at))
        return [_int32(value) for value in (first, *(axis.at for axis in self.axes[1:]))]

    def with_rows(self, rows: int) -> Tiling:
        """The same boxes with so many rows."""
        return replace(self, axes=(self.axes[0], replace(self.axes[1], box=rows), *self.axes[2:]))

    def half_along(self, blocks: ColumnBlocks) -> int | None:
        """The axis along which the tile can be split into halves of equal boxes that are contiguous in shared memory.

        None: there is no such axis.
        """
        if len(self.boxes) > 1 and len(self.boxes) % 2 == 0:
            return 0
        axis = 2 if blocks.count > 1 and len(self.boxes) == 1 else 1
        if len(self.axes) <= axis or any(other.box > 1 for other in self.axes[axis + 1 :]):
            return None
        whole = self.axes[axis].box % (2 if axis == 2 else 2 * PATTERN) == 0
        return axis if whole else None

    def half(self, axis: int, index: Any) -> tuple[Tiling, Any]:
        """The first (0) or second (1) half along an axis, and its offset along it: elements, or blocks along axis 2."""
        whole, boxes = self.axes[axis], self.boxes
        size = whole.box // 2
        if axis == 0:
            boxes, size = boxes[: len(boxes) // 2], whole.box * len(boxes) // 2
        offset = index * const(size, "int32")
        halved = replace(whole, box=whole.box if axis == 0 else size, at=whole.at + offset)
        return replace(self, axes=(*self.axes[:axis], halved, *self.axes[axis + 1 :]), boxes=boxes), offset

    def facts(self, name: str) -> dict[str, Any]:
        """The map as launch/tensor_maps.py reads it; "tensor" names the parameter, whose slot is not known yet."""
        size = DType(dtype_of(self.tensor)).bytes
        return {
            "parameter": name,
            "tensor": str(self.tensor.name),
            "dtype": dtype_of(self.tensor),
            "shape": [dim_to_json(to_dim(_simplified(axis.size))) for axis in self.axes],
            "strides": [dim_to_json(to_dim(_simplified(axis.stride * size))) for axis in self.axes[1:]],
            "box": [axis.box for axis in self.axes],
            "swizzle": self.swizzle,
            "promotion": "128B",
            "name": str(self.tensor.name),
        }


def mappable_tensors(func: PrimFunc) -> set[Var]:
    """The buffers that a launch can make tensor maps of: parameters, and global buffers that the function allocates."""
    parameters = {param for param in func.params if is_buffer_var(param)}
    return parameters | {alloc.buffer for alloc in collect(func.body, AllocBuffer) if is_global(alloc.buffer)}


def tiling_of(
    region: TensorRegion,
    shape: tuple[int, ...],
    blocks: ColumnBlocks | None,
    divisors: Mapping[Var, int],
    contiguous: bool = True,
    pieces: int = 1,
) -> Tiling | str:
    """How a tensor map moves ``region`` of a tensor to or from a tile of ``shape``; or the reason why it cannot.

    blocks: the division of the tile; None: it is row-major. divisors: known divisors of variables. contiguous: whether
    the blocks that are moved are contiguous in shared memory. pieces: the boxes of a row-major tile of one row.
    """
    tensor = region.source
    bits = DType(dtype_of(tensor)).bits
    if dtype_of(tensor) not in DTYPES or bits % 8:
        return f"tensor maps do not support {dtype_of(tensor)}"
    sizes, strides = list(tensor.shape), _strides(tensor)
    moved = [axis for axis, r in enumerate(region.region) if constant(r.extent) != 1]
    tile_sizes = [size for size in shape if size != 1]
    if [constant(region.region[axis].extent) for axis in moved] != tile_sizes or not moved:
        return "the shape of the tile is not that of the tensor's region"
    if moved[-1] != len(sizes) - 1 or constant(strides[-1]) != 1:
        return f"the rows of the tile are not contiguous in {tensor.name}"
    axes = [
        Axis(sizes[a], strides[a], int(constant(region.region[a].extent) or 0), region.region[a].min) for a in moved
    ]
    other_axes = [a for a in range(len(sizes)) if a not in moved]
    axes = [*reversed(axes), *(Axis(sizes[a], strides[a], 1, region.region[a].min) for a in reversed(other_axes))]
    for axis in axes[1:]:
        if not is_multiple(axis.stride * (bits // 8), PIECE, divisors):
            return f"a stride of {tensor.name} is not known to be a multiple of {PIECE} bytes"
    if not is_multiple(axes[0].at * (bits // 8), PIECE, divisors):  # an illegal instruction, on Hopper and Blackwell
        return f"the offset of the rows in {tensor.name} is not known to be a multiple of {PIECE} bytes"
    if blocks is None:
        width = axes[0].box // pieces
        boxes = tuple((n, n * width) for n in range(pieces))
        tiling: Tiling | str = Tiling(tensor, (replace(axes[0], box=width), *axes[1:]), "none", boxes)
    else:
        tiling = _tiling_of_blocks(tensor, axes, blocks, divisors, contiguous)
    return tiling if isinstance(tiling, str) else _reason_against(tiling) or tiling


def tiling_of_part(
    region: TensorRegion, shape: tuple[int, ...], blocks: ColumnBlocks | None, divisors: Mapping[Var, int]
) -> Tiling | str:
    """As :func:`tiling_of`, for all or some rows of a tile that is divided into ``blocks``."""
    if blocks is None:
        row = shape[-1] if all(size == 1 for size in shape[:-1]) else 0
        return tiling_of(region, shape, None, divisors, pieces=_pieces_of_row(region, row))
    part = ColumnBlocks(shape, blocks.span, blocks.columns)
    return tiling_of(region, shape, part, divisors, contiguous=blocks.count == 1 or part.rows == blocks.rows)


def _pieces_of_row(region: TensorRegion, row: int) -> int:
    """Into how many boxes a row of so many elements is divided; 1 where one box can be the row, or none can."""
    size = DType(dtype_of(region.source)).bytes
    widths = [width for width in range(1, MOST_IN_BOX + 1) if row % width == 0 and width * size % PIECE == 0]
    return row // max(widths) if row > MOST_IN_BOX and widths else 1


def _tiling_of_blocks(
    tensor: Var, axes: list[Axis], blocks: ColumnBlocks, divisors: Mapping[Var, int], contiguous: bool
) -> Tiling | str:
    inner, columns = axes[0], blocks.columns
    swizzle = NAMES[blocks.span]
    narrow = Axis(inner.size, inner.stride, columns, inner.at)
    if blocks.count == 1:
        return Tiling(tensor, (narrow, *axes[1:]), swizzle)
    is_whole = is_multiple(inner.size, columns, divisors) and is_multiple(inner.at, columns, divisors)
    if is_whole and contiguous and len(axes) < MAX_RANK:
        first = Axis(const(columns, "int32"), inner.stride, columns, const(0, "int32"))
        block_axis = Axis(inner.size // columns, const(columns, "int32"), blocks.count, inner.at // columns)
        return Tiling(tensor, (first, axes[1], block_axis, *axes[2:]), swizzle)
    if any(axis.box > 1 for axis in axes[2:]):
        return f"the rows of {tensor.name} are not known to be whole blocks of {columns} elements"
    return Tiling(tensor, (narrow, *axes[1:]), swizzle, tuple((n, n * columns) for n in range(blocks.count)))


def _reason_against(tiling: Tiling) -> str | None:
    if len(tiling.axes) > MAX_RANK:
        return f"{tiling.tensor.name} has {len(tiling.axes)} axes, and a tensor map has at most {MAX_RANK}"
    if any(axis.box > MOST_IN_BOX for axis in tiling.axes):
        return f"the tile has more than {MOST_IN_BOX} elements along an axis, the most of a tensor map"
    inner = tiling.axes[0].box * DType(dtype_of(tiling.tensor)).bytes
    return f"its rows are {inner} bytes, not a multiple of {PIECE}" if inner % PIECE else None


def _strides(tensor: Var) -> list[Any]:
    if len(tensor.strides):
        return list(tensor.strides)
    strides: list[Any] = [const(1, "int32")]
    for size in reversed(list(tensor.shape)[1:]):
        strides.insert(0, strides[0] * size)
    return strides


def _simplified(value: Any) -> Any:
    return Analyzer().simplify(value)


def _int32(value: Any) -> Any:
    return _simplified(value if dtype_of(value) == "int32" else value.astype("int32"))
