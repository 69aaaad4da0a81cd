"""Layouts of shared tiles that waves read without bank conflicts (tilecore/lowering/simt/matrix/swizzle.py)."""

from __future__ import annotations

from tile_hip.architectures import Architecture
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Var
from tilecore.lowering.simt.matrix import swizzle


def swizzled(buffer: Var, architecture: Architecture) -> BufferLayout | None:
    """The layout of a tile without bank conflicts; None where row-major order has none."""
    return swizzle.swizzled(buffer, 256 if architecture.name == "gfx950" else 128)
