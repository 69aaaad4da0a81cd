"""Software pipelining of wgmma: the last matrix product of an iteration runs while the next iteration begins.

    for each iteration: HEAD, up to its first product, and the next ones of the same sum; MIDDLE; TAIL, its last product
    and the releases of slots

becomes

    HEAD and MIDDLE of the first iteration
    for each further iteration: HEAD; the product of the TAIL of the iteration before; MIDDLE
    TAIL of the last iteration

so that a softmax in MIDDLE runs beside the product of the iteration before, and tensor cores do not wait for the
release of a slot. The slots of a TAIL are released where its product must have ended anyway. Peeling the first
iteration also decides conditions such as ``if k == 0``; for ``if k < 2`` the second iteration is peeled too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.hopper.wgmma_config import wgmma_config_of
from tilecore.contract.passes import PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, op_name, seq, statements_of, where
from tilecore.ir.memory_writes import writes_of
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
from tilecore.lowering.simt.state import threads_of_call

MOST_PEELED = 3  # iterations


def overlap_wgmma(node: For, env: PassEnv, lack: str | None = None, release_early: str | None = None) -> Stmt:
    """The loop with the products of neighbouring iterations overlapped; or the loop as it is, with a note why.

    lack: why two products may not run at the same time. release_early: why slots should be released in their own
    iteration, where nothing else runs beside its product. None where there is no such reason.
    """
    iteration = Iteration.of(node, env)
    if isinstance(iteration, Iteration):
        if iteration.late:
            iteration = lack or iteration
        elif all(map(is_wait, iteration.head[:-1])):
            iteration = release_early or iteration
    if isinstance(iteration, str):
        env.note("overlaps", {"loop": str(node.loop_var.name), "declined": iteration})
        return node
    env.note("overlaps", {"loop": str(node.loop_var.name), "products": len(iteration.late)})
    return iteration.run()


class Iteration:
    """The parts of an iteration.

    head, middle: the statements up to its first matrix product, and those after it. late: the waits and the last matrix
    product, which move into the next iteration. freed: the releases after them.
    """

    def __init__(self, node: For, head: list[Stmt], middle: list[Stmt], late: list[Stmt], freed: list[Stmt]) -> None:
        self.node, self.head, self.middle, self.late, self.freed = node, head, middle, late, freed

    @staticmethod
    def of(node: For, env: PassEnv) -> Iteration | str:
        statements = statements_of(node.body)
        products = [n for n, s in enumerate(statements) if _as_wgmma(s, env) is not None]
        if not products:
            return "it has no wgmma"
        if any(isinstance(s, (AllocBuffer, Bind)) for s in statements):
            return "its iterations allocate buffers or bind values"
        if any(_is_copy_in(s) for s in statements):
            return "threads, not the producer warp, load tiles in it"
        first, last = products[0], products[-1]
        if first == last:
            late, freed, middle = [], statements[first + 1 :], []
        else:
            start = last
            while is_wait(statements[start - 1]):
                start -= 1
            first = _last_of_leading(statements[:start], first, env)
            middle = statements[first + 1 : start]
            late = statements[start : last + 1]
            freed = statements[last + 1 :]
        if (not freed and not late) or not all(is_release(s) for s in freed):
            return "other statements follow its last matrix product"
        head = statements[: first + 1]
        is_single = not late and all(map(is_wait, head[:-1]))
        conflict = _conflict(late, head) or _lack_of_slots(statements, freed, spare=int(is_single))
        return conflict or Iteration(node, head, middle, late, freed)

    def run(self) -> Stmt:
        node, var = self.node, self.node.loop_var
        step = const(1, dtype_of(var))
        begin = self.first_use_of_late()
        middle = [*self.middle[:begin], *at_iteration(self.freed, var, var - step), *self.middle[begin:]]
        body = seq([*self.head, *at_iteration(self.late, var, var - step), *middle])
        peeled = [
            renewed(with_known_conditions(seq(at_iteration([*self.head, *self.middle], var, node.min)), Analyzer()))
        ]
        count = 1
        while count < MOST_PEELED and decides_iteration(body, var, node.min, count):
            iteration = seq(at_iteration([body], var, _simplified(node.min + count)))
            iteration = renewed(with_known_conditions(iteration, Analyzer()))
            peeled.append(where(has_more_than(node, count), iteration))
            count += 1
        begin = const(count, dtype_of(var))
        first, extent = _simplified(node.min + begin), _simplified(node.extent - begin)
        remaining = For(var, first, extent, node.kind, body, None, node.annotations)
        remaining = renewed(with_known_conditions(remaining, Analyzer()))
        end = at_iteration([*self.late, *self.freed], var, _simplified(node.min + node.extent - step))
        return where(has_more_than(node, 0), seq([*peeled, remaining, *end]))

    def first_use_of_late(self) -> int:
        """The index in MIDDLE of the first statement that needs the late product to have ended."""
        calls = [call for call in map(as_tile_call, self.late) if call is not None]
        registers = {register for call in calls for register in _registers_of(call)}
        for index, statement in enumerate(self.middle):
            if variables(statement) & registers:
                return index
        return len(self.middle)


def _registers_of(call: TileCall) -> set[Var]:
    """The registers that nothing else may access while a product runs: its accumulator, and A in registers."""
    return {r.source for r in (call.a, call.c) if not is_shared(r.source)}


def _as_wgmma(statement: Stmt, env: PassEnv) -> TileCall | None:
    call = as_tile_call(statement) if isinstance(statement, Evaluate) else None
    if call is None or call.op.name != "gemm":
        return None
    return None if isinstance(wgmma_config_of(call, env, threads_of_call(call, env)), str) else call


def _last_of_leading(statements: list[Stmt], first: int, env: PassEnv) -> int:
    """The index of the last of the products that follow the first one at once, and add to the same accumulator.

    Whoever needs them waits for all of them. A product of the iteration before that stood between them would have to
    end, too.
    """
    product = _as_wgmma(statements[first], env)
    assert product is not None
    last = first
    for index, statement in enumerate(statements[first + 1 :], first + 1):
        following = _as_wgmma(statement, env)
        if following is not None and following.c.source.same_as(product.c.source):
            last = index
        elif not is_wait(statement):
            break
    return last


def _is_copy_in(statement: Stmt) -> bool:
    calls = (as_tile_call(node) for node in collect(statement, Evaluate))
    copies = [c for c in calls if c is not None and c.op.name == "copy"]
    return any(is_global(c.src.source) and is_shared(c.dst.source) for c in copies)


def is_release(statement: Stmt) -> bool:
    return isinstance(statement, Evaluate) and op_name(statement.value) == instructions.RELEASE


def is_wait(statement: Stmt) -> bool:
    if not isinstance(statement, Evaluate) or op_name(statement.value) != instructions.MBARRIER:
        return False
    return str(statement.value.args[0].value) == "wait"


def _conflict(late: Sequence[Stmt], head: Sequence[Stmt]) -> str | None:
    """Why the late product cannot move behind the head of the next iteration; None where it can."""
    calls = [call for call in map(as_tile_call, late) if call is not None]
    used = {r.source for call in calls for r in call.regions}
    accumulators = {call.c.source for call in calls}
    for statement in head:
        used_here, written = variables(statement), writes_of(statement).buffers
        for buffer in used & used_here:
            if buffer in accumulators or buffer in written:  # tiles of matrix products have no views
                return f"both its first statements and its last matrix product use {buffer.name}"
    return None


def _lack_of_slots(steps: Sequence[Stmt], freed: Sequence[Stmt], spare: int) -> str | None:
    """Why releases cannot move into the next iteration; None where they can.

    The producer would wait for a release that comes after the next loads of the same circular buffer, or after those of
    one that is loaded later. spare: slots that must stay free for loads meanwhile. Where nothing runs beside the one
    product of an iteration there must be one, or every load waits until the one before has landed
    (docs/notes/hopper.md has the cost).
    """
    releases = [node for step in steps for node in collect(step, Evaluate) if is_release(node)]
    for node in freed:
        empty = node.value.args[0].source
        iterations, late = (sum(n.value.args[0].source.same_as(empty) for n in nodes) for nodes in (releases, freed))
        slots = int(constant(empty.shape[0]) or 0)
        if slots < iterations + late + spare:
            names = ", ".join(str(element.source.name) for element in node.value.args[2:])
            return f"{names} would need {iterations + late + spare} stages and has {slots}"
    return None


def at_iteration(statements: Sequence[Stmt], var: Var, value: Any) -> list[Stmt]:
    return [substitute(s, {var: value}) for s in statements]


def has_more_than(node: For, count: int) -> list[Any]:
    """The condition that the loop has more than ``count`` iterations, as a list; empty where that is known."""
    condition = _simplified(node.extent > const(count, dtype_of(node.extent)))
    return [] if constant(condition) else [condition]


def decides_iteration(body: Stmt, var: Var, first: Any, count: int) -> bool:
    """Whether a condition has one value in iteration ``count`` and may have another in all later ones."""
    analyzer = Analyzer()
    begin = _simplified(first + const(count, dtype_of(var)))
    analyzer.bind(var, Range.from_min_extent(begin, const(1 << 30, dtype_of(var))))
    conditions = [node.condition for node in collect(body, IfThenElse) if variables(node.condition) == {var}]
    return any(constant(analyzer.simplify(condition)) is None for condition in conditions)


def with_known_conditions(statement: Stmt, analyzer: Analyzer) -> Stmt:
    """The statement without the conditions whose value is known."""

    def loop(node: For, mutator: Any) -> Any:
        analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent), allow_override=True)
        return mutator.default_mutate(node)

    def branch(node: IfThenElse, mutator: Any) -> Any:
        value = constant(analyzer.simplify(node.condition))
        if value is None:
            return mutator.default_mutate(node)
        branch_taken = node.then_case if value else node.else_case
        return seq([]) if branch_taken is None else mutator.mutate(branch_taken)

    def product(node: Evaluate, mutator: Any) -> Any:
        call = as_tile_call(node)
        if call is None or call.op.name != "gemm":
            return node
        at = call.op.operand_names().index("clear_accum")
        args = list(call.call.args)
        args[at] = analyzer.simplify(args[at])
        clears = constant(args[at])
        args[at] = args[at] if clears is None else const(clears, "int32")
        return call.rebuilt(args)

    return structural_mutate(statement, [(For, loop), (IfThenElse, branch), (Evaluate, product)])


def _simplified(value: Any) -> Any:
    return Analyzer().simplify(value)
