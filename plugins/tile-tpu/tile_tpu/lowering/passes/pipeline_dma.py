"""Pipelines T.Pipelined loops: DMA loads and stores tiles of other iterations while the tensor unit computes.

Iteration k of such a loop becomes (``dma_pipeline/stages.py`` assigns the statements)::

    fills for iteration k + 1
    parallel_start; stores of iteration k - 1; loads of iteration k + 1; work of iteration k; parallel_end
    the remaining statements of iteration k

The loads of the first iteration are before the loop, and the stores of the last one after it. Tiles that are loaded
ahead or stored behind get two slots; iteration k uses slot k % 2. More than two stages gain nothing: the engines
synchronize at the end of every iteration, so that earlier loads would not overlap with more work.

No two engines conflict in a parallel region: DMA accesses the other slot, and buffers that the tensor unit does not
write. Statements for which this cannot be proved stay outside of the region, in order. Where two slots do not fit into
local memory, the pass tries to move loads only, and then leaves the loop as it is. ``explain()`` reports the outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from tile_tpu.chips import Chip, chip_of
from tile_tpu.ir.instructions import command
from tile_tpu.lowering.dma_pipeline.slots import Slots, on_slot, simplified, slots_of, without_allocations
from tile_tpu.lowering.dma_pipeline.stages import Stages, plan_stages
from tile_tpu.lowering.dma_pipeline.units import Unit
from tile_tpu.lowering.kernels import of_each_kernel
from tile_tpu.lowering.passes.plan_local import fits, is_bank_aware
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import const, constant, dtype_of, seq
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    Call,
    For,
    IfThenElse,
    PrimFunc,
    Stmt,
    TensorLoad,
    Var,
    structural_mutate,
    tirx,
)
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import collect, substitute

SLOTS = 2


def pipeline_dma(func: PrimFunc, env: PassEnv) -> PrimFunc:
    chip = chip_of(env.target)
    body = func.body
    for loop_var in [n.loop_var for n in reversed(collect(body, For)) if _stages(n) >= SLOTS]:
        body = _pipelined(body, loop_var, chip, env)  # inner loops first
    return func.with_body(body)


def _stages(node: For) -> int:
    return int(node.annotations.get(LoopAttr.STAGES, 0))


def _pipelined(kernel: Stmt, loop_var: Var, chip: Chip, env: PassEnv) -> Stmt:
    """The kernel with one loop pipelined, in the best way that fits into local memory."""
    loop = next(n for n in collect(kernel, For) if n.loop_var.same_as(loop_var))
    reason = ""
    spacings = (True, False) if is_bank_aware(env) else (False,)
    for with_behind, apart in product((True, False), spacings):
        plan = plan_stages(loop, kernel, chip.lanes, with_behind)
        if plan.reason:
            reason = reason or plan.reason
            continue
        slots = slots_of([*plan.ahead_tiles, *plan.behind_tiles], SLOTS, chip, apart)
        pipelined = _replaced(without_allocations(kernel, set(slots)), loop_var, _Pipeline(loop, plan, slots))
        if fits(pipelined, chip):
            _note(env, loop, plan)
            return pipelined
        reason = reason or "second slots for its tiles do not fit into local memory"
    location = location_of_span(loop.span)
    where = f"line {location.line}: " if location else ""
    env.note("notes", {"text": f"{where}the loop over {loop_var.name} is not pipelined: {reason}"})
    return kernel


def _replaced(kernel: Stmt, loop_var: Var, pipeline: _Pipeline) -> Stmt:
    def change(node: For, mutator: Any) -> Any:
        return pipeline.run() if node.loop_var.same_as(loop_var) else mutator.default_mutate(node)

    return structural_mutate(kernel, [(For, change)])


def _note(env: PassEnv, loop: For, plan: Stages) -> None:
    location = location_of_span(loop.span)
    ahead, behind = (", ".join(str(t.name) for t in tiles) for tiles in (plan.ahead_tiles, plan.behind_tiles))
    env.note("pipelines", {"tiles": ", ".join(t for t in (ahead, behind) if t), "stages": SLOTS})
    where = f"line {location.line}: " if location else ""
    for unit in (u for u in (*plan.before, *plan.after) if u.reason):
        line = f"line {unit.line}: " if unit.line else where
        env.note("notes", {"text": f"{line}this copy waits for the tensor unit: {unit.reason}"})


class _Pipeline:
    """Emits the pipelined loop of a plan."""

    def __init__(self, loop: For, plan: Stages, slots: dict[Var, Slots]) -> None:
        self.loop, self.plan, self.slots = loop, plan, slots
        self.dtype = dtype_of(loop.loop_var)
        self.analyzer = Analyzer()
        self.head: list[Stmt] = []
        self.steps = self._once(loop.extent, "steps")
        self.first = self._once(loop.min, "first")

    def _once(self, value: Any, name: str) -> Any:
        """``value``; a variable bound to it where it reads memory, so that it is computed once."""
        if not collect(value, TensorLoad, Call):
            return value
        var = Var(name, self.dtype)
        self.head.append(Bind(var, value))
        return var

    def run(self) -> Stmt:
        loop, plan, k = self.loop, self.plan, self.loop.loop_var
        number = self._simple(k - self.first)
        slot = self._slot(number)
        following = self._moved(plan.ahead, k + 1, self._slot(number + 1), k + 1 < self.first + self.steps)
        filled = self._moved(plan.prepare, k + 1, self._slot(number + 1), k + 1 < self.first + self.steps)
        stored = self._moved(plan.behind, k - 1, self._slot(number + 1), k > self.first)
        body = [
            *filled,
            *self._on_current_slot(plan.before, slot),
            command("parallel_start"),
            *stored,
            *following,
            *self._on_current_slot(plan.beside, slot),
            command("parallel_end"),
            *self._on_current_slot(plan.after, slot),
        ]
        notes = {key: value for key, value in loop.annotations.items() if key != LoopAttr.STAGES}
        pipelined_loop = For(k, self.first, self.steps, loop.kind, seq(body), annotations=notes, span=loop.span)
        some = self.steps > const(0, self.dtype)
        start = self._moved([*plan.prepare, *plan.ahead], self.first, self._slot(const(0, self.dtype)), some)
        last = self._simple(self.first + self.steps - 1)
        end = self._moved(plan.behind, last, self._slot(self._simple(self.steps - 1)), some)
        return seq([*(AllocBuffer(s.buffer) for s in self.slots.values()), *self.head, *start, pipelined_loop, *end])

    def _on_current_slot(self, units: Sequence[Unit], slot: Any) -> Iterator[Stmt]:
        return (on_slot(unit.node, self.slots, slot) for unit in units)

    def _moved(self, units: Sequence[Unit], step: Any, slot: Any, condition: Any) -> list[Stmt]:
        """The units as statements of iteration ``step``, under ``condition``: whether that iteration exists."""
        if not units:
            return []
        values = {self.loop.loop_var: self._simple(step)}
        moved = []
        for unit in units:
            node = simplified(substitute(substitute(unit.node, self.plan.inline), values))
            moved.append(on_slot(_with_new_variables(node), self.slots, slot))
        constant_condition = constant(self._simple(condition))
        if constant_condition is None:
            return [IfThenElse(condition, seq(moved), None, span=self.loop.span)]
        return moved if constant_condition else []

    def _slot(self, number: Any) -> Any:
        return self._simple(tirx.floormod(number, const(SLOTS, self.dtype)))

    def _simple(self, value: Any) -> Any:
        return self.analyzer.simplify(value)


def _with_new_variables(node: Stmt) -> Stmt:
    """A copy of ``node`` with new loop variables and bound variables, as the kernel contains it more than once."""
    names = {n.loop_var: Var(str(n.loop_var.name), dtype_of(n.loop_var)) for n in collect(node, For)}
    names |= {n.var: Var(str(n.var.name), dtype_of(n.var)) for n in collect(node, Bind)}
    if not names:
        return node

    def loop(inner: For, mutator: Any) -> Any:
        mutated = mutator.default_mutate(inner)
        notes = dict(inner.annotations.items())
        var = names[inner.loop_var]
        return For(var, mutated.min, mutated.extent, mutated.kind, mutated.body, annotations=notes, span=inner.span)

    def bind(inner: Bind, mutator: Any) -> Any:
        return Bind(names[inner.var], mutator.mutate(inner.value), span=inner.span)

    rules = [(For, loop), (Bind, bind), (Var, lambda var, mutator: names.get(var, var))]
    return structural_mutate(node, rules)


PIPELINE_DMA = Pass("pipeline_dma", of_each_kernel(pipeline_dma))
