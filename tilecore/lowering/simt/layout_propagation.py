"""Propagates the layouts of fragments: from a fragment to the partition of a nest that runs over it, from a partition
to the other fragments of the nest, through tile operations, and between views.

Only nests and operations whose fragments have got a layout since their last visit are visited again, so that the time
grows with their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from tilecore.ir.scopes import is_fragment, is_private
from tilecore.lowering.simt.analysis.implied_layouts import assigned, following, is_plain, partition_along, reordered
from tilecore.lowering.simt.tile_ops.reducers import is_fill

if TYPE_CHECKING:
    from tilecore.ir.fragments import FragmentLayout
    from tilecore.ir.nodes import Var
    from tilecore.lowering.simt.analysis.fragment_families import FragmentFamilies
    from tilecore.lowering.simt.analysis.kernel_parts import KernelPart
    from tilecore.lowering.simt.analysis.parallel_nests import Nest
    from tilecore.lowering.simt.state import Inferred, TileFunction


class Worklist:
    """The numbers of those that must be visited, at first all. A sweep visits them in ascending order; what is marked
    behind the place of the sweep waits for the next one."""

    def __init__(self, count: int) -> None:
        self._heap, self._later = list(range(count)), list[int]()
        self._marked = set(self._heap)
        self._place = -1

    def mark(self, number: int) -> None:
        if number in self._marked:
            return
        self._marked.add(number)
        if number > self._place:
            heappush(self._heap, number)
        else:
            self._later.append(number)

    def sweep(self) -> Iterator[int]:
        while self._heap:
            self._place = heappop(self._heap)
            self._marked.discard(self._place)
            yield self._place
        self._heap, self._later, self._place = sorted(self._later), [], -1


class LayoutPropagation:
    """The propagation in a part of a kernel. per_thread: the kernel uses thread indices. state: what is known, which
    :meth:`restart` replaces."""

    def __init__(self, part: KernelPart, families: FragmentFamilies, tile: TileFunction, per_thread: bool) -> None:
        self.nests, self.calls, self.families = part.nests, part.calls, families
        self.reducers, self.per_thread = tile.reducers, per_thread
        self.number_of = {nest.node: number for number, nest in enumerate(self.nests)}
        self.nests_of: dict[Var, list[int]] = {}
        self.calls_of: dict[Var, list[int]] = {}
        for number, nest in enumerate(self.nests):
            for buffer in {access.buffer for access in nest.accesses if is_fragment(access.buffer)}:
                self.nests_of.setdefault(buffer, []).append(number)
        for number, (call, _) in enumerate(self.calls):
            for buffer in {region.source for region in call.regions}:
                self.calls_of.setdefault(buffer, []).append(number)

    def restart(self, state: Inferred) -> None:
        """Begins anew from a state, with everything to visit. The first use must be this one."""
        self.state = state
        self._visit_all()

    def _visit_all(self) -> None:
        self._plain, self._other = Worklist(len(self.nests)), Worklist(len(self.nests))
        self._calls = Worklist(len(self.calls))

    def is_open(self, buffer: Var) -> bool:
        """May the buffer still get a layout?"""
        return is_fragment(buffer) and buffer not in self.state.fragments and buffer not in self.state.demoted

    def assign(self, buffer: Var, layout: FragmentLayout) -> None:
        """Gives a fragment its layout."""
        self.state.fragments[buffer] = layout
        for number in self.nests_of.get(buffer, ()):
            self._mark(number)
        for number in self.calls_of.get(buffer, ()):
            self._calls.mark(number)

    def divide(self, nest: Nest, partition: FragmentLayout | None) -> None:
        """Gives a nest its partition; None for one that is partitioned at run time."""
        self.state.partitions[nest.node] = partition
        self._mark(self.number_of[nest.node])

    def _mark(self, number: int) -> None:
        self._plain.mark(number)
        self._other.mark(number)

    def run(self) -> None:
        """Propagates layouts through nests, operations and views, until nothing changes."""
        changed = True
        while changed:
            changed = self._through_nests(plain=True)
            for number in self._calls.sweep():
                call, impl = self.calls[number]
                for buffer, layout in impl.relate(call, self.state.fragments).items():
                    if self.is_open(buffer):
                        self.assign(buffer, layout)
                        changed = True
            if self.families.propagate(self.state.fragments, self.is_open):
                changed = True
                self._visit_all()
            changed = changed or self._through_nests(plain=False)

    def _through_nests(self, plain: bool) -> bool:
        """Propagates layouts through nests by the accesses that are plain (implied_layouts.is_plain), or by others."""
        changed = False
        for number in (self._plain if plain else self._other).sweep():
            changed |= self._through_nest(self.nests[number], plain)
        return changed

    def _through_nest(self, nest: Nest, plain: bool) -> bool:
        changed = False
        if nest.node not in self.state.partitions:
            layout = self._partition_from_fragment(nest, plain)
            if layout is None:
                return False
            self.divide(nest, layout)
            changed = True
        partition = self.state.partitions[nest.node]
        for access in nest.fragments():
            if self.is_open(access.buffer) and partition is not None and is_plain(nest, access) == plain:
                layout = (following if plain else assigned)(nest, access, partition)
                if layout is not None:
                    self.assign(access.buffer, layout)
                    changed = True
        return changed

    def _partition_from_fragment(self, nest: Nest, plain: bool) -> FragmentLayout | None:
        """The partition by the first fragment with a layout that the nest runs over; written fragments come first.

        plain: by an access that names one loop along each axis of the whole fragment, or by one with other indices.
        """
        if not nest.is_constant or self.is_private_work(nest):
            return None
        ordered = sorted(nest.fragments(), key=lambda a: (a.buffer in self.reducers, not a.writes))
        for access in ordered:
            layout = self.state.fragments.get(access.buffer)
            if layout is None or (access.buffer in self.reducers and not is_fill(nest.body, self.reducers)):
                continue
            if not plain and access.buffer not in self.reducers and not is_plain(nest, access):
                partition = partition_along(nest, access, layout)
                if partition is not None:
                    return partition
            matched = nest.matched(access) if plain else None
            if matched is None:
                continue
            named = [axis for axis in matched if axis is not None]
            if any(nest.extents[axis] != 1 for axis in range(len(nest.axes)) if axis not in named):
                continue
            if any(layout.shape[k] != nest.extents[a] for k, a in enumerate(matched) if a is not None):
                continue
            order = [matched.index(axis) if axis in matched else None for axis in range(len(nest.axes))]
            return reordered(layout, order)
        return None

    def is_private_work(self, nest: Nest) -> bool:
        """Does every thread execute the whole nest?

        That is so if it writes only private memory, or, in a kernel that uses thread indices, if it lowers an operation
        on private memory.
        """
        written = [a.buffer for a in nest.accesses if a.writes]
        writes_only_private = bool(written) and all(is_private(b) for b in written)
        return writes_only_private or (nest.is_private and self.per_thread)
