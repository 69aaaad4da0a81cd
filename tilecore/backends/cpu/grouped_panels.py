"""The layout of B for dot products and tile registers: panels of some columns, in which the neighbours along K of one
column lie side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Expr, tirx

WIDTH = 32  # of the panels, where a caller names none


def grouped_panels(
    rows: int, columns: int, group: int, transposed: bool, moved: bool = False, width: int = WIDTH
) -> BufferLayout:
    """B [rows = K, columns = N] (or [N, K]) as [N / width, K / group, width, group].

    moved: int8 elements are kept with 128 added, as uint8, which is what the instruction takes for its first factor.
    """
    n, k = (rows, columns) if transposed else (columns, rows)

    def place(indices: Sequence[Any]) -> list[Any]:
        at_n, at_k = (indices[0], indices[1]) if transposed else (indices[1], indices[0])
        return [at_n // width, at_k // group, at_n % width, at_k % group]

    name = f"panels of {width} columns, {group} rows together{', 128 added' if moved else ''}"
    codecs = (_flip, _flip) if moved else ()
    return BufferLayout(name, (-(-n // width), -(-k // group), width, group), place, *codecs)


def _flip(value: Expr) -> Expr:
    """The sign bit of an int8 turned: 128 added to it, read as uint8."""
    return tirx.BitwiseXor(value, tirx.const(-128, "int8"))
