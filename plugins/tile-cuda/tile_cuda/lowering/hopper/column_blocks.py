"""Swizzled layouts of shared tiles that tensor maps write and wgmma reads.

A tile [..., rows, columns] is divided into blocks of as many columns as fit into 128 (64, 32) bytes. The blocks follow
one another, each row by row. In a block the pieces of 16 bytes of a row are permuted by the row's index. PTX ISA,
"Tensor copies: swizzling modes" and "Asynchronous warpgroup level matrix shared memory layout", define the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Var, tirx

PIECE = 16  # bytes
SPANS = (128, 64, 32)  # bytes of a block's row, the swizzle modes
PATTERN = 8  # rows after which the permutation of pieces repeats
LINE = 128  # bytes: all banks of shared memory once
CODES = {128: 1, 64: 2, 32: 3}  # of a swizzle mode in a matrix descriptor
NAMES = {128: "128B", 64: "64B", 32: "32B"}  # of a swizzle mode in a tensor map


@dataclass(frozen=True)
class ColumnBlocks:
    """A tile's shape and its division. span: bytes of a block's row. columns: elements of a block's row."""

    shape: tuple[int, ...]
    span: int
    columns: int

    @property
    def rows(self) -> int:
        return self.shape[-2]

    @property
    def count(self) -> int:
        return self.shape[-1] // self.columns

    @property
    def bytes(self) -> int:
        """The size of one block."""
        return self.rows * self.span

    @property
    def alignment(self) -> int:
        """The alignment of a tile, in bytes: that of one pattern of eight rows."""
        return PATTERN * self.span

    @cached_property
    def layout(self) -> BufferLayout:
        each = self.columns * PIECE // self.span  # elements of a piece
        period, rows_of_line = self.span // PIECE, LINE // self.span

        def place(indices: Sequence[Any]) -> list[Any]:
            row, column = indices[-2], indices[-1]
            permutation = row // rows_of_line % period if rows_of_line > 1 else row % period
            inside = column % self.columns if self.count > 1 else column
            block = column // self.columns if self.count > 1 else column * 0
            return [*indices[:-2], block, row, tirx.BitwiseXor(inside // each, permutation) * each + inside % each]

        name = f"blocks of {self.columns} columns with the {self.span}-byte swizzle"
        shape = (*self.shape[:-2], self.count, self.rows, self.columns)
        return BufferLayout(name, shape, place, alignment=self.alignment)


def column_blocks_of(buffer: Var) -> ColumnBlocks | None:
    """The division of a shared tile; None where its rows are not multiples of 32 bytes, or its type is too wide."""
    shape = [constant(size) for size in buffer.shape]
    bits = DType(dtype_of(buffer)).bits
    if len(shape) < 2 or None in shape or bits % 8 or bits > 64:
        return None
    sizes = tuple(int(size or 0) for size in shape)
    row_bytes = sizes[-1] * bits // 8
    span = next((s for s in SPANS if row_bytes % s == 0), None)
    return None if span is None or sizes[-2] % 8 else ColumnBlocks(sizes, span, span * 8 // bits)
