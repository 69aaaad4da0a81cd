"""Products of a loop's step that run while the next step begins.

    for each step: HEAD, up to its first product; MIDDLE; TAIL, its last product, and slots of rings that are released

becomes

    HEAD, MIDDLE of the first step
    for each further step: HEAD; the TAIL's product of the step before; MIDDLE
    TAIL of the last step

so that a softmax in MIDDLE runs beside the product of the step before, and tensor units never wait for a ring to be
released. What the TAIL releases is released where its product must be done anyway. The first step apart also decides
what a kernel asks of it (``if k == 0``); for ``if k < 2`` the second step stands apart too, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.hopper.wgmma_config import wgmma_config_of
from tilecore.contract.passes import PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, op_name, seq, statements_of, where
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    Evaluate,
    For,
    IfThenElse,
    Range,
    Stmt,
    Var,
    structural_mutate,
)
from tilecore.ir.scopes import is_global, is_shared
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect, renewed, substitute, variables
from tilecore.lowering.simt.note_ranges import threads_of_call
from tilecore.lowering.simt.pipeline_loops import writes

MOST_APART = 3  # steps


def overlapped(node: For, env: PassEnv) -> Stmt:
    """The loop with products of neighbouring steps side by side, or as it is."""
    parts = _Parts.of(node, env)
    if isinstance(parts, str):
        env.note("overlaps", {"loop": str(node.loop_var.name), "declined": parts})
        return node
    env.note("overlaps", {"loop": str(node.loop_var.name), "products": len(parts.late)})
    return parts.run()


class _Parts:
    """head, middle: of a step. late: what of its end goes into the next step. freed: releases after it."""

    def __init__(self, node: For, head: list[Stmt], middle: list[Stmt], late: list[Stmt], freed: list[Stmt]) -> None:
        self.node, self.head, self.middle, self.late, self.freed = node, head, middle, late, freed

    @staticmethod
    def of(node: For, env: PassEnv) -> _Parts | str:
        steps = statements_of(node.body)
        products = [n for n, s in enumerate(steps) if _product(s, env) is not None]
        if not products:
            return "no products of warpgroups in it"
        if any(isinstance(s, (AllocBuffer, Bind)) for s in steps):
            return "its steps define something of their own"
        if any(_is_copy_in(s) for s in steps):
            return "threads copy tiles in it"
        first, last = products[0], products[-1]
        if first == last:
            late, freed, middle = [], steps[first + 1 :], []
        else:
            start = last
            while _is_wait(steps[start - 1]):
                start -= 1
            middle = steps[first + 1 : start]
            late = steps[start : last + 1]
            freed = steps[last + 1 :]
        if (not freed and not late) or not all(_is_release(s) for s in freed):
            return "more follows its last product"
        head = steps[: first + 1]
        alone = not late and all(map(_is_wait, head[:-1]))
        clash = _clash(late, head) or _too_few_slots(steps, freed, spare=int(alone))
        return clash or _Parts(node, head, middle, late, freed)

    def run(self) -> Stmt:
        node, var = self.node, self.node.loop_var
        one = const(1, dtype_of(var))
        begin = self._middle_after()
        middle = [*self.middle[:begin], *_at(self.freed, var, var - one), *self.middle[begin:]]
        body = seq([*self.head, *_at(self.late, var, var - one), *middle])
        apart = [renewed(_decided(seq(_at([*self.head, *self.middle], var, node.min)), Analyzer()))]
        count = 1
        while count < MOST_APART and _asks_below(body, var, node.min, count):
            step = renewed(_decided(seq(_at([body], var, _simple(node.min + count))), Analyzer()))
            apart.append(where(_doubt(node, count), step))
            count += 1
        begin = const(count, dtype_of(var))
        rest = For(
            var, _simple(node.min + begin), _simple(node.extent - begin), node.kind, body, None, node.annotations
        )
        rest = renewed(_decided(rest, Analyzer()))
        end = _at([*self.late, *self.freed], var, _simple(node.min + node.extent - one))
        return where(_doubt(node, 0), seq([*apart, rest, *end]))

    def _middle_after(self) -> int:
        """Where in MIDDLE the late products must be done."""
        touched = {v for s in self.late for call in [as_tile_call(s)] if call is not None for v in _held_by(call)}
        for number, statement in enumerate(self.middle):
            if variables(statement) & touched:
                return number
        return len(self.middle)


def _held_by(call: TileCall) -> set[Var]:
    """What nobody may touch while a product runs: its sums, and an A in registers."""
    return {r.source for r in (call.a, call.c) if not is_shared(r.source)}


def _product(statement: Stmt, env: PassEnv) -> TileCall | None:
    call = as_tile_call(statement) if isinstance(statement, Evaluate) else None
    if call is None or call.op.name != "gemm":
        return None
    return None if isinstance(wgmma_config_of(call, env, threads_of_call(call, env)), str) else call


def _is_copy_in(statement: Stmt) -> bool:
    calls = (as_tile_call(node) for node in collect(statement, Evaluate))
    found = [c for c in calls if c is not None and c.op.name == "copy"]
    return any(is_global(c.src.source) and is_shared(c.dst.source) for c in found)


def _is_release(statement: Stmt) -> bool:
    return isinstance(statement, Evaluate) and op_name(statement.value) == instructions.RELEASE


def _is_wait(statement: Stmt) -> bool:
    if not isinstance(statement, Evaluate) or op_name(statement.value) != instructions.TRANSACTION:
        return False
    return str(statement.value.args[0].value) == "wait"


def _clash(late: Sequence[Stmt], head: Sequence[Stmt]) -> str | None:
    """Why the late products cannot go behind the next step's head."""
    calls = [call for call in map(as_tile_call, late) if call is not None]
    used = {r.source for call in calls for r in call.regions}
    summed = {call.c.source for call in calls}
    for statement in head:
        touched = variables(statement)
        for buffer in used & touched:
            if buffer in summed or writes(statement, buffer):
                return f"its beginning uses {buffer.name}, which its last product does too"
    return None


