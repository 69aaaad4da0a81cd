"""Races: which iterations of a T.Parallel, and which blocks of a kernel, accessed which element.

Iterations of a T.Parallel nest are independent, and so are the blocks of a kernel: two of them may not write different
values to one element, and none may read what another writes. An iteration is identified by its coordinates, one for
each level of the nest (a perfect nest is one level). A statement between two levels belongs to all iterations below
it, so two accesses are in order when their coordinates agree on the levels that both have. A block has one coordinate.

A log keeps, for every unit of a storage, the coordinates of the last reader, writer and atomic update. Coordinates on
the first level are offset by an epoch, so nothing needs clearing: smaller numbers are of loops that have ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tilecore.errors import RaceError

if TYPE_CHECKING:
    from tilecore.interpreter.memory import View
    from tilecore.interpreter.state import Mask, Site, State

ABSENT, SEVERAL = -1, -2  # on the levels below the first
_VERBS = {"read": "reads", "write": "writes", "atomic": "updates atomically"}


@dataclass(frozen=True)
class UnitAccess:
    """The access of one statement: its units, and for each the coordinates of the iteration or block that accesses it.

    coordinates: one array a level. epoch, end: the range of first coordinates in use. mask, lanes: the lane that each
    unit belongs to; lanes is None for the access of a whole block.
    """

    units: np.ndarray
    coordinates: Sequence[np.ndarray]
    epoch: int
    end: int
    mask: Mask
    lanes: tuple[int, ...] | None

    @staticmethod
    def of_iterations(state: State, view: View, offsets: np.ndarray, mask: Mask) -> UnitAccess:
        """offsets: those of the elements in the lanes of ``mask``, 1-D."""
        coordinates = [select(level, mask, state.lanes) for level in state.coordinates]
        units = _units(view, offsets)
        spread = [np.repeat(level, view.factor) if view.factor > 1 else level for level in coordinates]
        return UnitAccess(units, spread, state.epoch, state.epoch_end, mask, state.lanes)

    @staticmethod
    def of_block(state: State, view: View, offsets: np.ndarray) -> UnitAccess:
        units = _units(view, offsets)
        number = np.full(units.shape, state.block_epoch + state.block_number)
        return UnitAccess(units, [number], state.block_epoch, state.block_end, None, None)


def _units(view: View, offsets: np.ndarray) -> np.ndarray:
    if view.factor == 1:
        return offsets
    return (offsets[:, None] * view.factor + np.arange(view.factor)).reshape(-1)


def select(value: Any, mask: Mask, lanes: tuple[int, ...]) -> np.ndarray:
    """The elements of ``value`` in the active lanes, in lane order, as a 1-D array."""
    if mask is None:
        return np.broadcast_to(value, lanes).reshape(-1)
    return np.broadcast_to(value, lanes)[np.broadcast_to(mask, lanes)]


class RaceLog:
    """The last accesses to every unit of one storage, by iterations or by blocks."""

    def __init__(self, units: int) -> None:
        self.units = units
        self.kinds: dict[str, list[np.ndarray]] = {}

    def read(self, state: State, view: View, access: UnitAccess, site: Site) -> None:
        """Check and record a read."""
        self._refuse(state, view, access, "write", "read", site)
        self._refuse(state, view, access, "atomic", "read", site)
        self._record(access, "read")

    def update(self, state: State, view: View, access: UnitAccess, site: Site) -> None:
        """Check and record an atomic update, which is in order with other updates only."""
        self._refuse(state, view, access, "read", "atomic", site)
        self._refuse(state, view, access, "write", "atomic", site)
        self._record(access, "atomic")

    def write(self, state: State, view: View, access: UnitAccess, site: Site, changed: np.ndarray) -> None:
        """Check and record a write. changed: for each element, whether its value is another than before."""
        self._refuse(state, view, access, "read", "write", site)
        self._refuse(state, view, access, "atomic", "write", site)
        self._refuse(state, view, access, "write", "write", site, changed)
        self._record(access, "write")

    def _levels(self, kind: str, count: int) -> list[np.ndarray]:
        levels = self.kinds.setdefault(kind, [])
        while len(levels) < count:
            first = not levels
            levels.append(np.zeros(self.units, np.int64) if first else np.full(self.units, ABSENT, np.int64))
        return levels

    def _record(self, access: UnitAccess, kind: str) -> None:
        levels = self._levels(kind, len(access.coordinates))
        units = access.units
        old = [level[units] for level in levels]
        live = old[0] >= access.epoch
        for depth, level in enumerate(levels):
            if depth >= len(access.coordinates):
                level[units] = np.where(live, old[depth], ABSENT)
                continue
            several = access.end if depth == 0 else SEVERAL
            current = access.coordinates[depth]
            seen = live if depth == 0 else live & (old[depth] != ABSENT)
            new = np.where(seen & (old[depth] != current), several, current)
            level[units] = new
            level[units[level[units] != new]] = several

    def _conflicts(self, access: UnitAccess, kind: str) -> np.ndarray | None:
        levels = self.kinds.get(kind)
        if not levels:
            return None
        old = levels[0][access.units]
        live = old >= access.epoch
        if not live.any():
            return None
        differs = old != access.coordinates[0]
        for level, current in zip(levels[1:], access.coordinates[1:], strict=False):
            other = level[access.units]
            differs |= (other != ABSENT) & (other != current)
        return live & differs

    def _refuse(
        self,
        state: State,
        view: View,
        access: UnitAccess,
        before: str,
        now: str,
        site: Site,
        changed: np.ndarray | None = None,
    ) -> None:
        conflicts = self._conflicts(access, before)
        if conflicts is None:
            return
        if changed is not None:
            conflicts &= np.repeat(changed, view.factor)
        if not conflicts.any():
            return
        position = int(np.argmax(conflicts))
        unit = int(access.units[position])
        element = element_text(view, unit // view.factor)
        other = _other_text(state, site, access, int(self.kinds[before][0][unit]), int(access.coordinates[0][position]))
        of_blocks = access.lanes is None
        raise site.error(
            state,
            RaceError,
            f"{'a block' if of_blocks else 'an iteration of T.Parallel'} {_VERBS[now]} {view.name}[{element}], "
            f"which another one {_VERBS[before]}",
            lane=None if of_blocks else lane_of(position // view.factor, access.mask, state.lanes),
            found=f"{other} {_VERBS[before]} it",
            expected=f"{'blocks' if of_blocks else 'iterations'} that do not depend on each other",
            hint="put what comes after in a kernel of its own, or use an atomic"
            if of_blocks
            else "split the loop in two, use an atomic, or T.alloc_reducer for sums",
        )


def _other_text(state: State, site: Site, access: UnitAccess, other: int, current: int) -> str:
    """Describes the iteration or block whose first coordinate is ``other``. current: that of the current access."""
    if access.lanes is None:
        number, position = other - access.epoch, []
        if other >= access.end:
            return "more than one block"
        for size in state.grid:
            number, coordinate = divmod(number, size)
            position.append(coordinate)
        return f"block {tuple(position)}"
    if other >= access.end:
        return "more than one iteration"
    if other == current:
        return "another iteration of the inner loop"
    number = other - access.epoch
    if np.prod(access.lanes) == access.end - access.epoch:
        return f"the one at {site.describe(state, tuple(map(int, np.unravel_index(number, access.lanes))))}"
    return f"iteration {number} of the outer loop"


def check_one_writer(
    state: State, view: View, offsets: np.ndarray, bits: np.ndarray, mask: Mask, site: Site, lanes: tuple[int, ...]
) -> None:
    """Raise when lanes of one statement, which just wrote ``bits`` at ``offsets``, wrote different values to one
    element."""
    lost = differ(view.data[offsets], bits)
    if not lost.any():
        return
    loser = int(np.argmax(lost))
    winner = int(np.flatnonzero(offsets == offsets[loser])[-1])
    values = [view.kind.decode(bits[i : i + 1])[0] for i in (loser, winner)]
    element = element_text(view, int(offsets[loser]))
    loser_text, winner_text = (site.describe(state, lane_of(i, mask, lanes)) for i in (loser, winner))
    actors = "iterations of T.Parallel" if state.coordinates else "threads"
    raise site.error(
        state,
        RaceError,
        f"two {actors} write different values to {view.name}[{element}]",
        found=f"{values[0]} at {loser_text}; {values[1]} at {winner_text}",
        expected="one writer for each element, or the same value from all",
        hint="use an atomic, or T.alloc_reducer for sums",
    )


def lane_of(position: int, mask: Mask, lanes: tuple[int, ...]) -> tuple[int, ...]:
    """The lane at ``position`` among the active ones."""
    flat = position if mask is None else int(np.flatnonzero(np.broadcast_to(mask, lanes))[position])
    return tuple(int(i) for i in np.unravel_index(flat, lanes))


def element_text(view: View, offset: int) -> str:
    offset %= max(view.size, 1)
    return ", ".join(str(int(i)) for i in np.unravel_index(offset, view.shape)) if view.shape else ""


def differ(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Where two arrays of one type differ in their bits (so that NaN equals itself)."""
    if left.dtype.kind == "f":
        bits = np.dtype(f"uint{left.dtype.itemsize * 8}")
        return left.view(bits) != right.view(bits)
    return left != right
