"""Collects the commands of a nest, and the temporaries that they need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tile_tpu.chips import Chip
from tile_tpu.ir.instructions import command
from tile_tpu.ir.views import LOCAL, View, aligned_strides, stored
from tile_tpu.lowering.commands.frames import Frame, Tile, Value, aligned_view, over
from tilecore.dtypes import FACTS
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, seq
from tilecore.ir.nodes import AllocBuffer, Stmt, Var, tirx


def scratch(name: str, elements: int, dtype: str) -> Var:
    """A new local buffer with ``elements`` elements in every lane."""
    return tirx.decl_buffer([elements], dtype, name, scope=LOCAL, layout=None)


class Emitter:
    """Collects commands in the innermost open list of statements.

    analyzer: has the ranges of the enclosing loops. tables: the coefficients of functions, by function, which a kernel
    loads once. fast: floats that overflow may saturate.
    """

    def __init__(
        self, chip: Chip, frame: Frame, analyzer: Analyzer, tables: dict[str, View], span: Any, fast: bool = False
    ) -> None:
        self.chip = chip
        self.frame = frame
        self.analyzer = analyzer
        self.tables = tables
        self.fast = fast
        self.span = span
        self._open: list[list[Stmt]] = [[]]
        self._filled: set[Var] = set()

    # -- statements ---------------------------------------------------------------------------------------------

    def add(self, statement: Stmt) -> None:
        self._open[-1].append(statement)

    def emit(self, name: str, *operands: Any) -> None:
        self.add(command(name, *operands, span=self.span))

    @contextmanager
    def inner(self) -> Iterator[list[Stmt]]:
        """Opens a new list of statements for the commands that are added in this context."""
        statements: list[Stmt] = []
        self._open.append(statements)
        try:
            yield statements
        finally:
            self._open.pop()

    def last(self) -> Stmt | None:
        """The last statement of the innermost open list."""
        return self._open[-1][-1] if self._open[-1] else None

    def replace_last(self, statement: Stmt) -> None:
        self._open[-1][-1] = statement

    def statement(self) -> Stmt:
        return seq(self._open[0])

    # -- memory -------------------------------------------------------------------------------------------------

    def eu(self, dtype: str) -> int:
        return self.chip.eu_count(FACTS[dtype].bits)

    def room(self, shape: tuple[int, int, int, int], dtype: str, name: str) -> View:
        """A view of a new local buffer, with the aligned layout of ``shape``. A bool is stored as a uint8."""
        dtype = stored(dtype)
        step = aligned_strides(shape, self.chip.lanes, self.eu(dtype))[0]
        buffer = scratch(name, shape[0] * step, dtype)
        self.add(AllocBuffer(buffer))
        return aligned_view(buffer, shape, self.chip.lanes, self.eu(dtype))

    def new(self, axes: frozenset[str], dtype: str, name: str = "t") -> Tile:
        """A new temporary for a value that varies along ``axes``."""
        return Tile(self.room(self.frame.shape(axes), dtype, name), axes)

    def table(self, function: str, elements: int) -> View:
        """The coefficients of a function, in every lane."""
        if function not in self.tables:
            shape = (1, self.chip.lanes, 1, elements)
            step = aligned_strides(shape, self.chip.lanes, self.eu("float32"))[0]
            buffer = scratch(f"{function}_table", step, "float32")
            self.tables[function] = aligned_view(buffer, shape, self.chip.lanes, self.eu("float32"))
        return self.tables[function]

    def fill_new(self, view: View) -> None:
        """Fills a temporary buffer with 0 after its allocation, once."""
        if view.buffer in self._filled:
            return
        self._filled.add(view.buffer)
        for statements in self._open:
            for number, statement in enumerate(statements):
                if isinstance(statement, AllocBuffer) and statement.buffer.same_as(view.buffer):
                    statements.insert(number + 1, command("fill", view, const(0, view.dtype), span=self.span))
                    return

    # -- values -------------------------------------------------------------------------------------------------

    def is_aligned(self, view: View) -> bool:
        return view.is_aligned(self.chip.lanes, self.eu(view.dtype))

    def aligned(self, tile: Tile, axes: frozenset[str]) -> View:
        """The value with the aligned layout, varying along ``axes``."""
        if tile.axes == axes and self.is_aligned(tile.view):
            return tile.view
        copy = self.new(axes, tile.dtype)
        self.emit("copy", copy.view, over(tile, self.frame, axes))
        return copy.view

    def as_tile(self, value: Any, dtype: str) -> Tile:
        """A value as a tile; a uniform expression fills the whole tile."""
        return value if isinstance(value, Tile) else self.filled(value, frozenset(), dtype)

    def filled(self, value: Any, axes: frozenset[str], dtype: str) -> Tile:
        tile = self.new(axes, dtype)
        self.emit("fill", tile.view, value)
        return tile

    def cast(self, tile: Tile, dtype: str, rounding: str = "even") -> Tile:
        """The tensor unit's own conversion, which saturates. rounding: "even" (to nearest) or "zero"."""
        result = self.new(tile.axes, dtype)
        self.emit("cast", result.view, tile.view, rounding)
        return result

    def assign(self, destination: Tile, value: Value) -> None:
        """Copies a value to a tile that varies along at least the same axes."""
        if isinstance(value, Tile):
            self.emit("copy", destination.view, over(value, self.frame, destination.axes))
        else:
            self.emit("fill", destination.view, value)

    def proves(self, condition: Any) -> bool:
        return condition if isinstance(condition, bool) else bool(self.analyzer.can_prove(condition))
