"""Races: which iterations of a T.Parallel touched which element, and writes of several lanes to one element.

Iterations of a T.Parallel nest are independent: two of them may not write different values to one element, and none
may read what another writes. An iteration is known by its coordinates, one number for each level of the nest (a
perfect nest is one level). A statement between two levels belongs to all iterations below it, so two accesses are in
order when their coordinates agree on the levels that both have.

The log keeps, for every unit of a storage, the coordinates of the last reader, writer and atomic update. Coordinates
on the first level are offset by an epoch, so nothing needs clearing: smaller numbers are of loops that have ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilecore.errors import RaceError

if TYPE_CHECKING:
    from tilecore.interpreter.memory import View
    from tilecore.interpreter.state import Mask, Site, State

ABSENT, SEVERAL = -1, -2  # on the levels below the first
_DOING = {"read": "reads", "write": "writes", "atomic": "updates atomically"}


class RaceLog:
    """The last accesses to every unit of one storage."""

    def __init__(self, units: int) -> None:
        self.units = units
        self.kinds: dict[str, list[np.ndarray]] = {}

    def read(self, state: State, view: View, offset: Any, mask: Mask, site: Site) -> None:
        """Check and record a read of ``offset`` by the lanes of ``mask``."""
        touched = _Touched(state, view, offset, mask)
        for kind in ("write", "atomic"):
            self._refuse(state, view, touched, kind, "read", site)
        self._record(state, touched, "read")

    def update(self, state: State, view: View, offset: Any, mask: Mask, site: Site) -> None:
        """Check and record an atomic update, which is in order with other updates only."""
        touched = _Touched(state, view, offset, mask)
        for kind in ("read", "write"):
            self._refuse(state, view, touched, kind, "atomic", site)
        self._record(state, touched, "atomic")

    def write(
        self,
        state: State,
        view: View,
        where: np.ndarray,
        bits: np.ndarray,
        mask: Mask,
        site: Site,
        lanes: tuple[int, ...],
        tracked: bool,
    ) -> None:
        """Write ``bits`` to ``where`` (both 1-D, of the active lanes), check, and record it when ``tracked``."""
        previous = view.data[where]
        view.data[where] = bits
        lost = _differ(view.data[where], bits)
        if lost.any():
            raise self._clash(state, view, where, bits, lost, mask, site, lanes)
        if not tracked:
            return
        touched = _Touched(state, view, where, mask, selected=True)
        for kind in ("read", "atomic"):
            self._refuse(state, view, touched, kind, "write", site)
        self._refuse(state, view, touched, "write", "write", site, where_differs=_differ(previous, bits))
        self._record(state, touched, "write")

    # -- records ---------------------------------------------------------------------------------------------

    def _levels(self, kind: str, count: int) -> list[np.ndarray]:
        levels = self.kinds.setdefault(kind, [])
        while len(levels) < count:
            first = not levels
            levels.append(np.zeros(self.units, np.int64) if first else np.full(self.units, ABSENT, np.int64))
        return levels

    def _record(self, state: State, touched: _Touched, kind: str) -> None:
        levels = self._levels(kind, len(touched.coordinates))
        units = touched.units
        old = [level[units] for level in levels]
        live = old[0] >= state.epoch
        for depth, level in enumerate(levels):
            several = state.epoch_end if depth == 0 else SEVERAL
            if depth < len(touched.coordinates):
                mine = touched.coordinates[depth]
                known = live if depth == 0 else live & (old[depth] != ABSENT)
                level[units] = np.where(known & (old[depth] != mine), several, mine)
                shared = level[units] != np.where(known & (old[depth] != mine), several, mine)
                level[units[shared]] = several
            else:
                level[units] = np.where(live, old[depth], ABSENT)

    def _conflicts(self, state: State, touched: _Touched, kind: str) -> np.ndarray | None:
        levels = self.kinds.get(kind)
        if not levels:
            return None
        old = levels[0][touched.units]
        live = old >= state.epoch
        if not live.any():
            return None
        differs = old != touched.coordinates[0]
        for level, mine in zip(levels[1:], touched.coordinates[1:], strict=False):
            other = level[touched.units]
            differs |= (other != ABSENT) & (other != mine)
        return live & differs

    def _refuse(
        self,
        state: State,
        view: View,
        touched: _Touched,
        before: str,
        now: str,
        site: Site,
        where_differs: np.ndarray | None = None,
    ) -> None:
        conflicts = self._conflicts(state, touched, before)
        if conflicts is None:
            return
        if where_differs is not None:
            conflicts &= np.repeat(where_differs, view.factor)
        if not conflicts.any():
            return
        at = int(np.argmax(conflicts))
        unit = int(touched.units[at])
        element = _element(view, unit // view.factor)
        other = _who(state, site, int(self.kinds[before][0][unit]), int(touched.coordinates[0][at]))
        raise site.error(
            state,
            RaceError,
            f"an iteration of T.Parallel {_DOING[now]} {view.name}[{element}], which another one {_DOING[before]}",
            lane=touched.lane(at // view.factor),
            found=f"{other} {_DOING[before]} it",
            expected="iterations that do not depend on each other",
            hint="split the loop in two, use an atomic, or T.alloc_reducer for sums",
        )

    def _clash(
        self,
        state: State,
        view: View,
        where: np.ndarray,
        bits: np.ndarray,
        lost: np.ndarray,
        mask: Mask,
        site: Site,
        lanes: tuple[int, ...],
    ) -> Exception:
        loser = int(np.argmax(lost))
        winner = int(np.flatnonzero(where == where[loser])[-1])
        values = [view.kind.decode(bits[i : i + 1])[0] for i in (loser, winner)]
        element = _element(view, int(where[loser]))
        one, two = (site.describe(state, _lane(i, mask, lanes)) for i in (loser, winner))
        actors = "iterations of T.Parallel" if state.coordinates else "threads"
        return site.error(
            state,
            RaceError,
            f"two {actors} write different values to {view.name}[{element}]",
            found=f"{values[0]} at {one}; {values[1]} at {two}",
            expected="one writer for each element, or the same value from all",
            hint="use an atomic, or T.alloc_reducer for sums",
        )


def _who(state: State, site: Site, other: int, mine: int) -> str:
    """The iteration whose first coordinate is ``other``."""
    if other >= state.epoch_end:
        return "more than one iteration"
    if other == mine:
        return "another iteration of the inner loop"
    number = other - state.epoch
    if np.prod(state.lanes) == state.epoch_end - state.epoch:
        return f"the one at {site.describe(state, tuple(map(int, np.unravel_index(number, state.lanes))))}"
    return f"iteration {number} of the outer loop"


class _Touched:
    """The units that one access touches, and the coordinates of the lane that touches each."""

    def __init__(self, state: State, view: View, offset: Any, mask: Mask, selected: bool = False) -> None:
        from tilecore.interpreter.memory import select

        self.lanes, self.mask = state.lanes, mask
        where = offset if selected else select(offset, mask, state.lanes)
        coordinates = [select(level, mask, state.lanes) for level in state.coordinates]
        if view.factor > 1:
            where = (where[:, None] * view.factor + np.arange(view.factor)).reshape(-1)
            coordinates = [np.repeat(level, view.factor) for level in coordinates]
        self.units: np.ndarray = where
        self.coordinates: Sequence[np.ndarray] = coordinates

    def lane(self, position: int) -> tuple[int, ...]:
        return _lane(position, self.mask, self.lanes)


def _lane(position: int, mask: Mask, lanes: tuple[int, ...]) -> tuple[int, ...]:
    flat = position if mask is None else int(np.flatnonzero(np.broadcast_to(mask, lanes))[position])
    return tuple(int(i) for i in np.unravel_index(flat, lanes))


def _element(view: View, offset: int) -> str:
    if view.size:
        offset %= view.size
    return ", ".join(str(int(i)) for i in np.unravel_index(offset, view.shape)) if view.shape else ""


def _differ(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Where two arrays of one type differ in their bits (so that NaN equals itself)."""
    if left.dtype.kind == "f":
        bits = np.dtype(f"uint{left.dtype.itemsize * 8}")
        return left.view(bits) != right.view(bits)
    return left != right
