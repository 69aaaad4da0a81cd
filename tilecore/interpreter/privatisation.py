"""Private memory inside T.Parallel.

The compiler chooses the thread that runs an iteration. So the contents of private memory are defined only where they
do not depend on that choice: scratch that each iteration writes before it reads, and values that are the same in all
threads. During the loop such buffers are replaced by copies: one for each iteration (scratch), or one for the block.
After it, elements in which the copies agree have that value, and others count as unwritten.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilecore.interpreter.memory import POISON, Storage, View
from tilecore.interpreter.scope import BufferInfo
from tilecore.interpreter.state import State


@dataclass
class PrivateCopies:
    """The copies that replace a storage.

    slots, views: the slots of its buffers in ``State.env``, and their views before the loop. replacement: the storage
    of the copies. before: the bytes with which each copy starts. agreed_bytes: which of them were written, and the same
    in all lanes, before the loop. active: which copies belong to an iteration that runs (None: all).
    """

    slots: list[int]
    views: list[View]
    replacement: Storage
    before: np.ndarray
    agreed_bytes: np.ndarray
    active: np.ndarray | None


def enter_private(state: State, buffers: list[BufferInfo], scratch: set[Any]) -> list[PrivateCopies]:
    """Replace the storage of ``buffers`` by copies; those whose root is in ``scratch`` get one for each lane."""
    done: dict[int, PrivateCopies] = {}
    for info in buffers:
        view = state.env[info.slot]
        if view is None:
            continue
        key = id(view.storage)
        if key not in done:
            done[key] = _copies_of(state, view, state.lanes if info.root in scratch else ())
        copies = done[key]
        copies.slots.append(info.slot)
        copies.views.append(view)
        lanes = state.lanes if info.root in scratch else ()
        state.env[info.slot] = View(view.name, view.kind, view.shape, copies.replacement, lanes)
    return list(done.values())


def _copies_of(state: State, view: View, lanes: tuple[int, ...]) -> PrivateCopies:
    old = view.storage
    copies = prod(view.lanes)
    data = old.data.reshape(copies, -1)
    same = np.repeat((data == data[:1]).all(axis=0).reshape(-1, old.unit).all(axis=1), old.unit)
    if old.written is not None and not old.complete:
        same &= np.repeat(old.written.reshape(copies, -1).all(axis=0), old.unit)
    before = data[0].copy()
    count = prod(lanes)
    fill = np.tile(before, count)
    written = None
    if state.options.check:
        written = np.tile(same.reshape(-1, old.unit).all(axis=1), count)
    active = None
    if lanes and state.mask is not None:
        active = np.broadcast_to(state.mask, lanes).reshape(-1)
    return PrivateCopies([], [], Storage(fill, old.unit, written), before, same, active)


def leave_private(state: State, copies: list[PrivateCopies]) -> None:
    """Put the original storages back, with the values that the loop wrote to the copies."""
    for copies_of_storage in copies:
        storage = copies_of_storage.views[0].storage
        lanes = max(len(copies_of_storage.replacement.data) // max(len(copies_of_storage.before), 1), 1)
        running = slice(None) if copies_of_storage.active is None else copies_of_storage.active
        data = copies_of_storage.replacement.data.reshape(lanes, -1)[running]
        unit = storage.unit
        agreed = _by_unit((data == data[:1]).all(axis=0), unit)
        changed = ~_by_unit((data == copies_of_storage.before).all(axis=0), unit)
        written = copies_of_storage.replacement.written
        if written is not None:
            written_lanes = written.reshape(lanes, -1)[running]
            by_unit = _by_unit(copies_of_storage.agreed_bytes, unit)
            changed |= written_lanes.any(axis=0) & ~by_unit
            agreed &= written_lanes.all(axis=0)
        _update_storage(storage, data[-1], agreed, changed, unit)
        for slot, view in zip(copies_of_storage.slots, copies_of_storage.views, strict=True):
            state.env[slot] = view


def _by_unit(flags: Any, unit: int) -> Any:
    return np.asarray(flags).reshape(-1, unit).all(axis=1)


def _update_storage(storage: Storage, value: np.ndarray, agreed: np.ndarray, changed: np.ndarray, unit: int) -> None:
    """Update the units that changed: to ``value`` where the copies agree; others count as unwritten."""
    count = len(storage.data) // max(len(value), 1)
    data = storage.data.reshape(count, -1)
    set_units, lost = np.repeat(changed & agreed, unit), np.repeat(changed & ~agreed, unit)
    data[:, set_units] = value[set_units]
    if storage.written is None:
        data[:, lost] = value[lost]
        return
    data[:, lost] = POISON
    written = storage.written.reshape(count, -1)
    written[:, changed & agreed] = True
    written[:, changed & ~agreed] = False
    storage.complete = bool(storage.written.all())
    storage.spoiled = storage.spoiled or bool((changed & ~agreed).any())
