"""Private memory inside T.Parallel.

Iterations are spread over the threads by the compiler, so what a thread's own memory holds there is known only when
it does not depend on that: scratch that each iteration writes before it reads, and values that are the same in all
threads. For the length of the loop such buffers are replaced by copies, one for each iteration (scratch) or one for
the block; afterwards elements on which the copies agree keep that value, others count as unwritten.
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
class Privatised:
    """A storage that was replaced by copies. slots, views: what stood in the environment. before: its bytes as one
    copy. agreed_bytes: the bytes of it that were the same in all lanes and written. active: which copies belong to an
    iteration that runs (None: all)."""

    slots: list[int]
    views: list[View]
    replacement: Storage
    before: np.ndarray
    agreed_bytes: np.ndarray
    active: np.ndarray | None


def enter_private(state: State, buffers: list[BufferInfo], scratch: set[Any]) -> list[Privatised]:
    """Replace the storage of ``buffers`` by copies; those whose root is in ``scratch`` get one for each lane."""
    done: dict[int, Privatised] = {}
    for info in buffers:
        view = state.env[info.slot]
        if view is None:
            continue
        key = id(view.storage)
        if key not in done:
            done[key] = _copy(state, view, state.lanes if info.root in scratch else ())
        copies = done[key]
        copies.slots.append(info.slot)
        copies.views.append(view)
        lanes = state.lanes if info.root in scratch else ()
        state.env[info.slot] = View(view.name, view.kind, view.shape, copies.replacement, lanes)
    return list(done.values())


def _copy(state: State, view: View, lanes: tuple[int, ...]) -> Privatised:
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
    return Privatised([], [], Storage(fill, old.unit, written), before, same, active)


def leave_private(state: State, copies: list[Privatised]) -> None:
    """Put the storages back, with what the loop left in them."""
    for item in copies:
        storage = item.views[0].storage
        lanes = max(len(item.replacement.data) // max(len(item.before), 1), 1)
        running = slice(None) if item.active is None else item.active
        data = item.replacement.data.reshape(lanes, -1)[running]
        unit = storage.unit
        agreed = _by_unit((data == data[:1]).all(axis=0), unit)
        changed = ~_by_unit((data == item.before).all(axis=0), unit)
        written = item.replacement.written
        if written is not None:
            written_lanes = written.reshape(lanes, -1)[running]
            by_unit = _by_unit(item.agreed_bytes, unit)
            changed |= written_lanes.any(axis=0) & ~by_unit
            agreed &= written_lanes.all(axis=0)
        _settle(storage, data[-1], agreed, changed, unit)
        for slot, view in zip(item.slots, item.views, strict=True):
            state.env[slot] = view


def _by_unit(flags: Any, unit: int) -> Any:
    return np.asarray(flags).reshape(-1, unit).all(axis=1)


def _settle(storage: Storage, value: np.ndarray, agreed: np.ndarray, changed: np.ndarray, unit: int) -> None:
    """Write the units that changed: ``value`` where the copies agreed, else nothing that may be read."""
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
