"""Defines layouts of buffers: the position in memory of the element at given indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, eq=False)
class BufferLayout:
    """The layout of a buffer in memory.

    shape: the shape of the buffer in memory. place: maps the indices of an element to its indices in memory. name: two
    layouts with the same name and shape are equal. encode, decode: convert a value to and from its form in memory.
    alignment: the alignment of shared memory with this layout, in bytes; 0: the default of the family. alone: the
    buffer shares its memory with no other buffer, even if their live ranges are disjoint.
    """

    name: str
    shape: tuple[int, ...]
    place: Callable[[Sequence[Any]], list[Any]]
    encode: Callable[[Any], Any] = lambda value: value
    decode: Callable[[Any], Any] = lambda value: value
    alignment: int = 0
    alone: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BufferLayout) and (self.name, self.shape) == (other.name, other.shape)

    def __hash__(self) -> int:
        return hash((self.name, self.shape))


def column_panels(rows: int, columns: int, width: int) -> BufferLayout:
    """[rows, columns] as panels of ``width`` columns, each stored row by row: [columns / width, rows, width]."""
    panels = -(-columns // width)

    def place(indices: Sequence[Any]) -> list[Any]:
        row, column = indices
        return [column // width, row, column % width]

    return BufferLayout(f"column panels of {width}", (panels, rows, width), place)


def row_panels(rows: int, columns: int, width: int) -> BufferLayout:
    """[rows, columns] as panels of ``width`` rows, each stored column by column: [rows / width, columns, width]."""
    panels = -(-rows // width)

    def place(indices: Sequence[Any]) -> list[Any]:
        row, column = indices
        return [row // width, column, row % width]

    return BufferLayout(f"row panels of {width}", (panels, columns, width), place)


def of_each_tile(layout: BufferLayout, tiles: Sequence[int]) -> BufferLayout:
    """The layout of a matrix, for a buffer [*tiles, rows, columns] of many such matrices one after another."""
    if not tiles:
        return layout

    def place(indices: Sequence[Any]) -> list[Any]:
        return [*indices[:-2], *layout.place(indices[-2:])]

    return replace(layout, shape=(*tiles, *layout.shape), place=place)


def padded_rows(shape: Sequence[int], columns: int) -> BufferLayout:
    """A layout [..., columns] with padding at the end of each row."""
    return BufferLayout(f"rows of {columns} elements", (*shape[:-1], columns), list)
