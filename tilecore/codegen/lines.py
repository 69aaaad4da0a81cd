"""Collects the lines of a kernel's body, with a comment of the user's line where it changes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tilecore.codegen.bounds import Bounds
from tilecore.codegen.expressions import Expressions
from tilecore.codegen.refusal import refuse
from tilecore.ir.build import constant

if TYPE_CHECKING:
    from tilecore.codegen.dialect import Dialect
    from tilecore.codegen.memory_uses import MemoryUses
    from tilecore.codegen.names import Names
    from tilecore.codegen.text import Text
    from tilecore.errors import Location


class Lines(Expressions):
    """Holds the state of one kernel that is being emitted.

    lines: of the kernel's body. declarations: lines in front of the kernel, and the names that they declare. depth: of
    the block that is open. offsets: where shared buffers lie in the arena, by name. assertions: their texts, in order.
    has_directives: every line is behind one that names the user's file and line, for compilers to keep.
    """

    def __init__(self, dialect: Dialect, names: Names, offsets: Mapping[str, int], uses: MemoryUses) -> None:
        super().__init__(dialect, Bounds())
        self.names = names
        self.offsets = offsets
        self.uses = uses
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        self.depth = 1
        self.assertions: list[str] = []
        self._place: tuple[str, int] | None = None  # the user's line of the statement that is being emitted
        self._noted: tuple[str, int] | None = None
        self.has_directives = False
        self._origin: tuple[str, int] | None = None  # the user's line that the next lines of source are from

    @property
    def expressions(self) -> Lines:
        """The emitter itself: expressions were emitted by an object of their own in earlier versions."""
        return self

    def line(self, text: str) -> None:
        """One line of source, with the user's line behind it when that is another than before."""
        note = ""
        if self._place is not None and self._place != self._noted:
            note = f"  {self.comment} {self._place[0]}:{self._place[1]}"
            self._noted = self._place
        self._append(f"{text}{note}")

    def _plain_line(self, text: str) -> None:
        """A line without a note of the user's line; none for ""."""
        if text:
            self._append(text)

    def _append(self, text: str) -> None:
        """Add a line; behind a line of its own that says where it is from, where the source has them."""
        if not text.startswith("#"):
            self.lines += self._directives()
        self.lines.append(f"{'  ' * self.depth}{text}")

    def _at(self, place: Location | None) -> None:
        """The lines that follow are from ``place``; where it is None, from the same as before."""
        if place is not None:
            self._place = (os.path.basename(place.file), place.line)
            self._origin = (place.file, place.line)

    def _directives(self) -> list[str]:
        """The line that names the user's line to the compiler, or none."""
        if not self.has_directives or self._origin is None:
            return []
        path, line = self._origin
        directive = self.line_directive(os.path.abspath(path), line)
        return [directive] if directive else []

    def declare(self, name: str, text: str) -> None:
        """A declaration of ``name`` in front of the kernel, for languages that declare parameters or shared memory
        there. No other kernel of the module uses the name."""
        self.declarations[name] = text

    def call_line(self, call: Text) -> None:
        """A call that stands alone."""
        self.line(self.call_statement(call))

    def known_number(self, node: Any, value: Any) -> int:
        """The number that ``value`` is. Raises UnsupportedError, at ``node``'s line, where it is not constant."""
        number = constant(value)
        return refuse(node, self.dialect.kind, what="a count that is no constant") if number is None else number
