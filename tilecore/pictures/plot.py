"""Draws layouts that users write, T.Layout and T.Fragment, to SVG files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from tilecore.errors import ArgumentError
from tilecore.language.layouts import Fragment, Layout, index_numbers
from tilecore.pictures.picture import FRAGMENT, MEMORY, LayoutPicture

_BANKS, _BANK_BYTES = 32, 4
_FORMATS = ("svg", "txt", "pdf", "png", "all")


def plot_layout(
    layout: Layout,
    save_directory: str | Path = "./tmp",
    name: str = "layout",
    colormap: str | None = None,
    verbose: bool = False,
    formats: str | Sequence[str] = "svg",
    view: str = "input",
    grid_shape: tuple[int, int] | None = None,
) -> None:
    """Write a drawing of a layout to ``save_directory/name.svg``: the thread and register of each element of a
    T.Fragment, or the place of each element of a T.Layout.

    formats: "svg", "txt" (a table), or a list of both; for another format of TileLang's ("pdf", "png", "all") a
    drawing in SVG is written, with a warning. verbose: print the table. colormap, view, grid_shape: accepted for
    programs that set them; there is one colour for each lane, and elements stand at their logical indices. Raises
    ArgumentError for another format, or for what is no layout.
    """
    import numpy as np

    if not isinstance(layout, Layout):
        raise ArgumentError(
            "plot_layout takes a layout", found=type(layout).__name__, expected="T.Layout or T.Fragment"
        )
    fragment = layout if isinstance(layout, Fragment) else None
    kind = MEMORY if fragment is None else FRAGMENT
    holders = np.zeros(layout.shape, dtype=np.int64)
    places = np.zeros(layout.shape, dtype=np.int64)
    sizes = layout.get_output_shape() if fragment is None else []
    for index in product(*map(range, layout.shape)):
        holders[index], places[index] = _offset(layout, index, sizes) if fragment is None else _place(fragment, index)
    copies = 1 if fragment is None else int(fragment.replicate)
    picture = LayoutPicture(name, "elements", kind, tuple(layout.shape), holders, places, repr(layout), copies)
    folder = Path(save_directory)
    folder.mkdir(parents=True, exist_ok=True)
    for ending in _endings(formats):
        picture.save(folder / f"{name}{ending}")
    if verbose:
        print(picture)


def plot_fragment_tv(
    frag: Fragment, save_directory: str | Path | None = None, name: str = "layout", **style: Any
) -> None:
    """:func:`plot_layout` of a T.Fragment; other arguments of TileLang's are styles and change nothing."""
    plot_layout(frag, save_directory or "./tmp", name)


def _endings(formats: str | Sequence[str]) -> list[str]:
    words = [formats] if isinstance(formats, str) else list(formats)
    words = [word.strip() for text in words for word in text.split(",")]
    unknown = [word for word in words if word not in _FORMATS]
    if unknown:
        raise ArgumentError(f"a layout cannot be drawn as {unknown[0]!r}", expected=", ".join(_FORMATS))
    if {"pdf", "png", "all"} & {*words}:
        warnings.warn("layouts are drawn as SVG; formats='svg' or 'txt' says so", stacklevel=3)
    return [f".{word}" for word in dict.fromkeys("txt" if word == "txt" else "svg" for word in words)]


def _place(layout: Fragment, index: tuple[int, ...]) -> tuple[int, int]:
    """Thread and register of an element, of its first copy."""
    copy = (0,) if layout.replicate > 1 else ()
    thread, *registers = index_numbers(layout.thread_and_place(*index, *copy))
    return thread, registers[0] if registers else 0


def _offset(layout: Layout, index: tuple[int, ...], sizes: Sequence[int]) -> tuple[int, int]:
    """(bank, offset) of an element, row by row over the physical axes; elements are taken to be as wide as a bank."""
    offset = 0
    for place, size in zip(index_numbers(layout.map_forward_index(index)), sizes, strict=True):
        offset = offset * size + place
    return offset % _BANKS, offset * _BANK_BYTES
