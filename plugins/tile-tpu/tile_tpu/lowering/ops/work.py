"""What implementations of tile operations share: commands in order, temporaries, operands brought to lane 0."""

from __future__ import annotations

from typing import Any

from tile_tpu.chips import Chip, chip_of
from tile_tpu.ir.views import View
from tile_tpu.lowering.emitter import Emitter
from tile_tpu.lowering.frames import Frame
from tile_tpu.lowering.regions import NoView, region_view, settled
from tile_tpu.lowering.tensorize import LAYOUTS
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import FACTS
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import TensorRegion
from tilecore.ir.tile_ops import TileCall

MOST = 65535  # an extent of a view


class Work(Emitter):
    """Commands of one operation."""

    def __init__(self, chip: Chip, span: Any) -> None:
        super().__init__(chip, Frame({}, dict.fromkeys("nchw", 1), chip.lanes), Analyzer(), {}, span)

    def settled(self, view: View) -> View:
        return settled(view, self.chip.lanes, self.eu(view.dtype))

    def aligned_operand(self, view: View) -> View:
        """The view, or a copy of it, with the aligned layout from lane 0 on."""
        view = self.settled(view)
        if self.is_aligned(view):
            return view
        made = self.room(known_shape(view), view.dtype, f"{view.buffer.name}_moved")
        self.transfer(made, view)
        return made

    def transfer(self, dst: View, src: View) -> None:
        """dst = src, by the tensor unit where both begin in lane 0 and by DMA else."""
        self.emit("copy" if constant(dst.lane) == 0 == constant(src.lane) else "shift", dst, src)

    def converted(self, view: View, dtype: str) -> View:
        """The view, or what it is in another element type, in new memory; starts in lane 0 then."""
        if view.dtype == dtype:
            return view
        if constant(view.lane) != 0:
            view = self.aligned_operand(view)
        made = self.room(known_shape(view), dtype, f"{view.buffer.name}_as_{dtype}")
        self.emit("cast", made, view, rounding(view.dtype, dtype))
        return made

    def turned(self, view: View) -> View:
        """(1,w,1,c) of an aligned (1,c,1,w), in new memory."""
        _, c, _, w = known_shape(view)
        made = self.room((1, w, 1, c), view.dtype, f"{view.buffer.name}_turned")
        self.emit("transpose", made, view)
        return made


def work_of(call: TileCall, env: PassEnv) -> Work:
    return Work(chip_of(env.target), call.span)


def view_of(region: TensorRegion, env: PassEnv) -> View:
    """Raises NoView."""
    return region_view(region, env.facts[LAYOUTS]).view


def why_no_view(env: PassEnv, *regions: TensorRegion) -> str | None:
    """The reason why one of the regions is no view of known extents that the unit can work on, or None."""
    chip = chip_of(env.target)
    if any(chip.lacks(dtype_of(region.source)) for region in regions):
        return f"{chip.name} has no fp8"
    if LAYOUTS not in env.facts:
        return "tiles have no layouts"
    for region in regions:
        try:
            view = view_of(region, env)
        except NoView as error:
            return str(error)
        shape = view.constant_shape()
        if shape is None:
            return f"the size of the tile of {region.source.name} is not known when compiling"
        if any(not 1 <= extent <= MOST for extent in shape):
            return f"the tile of {region.source.name} has an extent beyond {MOST}"
    return None


def known_shape(view: View) -> tuple[int, int, int, int]:
    shape = view.constant_shape()
    assert shape is not None
    return shape


def rounding(source: str, target: str) -> str:
    """Floats to integers towards zero, else to the nearest."""
    return "zero" if FACTS[source].kind == "float" != FACTS[target].kind else "even"
