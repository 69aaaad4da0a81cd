"""Reorders the axes of DMA commands whose elements along w are too far apart.

DMA needs a stride along w of at most a beat of the bus (``tpu_gdma_move_max_wstride_byte_len``: 128 bytes, 64 on
BM1688), which must not be 0. The other axes have no such limit.
"""

from __future__ import annotations

from dataclasses import replace

from tile_tpu.codegen.operands import size_of
from tile_tpu.codegen.statements import ControlCode
from tile_tpu.ir.instructions import Command
from tile_tpu.ir.views import View
from tilecore.codegen.refusal import refuse
from tilecore.ir.build import constant


def near_elements(emit: ControlCode, command: Command) -> tuple[View, View]:
    """dst and src, with w moved to another axis where its stride is too long."""
    dst, src = (_with_any_step(command.operands[name]) for name in ("dst", "src"))
    longest = emit.chip.beat_bytes
    if all(_is_near(view, longest) for view in (dst, src)):
        return dst, src
    n, _, h, _ = (constant(extent) for extent in dst.shape)
    if h == 1:
        return _ordered(dst, (0, 1, 3)), _ordered(src, (0, 1, 3))
    if n == 1:
        return _ordered(dst, (2, 1, 3)), _ordered(src, (2, 1, 3))
    return refuse(
        command,
        emit.dialect.kind,
        f"elements at most {longest} bytes apart along the last axis, or an axis n or h of one element",
        f"a DMA transfer with strides of {src.strides[3]} and {dst.strides[3]} elements along the last axis",
    )


def _with_any_step(view: View) -> View:
    """The view with stride 1 along w where it has one element along w."""
    return replace(view, strides=(*view.strides[:3], 1)) if constant(view.shape[3]) == 1 else view


def _is_near(view: View, longest: int) -> bool:
    step = constant(view.strides[3])
    return step is not None and 0 < step * size_of(view.dtype) <= longest


def _ordered(view: View, axes: tuple[int, int, int]) -> View:
    """The view with ``axes`` as n, c and h, and one element along w."""
    shape, strides = ([numbers[axis] for axis in axes] for numbers in (view.shape, view.strides))
    return replace(view, shape=(*shape, 1), strides=(*strides, 1))
