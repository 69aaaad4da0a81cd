"""Which tensor map moves a tile between global memory and a shared tile, and where in the map the tile begins.

Axes are counted from the innermost here, as the hardware does. A tile that is kept in blocks of columns is one box of a
map whose innermost axis is cut in two, (columns of a block, ..., number of the block), where the tensor's rows are
whole blocks; else every block is a box of its own, and what lies past the end of a row is filled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tile_cuda.launch.tensor_maps import DTYPES, MAX_RANK
from tile_cuda.lowering.hopper.column_blocks import NAMES, PATTERN, PIECE, ColumnBlocks
from tilecore.artifact.dims import dim_to_json
from tilecore.dtypes import dtype as DType
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of
from tilecore.ir.nodes import TensorRegion, Var
from tilecore.ir.sizes import to_dim
from tilecore.lowering.analysis.assumptions import is_multiple

MOST_IN_BOX = 256  # elements along an axis


@dataclass(frozen=True)
class Axis:
    """size: elements of the tensor. stride: elements between neighbours. box: of the tile. at: where that begins."""

    size: Any
    stride: Any
    box: int
    at: Any


@dataclass(frozen=True)
class Tiling:
    """A tensor map's axes for a tile, and the boxes of which the tile is made: (index along the tile's blocks, what is
    added to the coordinate of the innermost axis)."""

    tensor: Var
    axes: tuple[Axis, ...]
    swizzle: str
    boxes: tuple[tuple[int, int], ...] = ((0, 0),)

    @property
    def bytes(self) -> int:
        """Of one box."""
        total = DType(dtype_of(self.tensor)).bytes
        for axis in self.axes:
            total *= axis.box
        return total

    def coordinates(self, number: int) -> list[Any]:
        """Where box ``number`` begins."""
        first = self.axes[0].at + const(self.boxes[number][1], dtype_of(self.axes[0].at))
        return [_int32(value) for value in (first, *(axis.at for axis in self.axes[1:]))]

    def half_along(self, blocks: ColumnBlocks) -> int | None:
        """The axis along which the tile can be cut into two halves, each of boxes of one size that lie side by side in
        memory; None for none."""
        if len(self.boxes) > 1 and len(self.boxes) % 2 == 0:
            return 0
        axis = 2 if blocks.count > 1 and len(self.boxes) == 1 else 1
        if len(self.axes) <= axis or any(other.box > 1 for other in self.axes[axis + 1 :]):
            return None
        whole = self.axes[axis].box % (2 if axis == 2 else 2 * PATTERN) == 0
        return axis if whole else None

    def half(self, axis: int, number: Any) -> tuple[Tiling, Any]:
        """The first (0) or second (1) half along an axis, and how many elements along it (blocks along axis 2) are
        before it."""
        cut, boxes = self.axes[axis], self.boxes
        size = cut.box // 2
        if axis == 0:
            boxes, size = boxes[: len(boxes) // 2], cut.box * len(boxes) // 2
        before = number * const(size, "int32")
        made = replace(cut, box=cut.box if axis == 0 else size, at=cut.at + before)
        return replace(self, axes=(*self.axes[:axis], made, *self.axes[axis + 1 :]), boxes=boxes), before

    def facts(self, name: str) -> dict[str, Any]:
        """The map as launch/tensor_maps.py has it; "tensor" names the parameter, whose slot is not known yet."""
        size = DType(dtype_of(self.tensor)).bytes
        return {
            "parameter": name,
            "tensor": str(self.tensor.name),
            "dtype": dtype_of(self.tensor),
            "shape": [dim_to_json(to_dim(_simple(axis.size))) for axis in self.axes],
            "strides": [dim_to_json(to_dim(_simple(axis.stride * size))) for axis in self.axes[1:]],
            "box": [axis.box for axis in self.axes],
            "swizzle": self.swizzle,
            "promotion": "128B",
            "name": str(self.tensor.name),
        }


@dataclass
class MapTable:
    """The tensor maps of a function's kernels, by name; what is the same is one."""

    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    def name_of(self, tiling: Tiling) -> str:
        base = f"{tiling.tensor.name}_map"
        number = 0
        while True:
            name = base if not number else f"{base}_{number}"
            facts = tiling.facts(name)
            if self.found.setdefault(name, facts) == facts:
                return name
            number += 1


