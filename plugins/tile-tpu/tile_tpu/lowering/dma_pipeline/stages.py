"""Assigns the units of a pipelined loop to stages: one iteration ahead, one behind, or in their own iteration.

DMA commands that load local buffers from tensors run ahead, with the fills for elements beyond the end of a tensor in
front of them. DMA commands that store local buffers to tensors run behind. Neither may depend on other statements of
the loop: then they are the same commands one iteration earlier or later, on their own slot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tile_tpu.ir.accesses import aliases_of, all_accesses, by_memory
from tile_tpu.ir.instructions import DMA, TENSOR
from tile_tpu.lowering.dma_pipeline.units import Unit, cost_of, units_of
from tile_tpu.lowering.local_memory.loop_carried import LoopCarried
from tilecore.ir.build import is_nothing, nothing
from tilecore.ir.nodes import Bind, For, Stmt, Var, structural_mutate
from tilecore.ir.visit import substitute, variables

NO_LOAD = "no load of its buffer follows"


@dataclass
class Stages:
    """The units of an iteration by stage.

    prepare, ahead: of the next iteration. behind: of the one before. before, beside, after: of this iteration;
    ``beside`` runs on the tensor unit while DMA works. ahead_tiles, behind_tiles: local buffers that need a slot for
    each of two iterations. inline: values of variables that moved units use. reason: why there is no pipeline, or "".
    """

    prepare: list[Unit] = field(default_factory=list)
    ahead: list[Unit] = field(default_factory=list)
    behind: list[Unit] = field(default_factory=list)
    before: list[Unit] = field(default_factory=list)
    beside: list[Unit] = field(default_factory=list)
    after: list[Unit] = field(default_factory=list)
    ahead_tiles: list[Var] = field(default_factory=list)
    behind_tiles: list[Var] = field(default_factory=list)
    inline: dict[Var, Any] = field(default_factory=dict)
    reason: str = ""


def plan_stages(loop: For, kernel: Stmt, lanes: int, with_behind: bool = True) -> Stages:
    return _Planner(loop, kernel, lanes).run(with_behind)


class _Planner:
    def __init__(self, loop: For, kernel: Stmt, lanes: int) -> None:
        self.loop = loop
        aliases = aliases_of(kernel)
        self.units = units_of(loop.body, aliases)
        self.dependences = LoopCarried(kernel, lanes)
        self.pinned = {*aliases, *aliases.values(), *_used_outside(kernel, loop)}
        self.changed = {buffer for unit in self.units for buffer in unit.written}
        self.inline: dict[Var, Any] = {}
        self.bound: set[Var] = set()
        self._bindings()

    def _bindings(self) -> None:
        """Collects variables whose value is the same expression in every iteration: it can be computed one ahead."""
        for unit in self.units:
            if isinstance(unit.node, Bind):
                if self._can_move(unit):
                    self.inline[unit.node.var] = substitute(unit.node.value, self.inline)
                else:
                    self.bound.add(unit.node.var)

    # -- ahead --------------------------------------------------------------------------------------------------

    def run(self, with_behind: bool) -> Stages:
        stages = Stages(inline=self.inline)
        if any(unit.is_fixed and not unit.engines for unit in self.units):
            stages.reason = "an iteration does more than commands and index arithmetic (a wait, a print, a break)"
            return stages
        if any(unit.waits_for_cores for unit in self.units):
            stages.reason = "the cores wait for each other in the loop"
            return stages
        self._take_ahead(stages)
        if with_behind:
            self._take_behind(stages)
        self._split_remaining(stages)
        if not stages.ahead and not stages.behind:
            reasons = [unit.reason for unit in self.units if unit.reason]
            stages.reason = reasons[0] if reasons else "the loop has no copies to start ahead"
        elif not stages.beside:
            stages.reason = "the tensor unit has no work beside the copies"
        return stages

    def _take_ahead(self, stages: Stages) -> None:
        while True:
            tiles = self._ahead_with(stages)
            early = [u for u in stages.prepare if not (u.written <= tiles)]
            if not early:
                stages.ahead_tiles = [
                    b for b in dict.fromkeys(b for u in stages.ahead for b in _tiles(u)) if b in tiles
                ]
                return
            for unit in early:  # no load of its buffer follows, so it stays where it is
                unit.reason = NO_LOAD
            stages.prepare, stages.ahead = [], []

    def _ahead_with(self, stages: Stages) -> set[Var]:
        """Sorts the units once; returns the local buffers that DMA loads ahead."""
        loaded: set[Var] = set()
        moved: list[Unit] = []
        for index, unit in enumerate(self.units):
            earlier = [u for u in self.units[:index] if not any(u is m for m in moved)]
            if unit.engines == {TENSOR} and self._is_fill(unit, earlier) and not (loaded & unit.written):
                stages.prepare.append(unit)
                moved.append(unit)
            elif unit.engines == {DMA}:
                unit.reason = self._not_ahead(unit, earlier, moved)
                if not unit.reason:
                    stages.ahead.append(unit)
                    moved.append(unit)
                    loaded |= unit.written
        return loaded

    def _is_fill(self, unit: Unit, earlier: list[Unit]) -> bool:
        if unit.reason == NO_LOAD or any(t.reads for t in unit.of_commands()) or not self._can_move(unit):
            return False
        return not self._not_tiles(unit.written, earlier)

    def _not_ahead(self, unit: Unit, earlier: list[Unit], moved: list[Unit]) -> str:
        """The reason why a unit of DMA does not run ahead; "" where it does."""
        if not self._can_move(unit):
            return "its address depends on values that the iteration computes"
        if any(not t.is_local for t in unit.accesses if t.writes):
            return "it writes a tensor"
        for access in unit.of_commands():
            buffer = access.buffer
            writers = [u for u in self.units if buffer in u.written and u is not unit]
            if access.reads and not access.writes and any(not any(u is m for m in moved) for u in writers):
                return f"it reads {buffer.name}, which the loop writes"
        return self._not_tiles(unit.written, earlier)

    def _not_tiles(self, buffers: set[Var], earlier: list[Unit]) -> str:
        for buffer in buffers:
            if buffer in self.pinned:
                return f"{buffer.name} is used outside of the loop"
            if any(buffer in unit.accessed for unit in earlier):
                return f"{buffer.name} is used before it in the iteration"
            if self.dependences.carries(self.loop, buffer):
                return f"{buffer.name} has a loop-carried dependence"
        return ""

    def _can_move(self, unit: Unit) -> bool:
        return not (
            unit.is_fixed
            or unit.control_writes
            or unit.control_reads & self.changed
            or variables(unit.node) & self.bound
        )

    # -- behind -------------------------------------------------------------------------------------------------

    def _take_behind(self, stages: Stages) -> None:
        for number, unit in enumerate(self.units):
            if unit.engines != {DMA} or any(unit is m for m in stages.ahead):
                continue
            reason = self._not_behind(unit, self.units[number + 1 :], stages)
            if not reason:
                stages.behind.append(unit)
                stages.behind_tiles += [b for b in _tiles(unit) if b in self.changed and b not in stages.behind_tiles]
            elif all(not t.is_local for t in unit.accesses if t.writes):
                unit.reason = reason
        stages.behind_tiles = [b for b in stages.behind_tiles if b not in stages.ahead_tiles]

    def _not_behind(self, unit: Unit, later: list[Unit], stages: Stages) -> str:
        if not self._can_move(unit):
            return "its address depends on values that the iteration computes"
        if any(t.is_local for t in unit.of_commands() if t.writes):
            return "it writes local memory"
        tensors = {t.buffer for t in unit.of_commands() if t.writes}
        others = [u for u in self.units if u is not unit and not any(u is b for b in stages.behind)]
        for buffer in tensors:
            if any(buffer in u.accessed for u in others) or any(t.reads and t.buffer in tensors for t in unit.accesses):
                return f"{buffer.name} is used elsewhere in the loop"
        prepared = {b for u in stages.prepare for b in u.written}
        for buffer in {t.buffer for t in unit.of_commands() if t.reads} & self.changed:
            if buffer in prepared:
                return f"{buffer.name} is loaded for the next iteration"
            if any(buffer in u.written for u in later):
                return f"{buffer.name} is written after it in the iteration"
            reason = self._not_tiles({buffer}, [])
            if reason:
                return reason
        return ""

    # -- the rest -----------------------------------------------------------------------------------------------

    def _split_remaining(self, stages: Stages) -> None:
        moved = [*stages.prepare, *stages.ahead, *stages.behind]
        rest = [u for u in self.units if not any(u is m for m in moved) and not is_nothing(u.node)]
        best, start = (0, 0, 0), 0
        for number in range(len(rest) + 1):
            if number < len(rest) and self._may_overlap(rest[number]):
                continue
            work = sum(cost_of(u.node) for u in rest[start:number] if u.engines)
            best = max(best, (work, start, number))
            start = number + 1
        work, first, last = best
        if work:
            stages.before, stages.beside, stages.after = rest[:first], rest[first:last], rest[last:]
        else:
            stages.before = rest

    def _may_overlap(self, unit: Unit) -> bool:
        """Whether a unit may run beside DMA: it is work of the tensor unit, or of the control core on its variables."""
        if unit.is_fixed or unit.engines - {TENSOR}:
            return False
        shared = {t.buffer for t in unit.accesses if t not in unit.of_commands()}
        return not (shared & self.changed) and not any(not t.is_local for t in unit.accesses if t.writes)


def _tiles(unit: Unit) -> list[Var]:
    return list(dict.fromkeys(t.buffer for t in unit.of_commands() if t.is_local))


def _used_outside(kernel: Stmt, loop: For) -> set[Var]:
    """The buffers that code outside of the loop accesses."""

    def without(node: For, mutator: Any) -> Any:
        return nothing() if node.loop_var.same_as(loop.loop_var) else mutator.default_mutate(node)

    rest = structural_mutate(kernel, [(For, without)])
    return {access.buffer for access in by_memory(all_accesses(rest), aliases_of(kernel))}
