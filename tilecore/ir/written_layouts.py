"""Converts layouts that users write as functions of indices to the layouts that lowering uses.

``hint`` is what ``T.Layout`` or ``T.Fragment`` leave in the IR (``Layout.to_ir``): ``kind``, ``shape`` and ``index``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilecore.errors import LanguageError
from tilecore.ir.attributes import LayoutAttr
from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Var
from tilecore.ir.tabulate import tabulate
from tilecore.ir.visit import substitute


def memory_layout(hint: Mapping[str, Any], name: str) -> BufferLayout:
    """A T.Layout as a rearrangement of buffer ``name`` [shape]. It may leave room between elements, as padding does.

    Raises a LanguageError where two elements would lie at one place, or one before the start.
    """
    shape = tuple(int(size) for size in hint[LayoutAttr.SHAPE])
    variables, places = list(hint[LayoutAttr.INDEX].initial_indices), list(hint[LayoutAttr.INDEX].final_indices)
    tables = tabulate(variables, places, shape)
    if any(int(table.min()) < 0 for table in tables):
        raise LanguageError(f"the layout of {name} maps elements to negative indices", expected="indices of 0 or more")
    sizes = tuple(int(table.max()) + 1 for table in tables)
    _require_injective(np.ravel_multi_index(tables, sizes).ravel(), shape, sizes, name)

    def place(indices: Sequence[Any]) -> list[Any]:
        return [substitute(p, dict(zip(variables, indices, strict=True))) for p in places]

    text = ", ".join(str(p) for p in places)
    return BufferLayout(f"({', '.join(str(v.name) for v in variables)}) -> ({text})", sizes, place)


def _require_injective(offsets: np.ndarray, shape: Sequence[int], sizes: Sequence[int], name: str) -> None:
    """Raises a LanguageError where two elements have one offset. offsets: of each element, in memory of ``sizes``."""
    order = np.argsort(offsets, kind="stable")
    repeated = np.flatnonzero(np.diff(offsets[order]) == 0)
    if not repeated.size:
        return
    first, second = (_text(np.unravel_index(order[at], shape)) for at in (repeated[0], repeated[0] + 1))
    place = _text(np.unravel_index(offsets[order[repeated[0]]], sizes))
    raise LanguageError(
        f"the layout of shared buffer `{name}` must be injective: {name}[{first}] and {name}[{second}] "
        f"both map to physical coordinates ({place})",
        expected="a different index for every element",
        hint="an index that drops a part of the element's index needs another one that keeps it: i % 64 and i // 64",
    )


def _text(indices: Sequence[Any]) -> str:
    return ", ".join(str(int(index)) for index in indices)


def padded(shape: Sequence[int], elements: int) -> BufferLayout:
    """Rows with ``elements`` unused ones after each."""
    return BufferLayout(
        f"rows padded by {elements}", (*shape[:-1], shape[-1] + elements), lambda indices: list(indices)
    )


def slotted(layout: BufferLayout, slots: int) -> BufferLayout:
    """``slots`` buffers of a layout behind one another; the slot is the first index."""
    return BufferLayout(
        layout.name, (slots, *layout.shape), lambda indices: [indices[0], *layout.place(list(indices[1:]))]
    )


def run_of(layout: BufferLayout | None, shape: Sequence[int]) -> int:
    """The largest power of two such that as many neighbours of a row, from a multiple of it on, are neighbours in
    memory from a multiple of it on, in order. None: rows as they are."""
    row = int(shape[-1]) & -int(shape[-1])  # of what is no power of two only so much is whole
    if layout is None:
        return row
    variables = [Var(f"i{axis}", "int32") for axis in range(len(shape))]
    tables = tabulate(variables, layout.place(variables), shape)
    offsets = np.ravel_multi_index(tables, layout.shape).reshape(-1, shape[-1])
    run = 1
    while run * 2 <= row:
        pieces = offsets.reshape(len(offsets), -1, run * 2)
        if (pieces[..., :1] % (run * 2)).any() or (pieces != pieces[..., :1] + np.arange(run * 2)).any():
            break
        run *= 2
    return run


def fragment_layout(hint: Mapping[str, Any], threads: int) -> FragmentLayout | None:
    """A T.Fragment over the threads of a block; None where it is no list of digits (ir/fragments.py).

    Threads that it does not speak of hold copies. Of where elements lie in a thread their order is kept.
    """
    shape = tuple(int(size) for size in hint[LayoutAttr.SHAPE])
    variables, values = list(hint[LayoutAttr.INDEX].initial_indices), list(hint[LayoutAttr.INDEX].final_indices)
    copies = int(hint.get(LayoutAttr.REPLICATE, 1))
    whole = (*shape, copies) if copies > 1 else shape
    thread, *inside = (table[..., 0] if copies > 1 else table for table in tabulate(variables, values, whole))
    if int(thread.min()) < 0 or int(thread.max()) >= threads:
        return None
    register = _joined_places(inside, shape)
    digits = [d for axis in range(len(shape)) for d in _digits_of(axis, thread, register, shape)]
    try:
        layout = FragmentLayout(shape, threads, tuple(_in_order(digits)))
    except ValueError:
        return None
    if (_threads_of(layout) != thread).any():
        return None
    return layout


def _joined_places(inside: Sequence[np.ndarray], shape: Sequence[int]) -> np.ndarray:
    """The places in a thread as one number: of several indices the last counts fastest."""
    total = np.zeros(tuple(shape), np.int64)
    for table in inside:
        total = total * (int(table.max()) + 1) + table
    return total


def _digits_of(axis: int, thread: np.ndarray, register: np.ndarray, shape: Sequence[int]) -> list[Digit]:
    """Digits of one axis, read off the line through element 0."""
    line = tuple(slice(None) if a == axis else 0 for a in range(len(shape)))
    to = {THREAD: thread[line] - thread[line][0], REGISTER: register[line] - register[line][0]}
    size, at, digits = int(shape[axis]), 1, []
    while at < size:
        where = THREAD if to[THREAD][at] else REGISTER
        stride = int(to[where][at])
        extent = 2
        while at * extent < size and all(
            int(v[at * extent]) == (extent * stride if w == where else 0) for w, v in to.items()
        ):
            extent += 1
        digits.append(Digit(axis, at, extent, where, stride))
        at *= extent
    return digits


def _in_order(digits: Sequence[Digit]) -> list[Digit]:
    """The digits with register numbers that have no gaps, in the same order."""
    ordered, at = [d for d in digits if d.where == THREAD], 1
    for d in sorted((d for d in digits if d.where == REGISTER), key=lambda d: d.stride):
        ordered.append(d._replace(stride=at))
        at *= d.extent
    return ordered


def _threads_of(layout: FragmentLayout) -> np.ndarray:
    """The first thread that holds each element."""
    places = np.indices(layout.shape, dtype=np.int64)
    return np.broadcast_to(np.asarray(layout.thread(list(places))), layout.shape)