def tiling_of(
    region: TensorRegion,
    shape: tuple[int, ...],
    blocks: ColumnBlocks | None,
    divisors: Mapping[Var, int],
    together: bool = True,
) -> Tiling | str:
    """How ``region`` of a tensor is moved to or from a tile of ``shape`` that lies in ``blocks`` (None: row by row); or
    why it cannot be. divisors: what is known to divide sizes. together: the blocks that are moved follow one another in
    memory."""
    tensor = region.source
    bits = DType(dtype_of(tensor)).bits
    if dtype_of(tensor) not in DTYPES or bits % 8:
        return f"tensor maps have no {dtype_of(tensor)}"
    sizes, strides = list(tensor.shape), _strides(tensor)
    moved = [axis for axis, r in enumerate(region.region) if constant(r.extent) != 1]
    kept = [size for size in shape if size != 1]
    if [constant(region.region[axis].extent) for axis in moved] != kept or not moved:
        return "the tile's axes are not those of the tensor"
    if moved[-1] != len(sizes) - 1 or constant(strides[-1]) != 1:
        return f"the rows of the tile do not lie side by side in {tensor.name}"
    axes = [
        Axis(sizes[a], strides[a], int(constant(region.region[a].extent) or 0), region.region[a].min) for a in moved
    ]
    rest = [a for a in range(len(sizes)) if a not in moved]
    axes = [*reversed(axes), *(Axis(sizes[a], strides[a], 1, region.region[a].min) for a in reversed(rest))]
    for axis in axes[1:]:
        if not is_multiple(axis.stride * (bits // 8), PIECE, divisors):
            return f"a stride of {tensor.name} is not known to be a multiple of {PIECE} bytes"
    if not is_multiple(axes[0].at * (bits // 8), PIECE, divisors):  # an illegal instruction, on Hopper and Blackwell
        return f"where the rows begin in {tensor.name} is not known to be a multiple of {PIECE} bytes"
    made = Tiling(tensor, tuple(axes), "none") if blocks is None else _blocked(tensor, axes, blocks, divisors, together)
    return made if isinstance(made, str) else _fault(made) or made


def tiling_of_part(
    region: TensorRegion, shape: tuple[int, ...], blocks: ColumnBlocks | None, divisors: Mapping[Var, int]
) -> Tiling | str:
    """As :func:`tiling_of`, for rows of a tile that lies in ``blocks``, or all of them."""
    if blocks is None:
        return tiling_of(region, shape, None, divisors)
    part = ColumnBlocks(shape, blocks.span, blocks.columns)
    return tiling_of(region, shape, part, divisors, together=blocks.count == 1 or part.rows == blocks.rows)


def _blocked(
    tensor: Var, axes: list[Axis], blocks: ColumnBlocks, divisors: Mapping[Var, int], together: bool
) -> Tiling | str:
    inner, columns = axes[0], blocks.columns
    swizzle = NAMES[blocks.span]
    narrow = Axis(inner.size, inner.stride, columns, inner.at)
    if blocks.count == 1:
        return Tiling(tensor, (narrow, *axes[1:]), swizzle)
    whole = is_multiple(inner.size, columns, divisors) and is_multiple(inner.at, columns, divisors)
    if whole and together and len(axes) < MAX_RANK:
        first = Axis(const(columns, "int32"), inner.stride, columns, const(0, "int32"))
        number = Axis(inner.size // columns, const(columns, "int32"), blocks.count, inner.at // columns)
        return Tiling(tensor, (first, axes[1], number, *axes[2:]), swizzle)
    if any(axis.box > 1 for axis in axes[2:]):
        return f"the rows of {tensor.name} are no whole blocks of {columns} elements"
    return Tiling(tensor, (narrow, *axes[1:]), swizzle, tuple((n, n * columns) for n in range(blocks.count)))


def _fault(made: Tiling) -> str | None:
    if len(made.axes) > MAX_RANK:
        return f"{made.tensor.name} has {len(made.axes)} axes, and tensor maps {MAX_RANK}"
    if any(axis.box > MOST_IN_BOX for axis in made.axes):
        return f"a box has at most {MOST_IN_BOX} elements along an axis"
    inner = made.axes[0].box * DType(dtype_of(made.tensor)).bytes
    return f"its rows are {inner} bytes, no multiple of {PIECE}" if inner % PIECE else None


def _strides(tensor: Var) -> list[Any]:
    if len(tensor.strides):
        return list(tensor.strides)
    made: list[Any] = [const(1, "int32")]
    for size in reversed(list(tensor.shape)[1:]):
        made.insert(0, made[0] * size)
    return made


def _simple(value: Any) -> Any:
    return Analyzer().simplify(value)


def _int32(value: Any) -> Any:
    return _simple(value if dtype_of(value) == "int32" else value.astype("int32"))
