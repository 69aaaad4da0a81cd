"""Searches for the layouts of the fragments of a part of a kernel, and for partitions of its parallel nests.

infer_layouts.py says in which order. A conflict is solved by partitioning other nests first, by a copy of a fragment in
shared memory for one nest that reads it, or by keeping the fragment in shared memory.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from tilecore.contract.passes import PassEnv
from tilecore.errors import UnsupportedError
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.fragments import FragmentLayout, spread
from tilecore.ir.nodes import For, Var
from tilecore.ir.scopes import is_fragment, is_global
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import variables
from tilecore.ir.written_layouts import fragment_layout
from tilecore.lowering.simt.analysis.fragment_families import FragmentFamilies
from tilecore.lowering.simt.analysis.implied_layouts import (
    following,
    is_plain,
    why_not_following,
)
from tilecore.lowering.simt.analysis.kernel_parts import KernelPart
from tilecore.lowering.simt.analysis.parallel_nests import Nest, is_for_one
from tilecore.lowering.simt.analysis.partition import partition_of
from tilecore.lowering.simt.layout_propagation import LayoutPropagation
from tilecore.lowering.simt.state import Inferred, RequestedLayouts, TileFunction
from tilecore.lowering.simt.tile_ops.reducers import everywhere

MOST_IN_EVERY_THREAD = 8  # elements of a fragment


class Conflict(NamedTuple):
    """A fragment that has no layout, and why. nest: the nest that cannot access it in registers; None for others."""

    buffer: Var
    reason: str
    nest: Nest | None = None


def _elements(nest: Nest) -> int:
    """The number of iterations of a nest; 0 if it is known at run time only."""
    return prod(int(e or 0) for e in nest.extents)


class LayoutSearch:
    """The search for the layouts of the fragments of a part of a kernel. per_thread: the kernel uses thread indices."""

    def __init__(self, part: KernelPart, per_thread: bool, env: PassEnv) -> None:
        self.env, self.threads, self.per_thread = env, part.threads.count, per_thread
        self.nests, self.calls, self.loose, self.buffers = part.nests, part.calls, part.loose, part.buffers
        self.around, self.writers = part.around, part.writers
        self.families = FragmentFamilies(part.views)
        tile = env.state(TileFunction)
        self.reducers, self.assumed = tile.reducers, tile.divisors
        self.requested = env.state(RequestedLayouts).of_fragments
        self.propagation = LayoutPropagation(part, self.families, tile, per_thread)
        self.fixed: set[Var] = set()  # fragments whose layout an operation requires
        self.first: set[For] = set()  # nests that get a default partition before larger ones

    # -- the search -------------------------------------------------------------------------------------------

    def run(self) -> Inferred:
        demoted = self._without_registers()
        retried: set[Var] = set()  # fragments whose nests with other than plain accesses have been partitioned first
        while True:
            self.propagation.restart(Inferred(demoted=dict(demoted)))
            self._assign_required()
            self.propagation.run()
            for nest in self._in_order():
                if nest.node not in self.state.partitions:
                    self.propagation.divide(nest, self._default_partition(nest))
                    self.propagation.run()
            self._assign_unconstrained()
            conflict = self._conflict()
            if conflict is None:
                self.state.copied = {nest.node: nest.copied for nest in self.nests if nest.copied}
                return self.state
            buffer, reason, reader = conflict
            if buffer in demoted:
                raise self._without_layout(buffer, reason)
            nests = {n.node for n in self.nests for a in n.fragments() if a.buffer == buffer and not is_plain(n, a)}
            if nests and buffer not in retried:
                retried.add(buffer)
                self.first |= nests
                continue
            self.first -= nests
            if reader is not None and self._may_read_copy(reader, buffer):
                reader.copied[buffer] = reason
            else:
                demoted |= self._with_views({buffer: reason})

    def _may_read_copy(self, nest: Nest, buffer: Var) -> bool:
        """Is the fragment better copied to shared memory for this nest alone than kept there?

        The nest must not write it, and must run less often than statements that do; or as often as these, where an
        operation whose layouts are for registers uses the fragment.
        """
        if any(access.writes or access.atomic for access in nest.accesses if access.buffer == buffer):
            return False
        family = self.families.family(buffer)
        around = self.around[nest.node]
        writers = [loops for other in family for loops in self.writers.get(other, ())]
        if any(around < loops for loops in writers):
            return True
        is_operand = any(region.source in family for call, _ in self.calls for region in call.regions)
        return is_operand and any(around <= loops for loops in writers)

    def _in_order(self) -> list[Nest]:
        """The nests in the order in which they get default partitions: those with an annotated one, then large ones.

        Of equal ones those come first that access global memory: the width of their moves decides.
        """

        def rank(nest: Nest) -> tuple[bool, int, bool]:
            return nest.node in self.first, _elements(nest), any(is_global(a.buffer) for a in nest.accesses)

        annotated = [nest for nest in self.nests if self._annotated_partition(nest) is not None]
        others = [nest for nest in self.nests if nest not in annotated] if annotated else self.nests
        return annotated + sorted(others, key=rank, reverse=True)

    @property
    def state(self) -> Inferred:
        return self.propagation.state

    def _without_registers(self) -> dict[Var, str]:
        """The fragments that no layout serves, each with the reason, and their views."""
        outside = {b for b in self.loose if b not in self.reducers and b not in self._in_every_thread()}
        demoted = dict.fromkeys(outside, "used outside of T.Parallel and tile operations")
        demoted |= dict.fromkeys(self.families.of_other_types(), "it is viewed with another element type")
        reducers = [root for root in self.families.views.values() if root in self.reducers]
        return self._with_views(demoted | dict.fromkeys(reducers, "it is a reducer that is viewed with another shape"))

    def _in_every_thread(self) -> list[Var]:
        """The small fragments that code outside of nests accesses at constant indices: every thread holds all of them.

        That is not possible in a kernel that uses thread indices, where only some threads may execute such code.
        """
        loose = [buffer for buffer, are_constant in self.loose.items() if are_constant and not self.per_thread]
        small = [buffer for buffer in loose if prod(int(s) for s in buffer.shape) <= MOST_IN_EVERY_THREAD]
        return [buffer for buffer in small if buffer not in self.reducers]

    def _with_views(self, demoted: dict[Var, str]) -> dict[Var, str]:
        """These fragments, those that they are views of, and the views of all."""
        return {other: reason for buffer, reason in demoted.items() for other in self.families.family(buffer)}

    def _without_layout(self, buffer: Var, reason: str) -> UnsupportedError:
        users = [call.span for call, _ in self.calls if buffer in [region.source for region in call.regions]]
        users += [nest.node.span for nest in self.nests if buffer in variables(nest.node)]
        return UnsupportedError(
            f"no layout was found for {buffer.name}: {reason}",
            location=next((place for span in users if (place := location_of_span(span)) is not None), None),
            found=f"shape {[str(size) for size in buffer.shape]}, scope {buffer.scope()}",
            expected="operations that agree on which thread holds which element",
            hint="copy it to a second buffer for one of them, or keep it in shared memory with T.alloc_shared",
        )

    def _assign_required(self) -> None:
        """Assigns the layouts that operations require, and those that the kernel annotates."""
        for buffer in self.buffers:
            if buffer in self.reducers:
                self.state.fragments[buffer] = everywhere([int(s) for s in buffer.shape], self.threads)
        for call, impl in self.calls:
            for buffer, required in impl.fragments(call, self.env, self.threads).items():
                if not is_fragment(buffer):
                    continue
                if isinstance(required, str):
                    for other in self.families.family(buffer):
                        self.state.demoted.setdefault(other, f"{impl.name} reads it from shared memory")
                elif buffer not in self.state.demoted:  # otherwise another implementation is chosen for shared memory
                    self.state.fragments.setdefault(buffer, required)
                    self.fixed.add(buffer)
        for buffer in self._in_every_thread():
            if self.propagation.is_open(buffer):
                self.state.fragments[buffer] = everywhere([int(s) for s in buffer.shape], self.threads)
        for buffer, layout in self.requested.items():
            if self.families.views.get(buffer, buffer) in self.buffers and self.propagation.is_open(buffer):
                self.state.fragments[buffer] = layout

    def _default_partition(self, nest: Nest) -> FragmentLayout | None:
        if not nest.is_constant:
            return None  # partitioned at run time
        if self.propagation.is_private_work(nest):
            return everywhere([int(e) for e in nest.extents if e is not None], self.threads)
        exact = any(self.families.has_views(access.buffer) for access in nest.fragments())
        return self._annotated_partition(nest) or partition_of(
            nest, self.threads, self.env.capabilities.warp, self.assumed, exact
        )

    def _annotated_partition(self, nest: Nest) -> FragmentLayout | None:
        """The partition that ``loop_layout=`` annotates; None if there is none, or if it does not fit the nest."""
        hint = nest.node.annotations.get(LoopAttr.LOOP_LAYOUT)
        if hint is None or not nest.is_constant or str(hint["kind"]) != "fragment":
            return None
        layout = fragment_layout(hint, self.threads)
        return layout if layout is not None and list(layout.shape) == nest.extents else None

    def _assign_unconstrained(self) -> None:
        """Assigns a layout to the fragments that only operations access, and that no operation constrains."""
        for buffer in self.buffers:
            if self.propagation.is_open(buffer):
                shape = [int(s) for s in buffer.shape]
                self.propagation.assign(buffer, spread(shape, self.threads, exact=self.families.has_views(buffer)))
                self.propagation.run()

    # -- conflicts ----------------------------------------------------------------------------------------------

    def _conflict(self) -> Conflict | None:
        for nest in self.nests:
            partition = self.state.partitions[nest.node]
            for access in nest.fragments():
                layout = self.state.fragments.get(access.buffer)
                if layout is None or access.buffer in self.reducers:
                    continue
                if partition is None:
                    return Conflict(access.buffer, "a loop whose size is known at run time only runs over it", nest)
                implied = following(nest, access, partition)
                if implied is None:
                    return Conflict(access.buffer, why_not_following(nest, access), nest)
                if access.writes and partition.free and is_for_one(nest):
                    return Conflict(
                        access.buffer,
                        "a loop that changes what it reads stores to it, and only one thread executes each iteration",
                    )
                if not layout.has_in_place(implied) or (access.writes and not implied.covers(layout)):
                    return Conflict(
                        self._less_used(nest, access.buffer), "two loops require different layouts of it", nest
                    )
        for call, impl in self.calls:
            for buffer, required in impl.fragments(call, self.env, self.threads).items():
                layout = self.state.fragments.get(buffer)
                if isinstance(required, FragmentLayout) and layout is not None and layout != required:
                    return Conflict(buffer, f"two operations require different layouts of it, one of them {impl.name}")
            for buffer, required in impl.relate(call, self.state.fragments).items():
                layout = self.state.fragments.get(buffer)
                if layout is not None and not (layout.covers(required) and required.covers(layout)):
                    return Conflict(buffer, f"{impl.name} gives it another layout than its other uses require")
        for buffer in self._in_every_thread():
            layout = self.state.fragments.get(buffer)
            if layout is not None and layout != everywhere(layout.shape, self.threads):
                return Conflict(
                    buffer, "used outside of T.Parallel and tile operations, which distribute it over threads"
                )
        of_views = self.families.conflict(self.state.fragments)
        return None if of_views is None else Conflict(*of_views)

    def _less_used(self, nest: Nest, buffer: Var) -> Var:
        """Of two fragments whose layouts operations require, the one with fewer uses.

        For a product whose result is rounded to an operand of the next product, that is the operand.
        """
        if buffer not in self.fixed:
            return buffer
        others = [a.buffer for a in nest.fragments() if a.buffer in self.fixed and a.buffer in self.state.fragments]
        return min([buffer, *others], key=self._uses)

    def _uses(self, buffer: Var) -> int:
        nests = sum(buffer in {access.buffer for access in nest.fragments()} for nest in self.nests)
        return nests + sum(buffer in {region.source for region in call.regions} for call, _ in self.calls)