def _too_few_slots(steps: Sequence[Stmt], freed: Sequence[Stmt], spare: int) -> str | None:
    """Why releases cannot come in the next step: who fills a ring would wait for one that comes after its next turns,
    or after those of a ring that is filled later. spare: slots that must be left to be filled meanwhile: where nothing
    runs beside the one product of a step there must be one, or every load waits until the one before has landed
    (docs/notes/hopper.md has what that costs)."""
    releases = [node for step in steps for node in collect(step, Evaluate) if _is_release(node)]
    for node in freed:
        empty = node.value.args[0].source
        turns, late = (sum(n.value.args[0].source.same_as(empty) for n in nodes) for nodes in (releases, freed))
        slots = int(constant(empty.shape[0]) or 0)
        if slots < turns + late + spare:
            names = ", ".join(str(element.source.name) for element in node.value.args[2:])
            return f"{names} would need {turns + late + spare} stages, not {slots}"
    return None


def _at(statements: Sequence[Stmt], var: Var, value: Any) -> list[Stmt]:
    return [substitute(s, {var: value}) for s in statements]


def _doubt(node: For, count: int) -> list[Any]:
    """The condition that there are more than so many steps, unless that is known."""
    condition = _simple(node.extent > const(count, dtype_of(node.extent)))
    return [] if constant(condition) else [condition]


def _asks_below(body: Stmt, var: Var, first: Any, count: int) -> bool:
    """Is there a condition that is one thing in step ``count`` and may be another in all after it?"""
    analyzer = Analyzer()
    begin = _simple(first + const(count, dtype_of(var)))
    analyzer.bind(var, Range.from_min_extent(begin, const(1 << 30, dtype_of(var))))
    asked = [node.condition for node in collect(body, IfThenElse) if variables(node.condition) == {var}]
    return any(constant(analyzer.simplify(condition)) is None for condition in asked)


def _decided(statement: Stmt, analyzer: Analyzer) -> Stmt:
    """The statement without conditions whose outcome is known."""

    def loop(node: For, mutator: Any) -> Any:
        analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent), allow_override=True)
        return mutator.default_mutate(node)

    def branch(node: IfThenElse, mutator: Any) -> Any:
        known = constant(analyzer.simplify(node.condition))
        if known is None:
            return mutator.default_mutate(node)
        taken = node.then_case if known else node.else_case
        return seq([]) if taken is None else mutator.mutate(taken)

    def product(node: Evaluate, mutator: Any) -> Any:
        call = as_tile_call(node)
        if call is None or call.op.name != "gemm":
            return node
        at = call.op.operand_names().index("clear_accum")
        args = list(call.call.args)
        args[at] = analyzer.simplify(args[at])
        known = constant(args[at])
        args[at] = args[at] if known is None else const(known, "int32")
        return call.rebuilt(args)

    return structural_mutate(statement, [(For, loop), (IfThenElse, branch), (Evaluate, product)])


def _simple(value: Any) -> Any:
    return Analyzer().simplify(value)
