"""Rows of a tensor that another tile names, by one command of DMA."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tile_tpu.ir.views import View
from tile_tpu.lowering.commands.emitter import Emitter
from tile_tpu.lowering.commands.frames import NotTensor
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant


def gather_rows(emit: Emitter, dst: View, src: View, rows: View, other: Any) -> None:
    """dst row c = src row rows[c]; ``other`` where there is no such row.

    dst: local, (1, count, 1, columns). src: of a tensor, (1, 1, size, columns), its rows along h. rows: local,
    (1, count, 1, 1), 32-bit integers, each in the lane of its row; a negative one is a row beyond the end. The
    vendor's ``h_gather`` has an index for every lane; a stride of 0 shows each lane the same rows.

    Raises NotTensor.
    """
    count, columns = constant(dst.shape[1]), constant(dst.shape[3])
    shape = (1, count, 1, columns)
    if not dst.is_local or src.is_local or tuple(map(constant, dst.shape)) != shape:
        raise NotTensor("a gather that is not of rows of a tensor into rows of a tile")
    if constant(src.shape[1]) != 1 or constant(src.shape[3]) != columns or constant(src.strides[3]) != 1:
        raise NotTensor("a gather of rows whose elements are no neighbours")
    if not rows.is_local or tuple(map(constant, rows.shape)) != (1, count, 1, 1):
        raise NotTensor("a gather by row numbers that do not lie with the rows")
    if FACTS[rows.dtype].bits != 32 or dst.dtype != src.dtype or not _same_lane(rows, dst):
        raise NotTensor(f"a gather of {src.dtype} by row numbers of {rows.dtype}")
    every = replace(src, shape=(1, count, src.shape[2], columns), strides=(0, 0, src.strides[2], 1))
    emit.emit("gather_rows", dst, every, rows, other)


def _same_lane(first: View, second: View) -> bool:
    a, b = constant(first.lane), constant(second.lane)
    return a is not None and a == b
