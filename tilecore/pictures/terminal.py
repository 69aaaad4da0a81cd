"""Layouts as coloured tables, for consoles that rich writes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.pictures.svg import colour

if TYPE_CHECKING:
    from tilecore.pictures.picture import LayoutPicture


def rich_table(picture: LayoutPicture, rows: int = 16, columns: int = 16) -> Any:
    """A rich Table of the first elements; elements of one thread, or of one bank, have one colour."""
    from rich.table import Table
    from rich.text import Text

    from tilecore.pictures.picture import FRAGMENT

    holders, places = picture.cells()
    height, width = min(rows, holders.shape[0]), min(columns, holders.shape[1])
    table = Table(title=picture.title, caption=picture.words, padding=(0, 0))
    table.add_column("")
    for j in range(width):
        table.add_column(str(j), justify="right")
    for i in range(height):
        cells = []
        for j in range(width):
            word = f"{holders[i, j]}.{places[i, j]}" if picture.kind == FRAGMENT else str(holders[i, j])
            cells.append(Text(word, style=f"black on {colour(int(holders[i, j]))}"))
        table.add_row(str(i), *cells)
    return table
