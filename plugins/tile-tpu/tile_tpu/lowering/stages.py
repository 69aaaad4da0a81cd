"""Which units of a pipelined loop run a step ahead, which a step behind, and which in their own step.

Ahead go commands of DMA that fill local buffers from tensors, and the fills of what lies beyond the end of a tensor,
which come before them. Behind go commands of DMA that store local buffers to tensors. Both need that nothing else in
the loop has a say in them: they are then the same commands, a step earlier or later, on a slot of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tile_tpu.ir.accesses import aliases_of, all_accesses, by_memory
from tile_tpu.ir.instructions import DMA, TENSOR
from tile_tpu.lowering.loop_carried import LoopCarried
from tile_tpu.lowering.units import Unit, cost_of, units_of
from tilecore.ir.build import is_nothing, nothing
from tilecore.ir.nodes import Bind, For, Stmt, Var, structural_mutate
from tilecore.ir.visit import substitute, variables


@dataclass
class Stages:
    """prepare, ahead: of the next step. behind: of the last one. before, beside, after: of this step; ``beside`` is
    what the tensor unit does meanwhile. ahead_tiles, behind_tiles: local buffers that need a slot for each of two
    steps. inline: values of variables that moved units use. reason: why there is no pipeline, else ""."""

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
        self.carried = LoopCarried(kernel, lanes)
        self.kept = {*aliases, *aliases.values(), *_used_outside(kernel, loop)}
        self.changed = {buffer for unit in self.units for buffer in unit.written}
        self.inline: dict[Var, Any] = {}
        self.bound: set[Var] = set()
        self._bindings()

    def _bindings(self) -> None:
        """Variables whose value is the same expression in every step can be worked out again a step ahead."""
        for unit in self.units:
            if isinstance(unit.node, Bind):
                if self._can_move(unit):
                    self.inline[unit.node.var] = substitute(unit.node.value, self.inline)
                else:
                    self.bound.add(unit.node.var)

    # -- ahead --------------------------------------------------------------------------------------------------

    def run(self, with_behind: bool) -> Stages:
        made = Stages(inline=self.inline)
        if any(unit.is_fixed and not unit.engines for unit in self.units):
            made.reason = "a step does more than commands and index arithmetic (a wait, a print, a break)"
            return made
        if any(unit.waits_for_cores for unit in self.units):
            made.reason = "the cores wait for each other in it"
            return made
        self._take_ahead(made)
        if with_behind:
            self._take_behind(made)
        self._split_rest(made)
        if not made.ahead and not made.behind:
            reasons = [unit.why for unit in self.units if unit.why]
            made.reason = reasons[0] if reasons else "there is nothing to copy ahead"
        elif not made.beside:
            made.reason = "the tensor unit has nothing to do meanwhile"
        return made

    def _take_ahead(self, made: Stages) -> None:
        while True:
            tiles = self._ahead_with(made)
            early = [u for u in made.prepare if not (u.written <= tiles)]
            if not early:
                made.ahead_tiles = [b for b in dict.fromkeys(b for u in made.ahead for b in _tiles(u)) if b in tiles]
                return
            for unit in early:  # it fills what no load follows: it stays where it is
                unit.why = "no load follows"
            made.prepare, made.ahead = [], []

    def _ahead_with(self, made: Stages) -> set[Var]:
        """Sorts the units once; the local buffers that DMA fills ahead."""
        loaded: set[Var] = set()
        moved: list[Unit] = []
        for number, unit in enumerate(self.units):
            earlier = [u for u in self.units[:number] if not any(u is m for m in moved)]
            if unit.engines == {TENSOR} and self._is_fill(unit, earlier) and not (loaded & unit.written):
                made.prepare.append(unit)
                moved.append(unit)
            elif unit.engines == {DMA}:
                unit.why = self._not_ahead(unit, earlier, moved)
                if not unit.why:
                    made.ahead.append(unit)
                    moved.append(unit)
                    loaded |= unit.written
        return loaded

    def _is_fill(self, unit: Unit, earlier: list[Unit]) -> bool:
        if unit.why == "no load follows" or any(t.reads for t in unit.of_commands()) or not self._can_move(unit):
            return False
        return not self._not_tiles(unit.written, earlier)

    def _not_ahead(self, unit: Unit, earlier: list[Unit], moved: list[Unit]) -> str:
        """Why a unit of DMA does not run ahead; "" where it does."""
        if not self._can_move(unit):
            return "its place depends on what the step works out"
        if any(not t.is_local for t in unit.accesses if t.writes):
            return "it writes a tensor"
        for access in unit.of_commands():
            buffer = access.buffer
            writers = [u for u in self.units if buffer in u.written and u is not unit]
            if access.reads and not access.writes and any(not any(u is m for m in moved) for u in writers):
                return f"it reads {buffer.name}, which the loop changes"
        return self._not_tiles(unit.written, earlier)

    def _not_tiles(self, buffers: set[Var], earlier: list[Unit]) -> str:
        for buffer in buffers:
            if buffer in self.kept:
                return f"{buffer.name} is used outside of the loop"
            if any(buffer in unit.touched for unit in earlier):
                return f"{buffer.name} is in use before it in the step"
            if self.carried.carries(self.loop, buffer):
                return f"{buffer.name} keeps values from step to step"
        return ""

    def _can_move(self, unit: Unit) -> bool:
        return not (unit.is_fixed or unit.sets or unit.asks & self.changed or variables(unit.node) & self.bound)

    # -- behind -------------------------------------------------------------------------------------------------

    def _take_behind(self, made: Stages) -> None:
        for number, unit in enumerate(self.units):
            if unit.engines != {DMA} or any(unit is m for m in made.ahead):
                continue
            why = self._not_behind(unit, self.units[number + 1 :], made)
            if not why:
                made.behind.append(unit)
                made.behind_tiles += [b for b in _tiles(unit) if b in self.changed and b not in made.behind_tiles]
            elif all(not t.is_local for t in unit.accesses if t.writes):
                unit.why = why
        made.behind_tiles = [b for b in made.behind_tiles if b not in made.ahead_tiles]

    def _not_behind(self, unit: Unit, later: list[Unit], made: Stages) -> str:
        if not self._can_move(unit):
            return "its place depends on what the step works out"
        if any(t.is_local for t in unit.of_commands() if t.writes):
            return "it writes local memory"
        tensors = {t.buffer for t in unit.of_commands() if t.writes}
        others = [u for u in self.units if u is not unit and not any(u is b for b in made.behind)]
        for buffer in tensors:
            if any(buffer in u.touched for u in others) or any(t.reads and t.buffer in tensors for t in unit.accesses):
                return f"{buffer.name} is used elsewhere in the loop"
        prepared = {b for u in made.prepare for b in u.written}
        for buffer in {t.buffer for t in unit.of_commands() if t.reads} & self.changed:
            if buffer in prepared:
                return f"{buffer.name} is filled for the next step"
            if any(buffer in u.written for u in later):
                return f"{buffer.name} changes after it in the step"
            why = self._not_tiles({buffer}, [])
            if why:
                return why
        return ""

    # -- the rest -----------------------------------------------------------------------------------------------

    def _split_rest(self, made: Stages) -> None:
        moved = [*made.prepare, *made.ahead, *made.behind]
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
            made.before, made.beside, made.after = rest[:first], rest[first:last], rest[last:]
        else:
            made.before = rest

    def _may_overlap(self, unit: Unit) -> bool:
        """Work of the tensor unit, or of the control core on its own variables."""
        if unit.is_fixed or unit.engines - {TENSOR}:
            return False
        shared = {t.buffer for t in unit.accesses if t not in unit.of_commands()}
        return not (shared & self.changed) and not any(not t.is_local for t in unit.accesses if t.writes)


def _tiles(unit: Unit) -> list[Var]:
    return list(dict.fromkeys(t.buffer for t in unit.of_commands() if t.is_local))


def _used_outside(kernel: Stmt, loop: For) -> set[Var]:
    """Buffers that code outside of the loop touches."""

    def without(node: For, mutator: Any) -> Any:
        return nothing() if node.loop_var.same_as(loop.loop_var) else mutator.default_mutate(node)

    rest = structural_mutate(kernel, [(For, without)])
    return {access.buffer for access in by_memory(all_accesses(rest), aliases_of(kernel))}
