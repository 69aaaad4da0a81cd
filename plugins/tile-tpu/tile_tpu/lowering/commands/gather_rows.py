"""Gathers rows of a tensor whose indices are in a tile, by one DMA command."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tile_tpu.ir.views import View
from tile_tpu.lowering.commands.emitter import Emitter
from tile_tpu.lowering.commands.frames import NotTensor
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant


def gather_rows(emit: Emitter, dst: View, src: View, rows: View, other: Any) -> None:
    """Copies row ``rows[c]`` of ``src`` to row c of ``dst``, or ``other`` where that row is outside of the tensor.

    dst: a local view (1, count, 1, columns). src: a view of a tensor (1, 1, size, columns) with its rows along h. rows:
    a local view (1, count, 1, 1) of 32-bit integers, each in the lane of its row; negative indices are outside. The
    vendor's ``h_gather`` has a row index for each lane, and rows of its own; a stride of 0 gives all lanes the same.

    Raises NotTensor.
    """
    count, columns = constant(dst.shape[1]), constant(dst.shape[3])
    shape = (1, count, 1, columns)
    if not dst.is_local or src.is_local or tuple(map(constant, dst.shape)) != shape:
        raise NotTensor("a gather loads rows of a tensor to rows of a tile only")
    if constant(src.shape[1]) != 1 or constant(src.shape[3]) != columns or constant(src.strides[3]) != 1:
        raise NotTensor("a gather needs rows whose elements are adjacent")
    if not rows.is_local or tuple(map(constant, rows.shape)) != (1, count, 1, 1):
        raise NotTensor("a gather needs each row index in the lane of its row")
    if FACTS[rows.dtype].bits != 32 or dst.dtype != src.dtype or not _same_lane(rows, dst):
        raise NotTensor(
            f"a gather needs 32-bit row indices and one element type, not {rows.dtype}, and {src.dtype} to {dst.dtype}"
        )
    every = replace(src, shape=(1, count, src.shape[2], columns), strides=(0, 0, src.strides[2], 1))
    emit.emit("gather_rows", dst, every, rows, other)


def _same_lane(first: View, second: View) -> bool:
    a, b = constant(first.lane), constant(second.lane)
    return a is not None and a == b
