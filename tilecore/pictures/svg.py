"""Layouts as SVG drawings."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilecore.pictures.picture import LayoutPicture

CELL_WIDTH, CELL_HEIGHT, MARGIN, HEAD = 40, 22, 34, 58
WARP = 32


def draw(picture: LayoutPicture, rows: int, columns: int, at: Sequence[int] = ()) -> str:
    """At most ``rows`` by ``columns`` elements of a plane; each cell's title says all that is known of it."""
    from tilecore.pictures.picture import FRAGMENT

    holders, places = picture.cells(at)
    height, width = min(rows, holders.shape[0]), min(columns, holders.shape[1])
    size = (MARGIN + width * CELL_WIDTH + 10, HEAD + height * CELL_HEIGHT + 10)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        'font-family="ui-monospace, monospace" font-size="10">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="6" y="16" font-size="12">{escape(picture.title)}</text>',
        f'<text x="6" y="32" fill="#666666">{escape(picture.words)}</text>',
    ]
    lines += [_label(MARGIN + (j + 0.5) * CELL_WIDTH, HEAD - 6, str(j)) for j in range(width)]
    lines += [_label(MARGIN - 14, HEAD + (i + 0.65) * CELL_HEIGHT, str(i)) for i in range(height)]
    for i in range(height):
        for j in range(width):
            holder, place = int(holders[i, j]), int(places[i, j])
            if picture.kind == FRAGMENT:
                word, tooltip = f"{holder}.{place}", f"[{i}, {j}]: thread {holder}, register {place}"
            else:
                word, tooltip = str(holder), f"[{i}, {j}]: bank {holder}, byte {place}"
            lines.append(_cell(i, j, word, tooltip, colour(holder)))
    return "\n".join([*lines, "</svg>"]) + "\n"


def colour(holder: int) -> str:
    """One for each lane of a warp or bank; the warps differ in how pale they are."""
    lane, warp = holder % WARP, holder // WARP
    red, green, blue = colorsys.hls_to_rgb(lane * 0.618034 % 1.0, 0.86 - 0.06 * (warp % 4), 0.75)
    return f"#{int(red * 255):02x}{int(green * 255):02x}{int(blue * 255):02x}"


def _label(x: float, y: float, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle" fill="#666666">{text}</text>'


def _cell(i: int, j: int, word: str, tooltip: str, fill: str) -> str:
    x, y = MARGIN + j * CELL_WIDTH, HEAD + i * CELL_HEIGHT
    return (
        f'<g><title>{tooltip}</title><rect x="{x}" y="{y}" width="{CELL_WIDTH}" height="{CELL_HEIGHT}" fill="{fill}" '
        f'stroke="#ffffff"/><text x="{x + CELL_WIDTH / 2:g}" y="{y + 0.65 * CELL_HEIGHT:g}" '
        f'text-anchor="middle">{word}</text></g>'
    )
