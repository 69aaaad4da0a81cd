"""A picture of one buffer's layout: which thread and register hold an element, or in which bank of memory it lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilecore.errors import ArgumentError
from tilecore.whole_files import file_path, write_whole

if TYPE_CHECKING:
    import numpy as np

FRAGMENT, MEMORY = "fragment", "memory"


@dataclass(frozen=True)
class LayoutPicture:
    """Where each element of a buffer [shape] lies; ``print`` it, or ``save`` it as SVG.

    kind FRAGMENT: ``holder`` [shape] int64 is the first thread that has the element, ``place`` [shape] its register
    there; ``copies`` threads have it. kind MEMORY: ``holder`` is the bank (of 32, 4 bytes wide; of the element's first
    byte), ``place`` the byte from the buffer's start. words: the layout's own name.
    """

    name: str
    dtype: str
    kind: str
    shape: tuple[int, ...]
    holder: np.ndarray = field(repr=False)
    place: np.ndarray = field(repr=False)
    words: str = ""
    copies: int = 1

    @property
    def title(self) -> str:
        size = "x".join(map(str, self.shape)) or "one element"
        cell_text = "thread.register" if self.kind == FRAGMENT else "bank"
        also = f", {self.copies} threads have each element" if self.copies > 1 else ""
        return f"{self.name}: {size} {self.dtype}, {cell_text} of each element{also}"

    def renamed(self, name: str) -> LayoutPicture:
        return replace(self, name=name)

    def cells(self, at: Sequence[int] = ()) -> tuple[np.ndarray, np.ndarray]:
        """(holders, places) of a plane [rows, columns]: the last two axes, at indices ``at`` of those before (0)."""
        import numpy as np

        leading = max(0, len(self.shape) - 2)
        chosen = (*at, *[0] * (leading - len(at)))
        if len(at) > leading or any(not 0 <= i < n for i, n in zip(chosen, self.shape, strict=False)):
            raise ArgumentError(
                f"{self.name} has no plane {tuple(at)}", expected=f"indices of {list(self.shape[:leading])}"
            )
        return tuple(np.atleast_2d(table[chosen]) for table in (self.holder, self.place))  # type: ignore[return-value]

    def text(self, rows: int = 32, columns: int = 32, at: Sequence[int] = ()) -> str:
        """A table of at most so many rows and columns: ``5.2`` is thread 5, register 2; a bank is one number."""
        holders, places = self.cells(at)
        shown = holders[:rows, :columns]
        if self.kind == FRAGMENT:
            pairs = zip(shown, places[:rows, :columns], strict=True)
            cells = [[f"{h}.{p}" for h, p in zip(*pair, strict=True)] for pair in pairs]
        else:
            cells = [[str(h) for h in row] for row in shown]
        head = [str(j) for j in range(shown.shape[1])]
        width = max(len(word) for row in [head, *cells] for word in row)
        margin = len(str(shown.shape[0] - 1))
        cut = f"\n(the first {shown.shape[0]} rows and {shown.shape[1]} columns)"
        lines = [f"{'':{margin}}  " + " ".join(word.rjust(width) for word in head)]
        lines += [f"{i:{margin}}  " + " ".join(word.rjust(width) for word in row) for i, row in enumerate(cells)]
        return "\n".join([self.title, self.words, *lines]) + (cut if shown.shape != holders.shape else "")

    def __str__(self) -> str:
        return self.text(16, 16)

    def __rich__(self) -> Any:
        from tilecore.pictures.terminal import rich_table

        return rich_table(self)

    def svg(self, rows: int = 64, columns: int = 64, at: Sequence[int] = ()) -> str:
        """The same as a drawing; elements of one thread, or of one bank, have one colour."""
        from tilecore.pictures.svg import draw

        return draw(self, rows, columns, at)

    def save(self, path: str | Path, rows: int = 64, columns: int = 64, at: Sequence[int] = ()) -> Path:
        """Write it to a file, in a folder that is made if there is none: a drawing to ``.svg``, a table to ``.txt``."""
        target = file_path(path)
        if target.suffix not in (".svg", ".txt"):
            raise ArgumentError(
                f"a picture cannot be saved as {target.suffix or 'that'}", found=str(path), expected=".svg or .txt"
            )
        text = self.svg(rows, columns, at) if target.suffix == ".svg" else self.text(rows, columns, at) + "\n"
        write_whole(target, text)
        return target
