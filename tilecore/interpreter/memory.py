"""Memory: allocations, the buffers that view them, and checked loads and stores of many elements at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilecore.element_values import Value, ValueType
from tilecore.errors import OutOfBoundsError, UninitialisedReadError
from tilecore.interpreter.races import RaceLog, UnitAccess, check_one_writer, differ, select
from tilecore.interpreter.state import Mask, Site, State
from tilecore.interpreter.tails import check_stored, note_read

POISON = 0xFF  # every byte of fresh memory: NaN in floats, -1 in signed integers


class Storage:
    """One allocation: its bytes, which units of it have been written, and the last accesses to them.

    unit: bytes that are tracked together, the smallest element of the buffers that view it.
    written: a bool for each unit; None when everything counts as written (function arguments, unchecked runs).
    iterations, blocks: logs of accesses, for finding races. spoiled: some units count as unwritten because
    the iterations of a T.Parallel left different values in them. filler: the units that stand for what lies outside of
    a tensor (interpreter/tails.py); None: none does.
    """

    __slots__ = ("blocks", "complete", "data", "filler", "iterations", "spoiled", "unit", "written")

    def __init__(self, data: np.ndarray, unit: int, written: np.ndarray | None) -> None:
        self.data = data  # bytes, 1-D
        self.unit = unit
        self.written = written
        self.complete = written is None
        self.spoiled = False
        self.filler: np.ndarray | None = None
        self.iterations: RaceLog | None = None
        self.blocks: RaceLog | None = None

    @staticmethod
    def fresh(nbytes: int, unit: int, tracked: bool, poison: int = POISON) -> Storage:
        data = np.full(nbytes, poison, np.uint8)
        return Storage(data, unit, np.zeros(nbytes // unit, bool) if tracked else None)

    def iteration_log(self) -> RaceLog:
        if self.iterations is None:
            self.iterations = RaceLog(len(self.data) // self.unit)
        return self.iterations

    def block_log(self) -> RaceLog:
        if self.blocks is None:
            self.blocks = RaceLog(len(self.data) // self.unit)
        return self.blocks


@dataclass(frozen=True)
class Access:
    """How one statement or expression of the code accesses a buffer.

    masked: out of bounds reads give ``safe`` (or 0) and writes are dropped, rather than an error.
    tracked: it takes part in the race check of the T.Parallel that it stands in. between_blocks: in that of blocks.
    """

    site: Site
    masked: bool = False
    tracked: bool = False
    between_blocks: bool = False
    safe: Callable[[State], Value] | None = None


class View:
    """An allocated buffer: a shape and element type over a storage.

    lanes: the shape of the lanes that have a copy each, () for a single copy; copies follow each other in the storage.
    data: the storage as elements. factor: units of an element. base: the offset of each lane's copy.
    """

    __slots__ = ("base", "data", "factor", "kind", "lanes", "name", "shape", "size", "storage", "strides")

    def __init__(
        self, name: str, kind: ValueType, shape: tuple[int, ...], storage: Storage, lanes: tuple[int, ...] = ()
    ) -> None:
        self.name, self.kind, self.shape, self.storage, self.lanes = name, kind, shape, storage, lanes
        self.size = prod(shape)
        strides, step = [], 1
        for extent in reversed(shape):
            strides.append(step)
            step *= extent
        self.strides = tuple(reversed(strides))
        self.data = storage.data.view(kind.storage)
        self.factor = kind.storage.itemsize // storage.unit
        self.base: Any = np.arange(prod(lanes)).reshape(lanes) * self.size if lanes else 0

    def place(
        self, state: State, indices: Sequence[Value], mask: Mask, access: Access, base: Any = None
    ) -> tuple[Any, Mask]:
        """Offsets of the elements at ``indices`` (one value an axis, broadcast together), and the lanes of ``mask``
        that are inside the buffer. Offsets of other lanes are valid but meaningless."""
        offset = self.base if base is None else base
        inside: Any = None
        for value, extent, stride in zip(indices, self.shape, self.strides, strict=True):
            if not isinstance(value, np.ndarray):
                position = int(value)
                if 0 <= position < extent:
                    offset = offset + position * stride
                    continue
                in_axis: Any = np.bool_(False)
            else:
                value = value.astype(np.int64, copy=False)
                if value.size == 0 or (value.min() >= 0 and value.max() < extent):
                    offset = offset + value * stride
                    continue
                in_axis = (value >= 0) & (value < extent)
                offset = offset + np.where(in_axis, value, 0) * stride
            inside = in_axis if inside is None else inside & in_axis
        if inside is None:
            return offset, mask
        outside = ~inside if mask is None else ~inside & mask
        if not outside.any():
            return (offset if self.size else np.zeros_like(offset)), mask
        if not access.masked:
            raise self.outside_error(state, indices, outside, access)
        reached = inside if mask is None else inside & mask
        return offset, reached if reached.any() else False

    def load(self, state: State, indices: Sequence[Value], access: Access) -> Value:
        """The elements at ``indices`` in the active lanes; the values of inactive lanes are meaningless."""
        offset, reached = self.place(state, indices, state.mask, access)
        note_read(state, self, indices, reached, access)
        return self.fetch(state, offset, reached, indices, access)

    def fetch(self, state: State, offset: Any, reached: Mask, indices: Sequence[Value], access: Access) -> Value:
        """Read the elements at ``offset`` where ``reached``; elsewhere the safe value."""
        if reached is False or self.size == 0:
            return np.broadcast_to(self._safe(state, access), np.shape(offset))[()]
        if not self.storage.complete:
            self.require_written(state, offset, reached, indices, access)
        if state.options.check:
            self._log_read(state, offset, reached, access)
        value = self.kind.decode(self.data[offset])
        if reached is None or (reached is state.mask and access.safe is None):
            return value
        return np.where(reached, value, self._safe(state, access))

    def store(self, state: State, indices: Sequence[Value], value: Value, access: Access) -> None:
        """Write ``value`` to the elements at ``indices`` in the active lanes."""
        offset, reached = self.place(state, indices, state.mask, access)
        check_stored(state, self, reached)
        is_unshared = not state.options.check or bool(self.lanes and self.lanes == state.lanes)
        self.put(state, offset, reached, value, access, state.lanes, is_unshared)

    def put(
        self,
        state: State,
        offset: Any,
        reached: Mask,
        value: Value,
        access: Access,
        lanes: tuple[int, ...],
        is_unshared: bool,
    ) -> None:
        """Write ``value`` at ``offset`` where ``reached``; all three broadcast to ``lanes``. is_unshared: no check for
        two lanes that write one element is needed."""
        if reached is False or self.size == 0:
            return
        raw = self.kind.encode(value)
        is_race_checked = self.is_race_checked(state, access)
        if not lanes and not is_race_checked:
            self.data[offset] = raw
            self.mark_written(offset)
            return
        where, bits = select(offset, reached, lanes), select(raw, reached, lanes)
        before = self.data[where] if is_race_checked else None
        self.data[where] = bits
        if not is_unshared:
            check_one_writer(state, self, where, bits, reached, access.site, lanes)
        if before is not None:
            changed = differ(before, bits)
            for log, unit_access in self.race_accesses(state, access, where, reached):
                log.write(state, self, unit_access, access.site, changed)
        self.mark_written(where)

    def mark_written(self, offset: Any) -> None:
        storage = self.storage
        if storage.filler is not None and self.factor == 1:
            storage.filler[offset] = False
        if storage.complete or storage.written is None:
            return
        if self.factor == 1:
            storage.written[offset] = True
        else:
            storage.written.reshape(-1, self.factor)[offset] = True
        if np.size(offset) * self.factor * 2 >= storage.written.size:
            storage.complete = bool(storage.written.all())

    # -- races -----------------------------------------------------------------------------------------------

    def is_race_checked(self, state: State, access: Access) -> bool:
        """Whether an access takes part in a race check."""
        if not state.options.check:
            return False
        if access.between_blocks and state.options.block_races:
            return True
        return access.tracked and bool(state.coordinates) and self.lanes != state.lanes

    def race_accesses(
        self, state: State, access: Access, where: np.ndarray, reached: Mask
    ) -> Iterator[tuple[RaceLog, UnitAccess]]:
        """The logs that an access of the offsets ``where`` (1-D, of the lanes ``reached``) goes into."""
        if access.tracked and state.coordinates and self.lanes != state.lanes:
            yield self.storage.iteration_log(), UnitAccess.of_iterations(state, self, where, reached)
        if access.between_blocks and state.options.block_races:
            yield self.storage.block_log(), UnitAccess.of_block(state, self, where)

    def _log_read(self, state: State, offset: Any, reached: Mask, access: Access) -> None:
        if not self.is_race_checked(state, access):
            return
        shape = state.lanes if state.coordinates else np.broadcast_shapes(np.shape(offset), np.shape(reached))
        where = select(offset, reached, shape)
        for log, unit_access in self.race_accesses(state, access, where, reached):
            log.read(state, self, unit_access, access.site)

    # -- checks ----------------------------------------------------------------------------------------------

    def _safe(self, state: State, access: Access) -> Value:
        return self.kind.carrier.type(0) if access.safe is None else access.safe(state)

    def require_written(
        self, state: State, offset: Any, reached: Mask, indices: Sequence[Value], access: Access
    ) -> None:
        written = self.storage.written
        assert written is not None
        done = written[offset] if self.factor == 1 else written.reshape(-1, self.factor)[offset].all(axis=-1)
        missing = ~done if reached is None else ~done & reached
        if not np.any(missing):
            return
        lane, index = _first(missing, indices)
        hint = f"fill it first, as by T.clear({self.name})"
        if self.storage.spoiled:
            hint = "iterations of a T.Parallel left different values in it: each had its own copy"
        raise access.site.error(
            state,
            UninitialisedReadError,
            f"{self.name}[{_text(index)}] is read before anything was written to it",
            lane=lane,
            found=f"{self.name} has shape {self.shape}; {int(np.sum(missing))} of the elements read here are unwritten",
            hint=hint,
        )

    def outside_error(self, state: State, indices: Sequence[Value], outside: Any, access: Access) -> Exception:
        """The error for an access whose ``indices`` are outside in the lanes ``outside``."""
        lane, index = _first(outside, indices)
        axis = next(i for i, (at, extent) in enumerate(zip(index, self.shape, strict=True)) if not 0 <= at < extent)
        return access.site.error(
            state,
            OutOfBoundsError,
            f"{self.name}[{_text(index)}] is outside {self.name}",
            lane=lane,
            found=f"index {index[axis]} on axis {axis}",
            expected=f"0 to {self.shape[axis] - 1}; {self.name} has shape {self.shape}",
        )


def _first(bad: Any, indices: Sequence[Value]) -> tuple[tuple[int, ...] | None, list[int]]:
    """The first lane where ``bad`` holds, and the indices there."""
    shape = np.broadcast_shapes(np.shape(bad), *(np.shape(i) for i in indices))
    if not shape:
        return None, [int(i) for i in indices]
    lane = tuple(int(i) for i in np.unravel_index(int(np.argmax(np.broadcast_to(bad, shape))), shape))
    return lane, [int(np.broadcast_to(i, shape)[lane]) for i in indices]


def _text(index: Sequence[int]) -> str:
    return ", ".join(map(str, index))
