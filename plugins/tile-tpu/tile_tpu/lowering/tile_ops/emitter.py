"""Helpers of tile operations: emits commands and temporaries, and moves operands to lane 0."""

from __future__ import annotations

from typing import Any

from tile_tpu.chips import Chip, chip_of
from tile_tpu.ir.views import View
from tile_tpu.lowering.commands.emitter import Emitter
from tile_tpu.lowering.commands.frames import Frame
from tile_tpu.lowering.state import TileLayouts
from tile_tpu.lowering.views.regions import NoView, normalized, region_view
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import FACTS
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import TensorRegion
from tilecore.ir.tile_ops import TileCall

MOST_EXTENT = 65535  # the largest extent of a view


class Work(Emitter):
    """Collects the commands of one tile operation."""

    def __init__(self, chip: Chip, span: Any) -> None:
        super().__init__(chip, Frame({}, dict.fromkeys("nchw", 1), chip.lanes), Analyzer(), {}, span)

    def normalized(self, view: View) -> View:
        return normalized(view, self.chip.lanes, self.eu(view.dtype))

    def aligned_operand(self, view: View) -> View:
        """The view, or a copy of it, with the aligned layout from lane 0 on."""
        view = self.normalized(view)
        if self.is_aligned(view):
            return view
        moved = self.room(constant_shape_of(view), view.dtype, f"{view.buffer.name}_moved")
        self.transfer(moved, view)
        return moved

    def transfer(self, dst: View, src: View) -> None:
        """Copies ``src`` to ``dst``: by the tensor unit where both begin in lane 0, else by DMA."""
        self.emit("copy" if constant(dst.lane) == 0 == constant(src.lane) else "shift", dst, src)

    def converted(self, view: View, dtype: str) -> View:
        """The view where it has the type ``dtype``; else its values, converted in a new buffer from lane 0 on."""
        if view.dtype == dtype:
            return view
        if constant(view.lane) != 0:
            view = self.aligned_operand(view)
        result = self.room(constant_shape_of(view), dtype, f"{view.buffer.name}_as_{dtype}")
        self.emit("cast", result, view, rounding(view.dtype, dtype))
        return result

    def transposed(self, view: View) -> View:
        """The transpose (1,w,1,c) of an aligned (1,c,1,w), in new memory."""
        _, c, _, w = constant_shape_of(view)
        result = self.room((1, w, 1, c), view.dtype, f"{view.buffer.name}_turned")
        self.emit("transpose", result, view)
        return result


def work_of(call: TileCall, env: PassEnv) -> Work:
    return Work(chip_of(env.target), call.span)


def view_of(region: TensorRegion, env: PassEnv) -> View:
    """The view of a region. Raises NoView."""
    return region_view(region, env.state(TileLayouts).by_tile).view


def why_no_view(env: PassEnv, *regions: TensorRegion) -> str | None:
    """The reason why the unit cannot work on one of the regions; None where it can."""
    chip = chip_of(env.target)
    if any(chip.lacks(dtype_of(region.source)) for region in regions):
        return f"{chip.name} does not support fp8"
    if env.find_state(TileLayouts) is None:
        return "tiles have no layouts"
    for region in regions:
        try:
            view = view_of(region, env)
        except NoView as error:
            return str(error)
        shape = view.constant_shape()
        if shape is None:
            return f"the size of the tile of {region.source.name} is not a compile-time constant"
        if any(not 1 <= extent <= MOST_EXTENT for extent in shape):
            return f"the tile of {region.source.name} has an extent of more than {MOST_EXTENT}"
    return None


def constant_shape_of(view: View) -> tuple[int, int, int, int]:
    shape = view.constant_shape()
    assert shape is not None
    return shape


def rounding(source: str, target: str) -> str:
    """The rounding mode of a cast: floats to integers towards zero, else to nearest even."""
    return "zero" if FACTS[source].kind == "float" != FACTS[target].kind else "even"
