"""Issues the first matrix product of the next iteration before the work of this one, into a second accumulator.

    for each iteration: HEAD, its first product; MIDDLE, work on the result; TAIL, its last product

becomes, with two accumulators in turn,

    HEAD of the first iteration
    for each iteration: HEAD of the next one; TAIL of the one before; MIDDLE
    TAIL of the last iteration

``overlap_wgmma`` has one accumulator, so the next HEAD waits for MIDDLE, and MIDDLE for HEAD: a warpgroup has nothing
for the tensor cores while it works on the result, and warpgroups that begin together stay in step. Here the result is
ready when MIDDLE begins, and both products have ended when it ends: ptxas serializes products that run on into the next
pass of a loop (C7514). It costs the registers of the second accumulator, and the loop's code several times.

Loops are unrolled by two, so that each accumulator has a name. The first iteration is peeled, which decides conditions
such as ``if k == 0``; what remains after the pairs stands behind the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tile_cuda import instructions
from tile_cuda.attributes import CudaLoopAttr
from tile_cuda.lowering.hopper.hold_operands import lack_of_registers
from tile_cuda.lowering.hopper.overlap_wgmma import (
    Iteration,
    at_iteration,
    decides_iteration,
    has_more_than,
    is_release,
    is_wait,
    with_known_conditions,
)
from tile_cuda.options import PRODUCT_AHEAD, key_name
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, nothing, seq
from tilecore.ir.memory_writes import writes_of
from tilecore.ir.nodes import AllocBuffer, BufferStore, Evaluate, For, IfThenElse, Stmt, Var, tirx
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect, renewed, substitute, variables
from tilecore.lowering.simt.state import PartialSums, RequestedLayouts


def product_ahead(node: For, env: PassEnv, code: Stmt, threads: int) -> Stmt | str:
    """The loop with its first product one iteration ahead, or the reason why it stays as it is.

    code: the kernel's code, which the loop belongs to. threads: of a block that multiply.
    """
    eighths = PRODUCT_AHEAD.value_in(env.config)
    if not 1 <= eighths <= 8:
        return f"{key_name(PRODUCT_AHEAD)} is {eighths}, and counts eighths, 1 to 8"
    iteration = Iteration.of(node, env)
    if isinstance(iteration, str):
        return iteration
    product = as_tile_call(iteration.head[-1])
    assert product is not None
    reason = (
        _reason_against_parts(iteration, product)
        or _lack_of_slots(iteration)
        or _reason_against_accumulator(product, node, env, code, threads)
    )
    return reason or _Ahead(iteration, product.c.source, eighths, env).run()


def _reason_against_parts(iteration: Iteration, product: TileCall) -> str | None:
    """Why the first product of the next iteration cannot move in front of this iteration's work."""
    if not iteration.late:
        return "its iterations have one matrix product"
    if not all(map(is_wait, iteration.head[:-1])):
        return "other statements stand in front of its first matrix product"
    if constant(product.clear_accum) != 1:
        return "its first matrix product adds to what is there"
    steps = [step for step in (*iteration.middle, *iteration.late) if not is_release(step)]
    written = {buffer for step in steps for buffer in writes_of(step).buffers}
    for operand in (product.a, product.b):
        if operand.source in written:
            return f"an iteration writes {operand.source.name}, which the next one's first matrix product reads"
    node = iteration.node
    body = seq([*iteration.head, *iteration.middle])
    if decides_iteration(body, node.loop_var, node.min, 1):
        return "a condition tells more than its first iteration from the others"
    return None


def _lack_of_slots(iteration: Iteration) -> str | None:
    """Why the producer could wait for ever: the next iteration's first tile lands before this one's are released."""
    steps = [*iteration.head, *iteration.middle, *iteration.late, *iteration.freed]
    releases = [node for step in steps for node in collect(step, Evaluate) if is_release(node)]
    for release in releases:
        empty, tiles = release.value.args[0].source, [element.source for element in release.value.args[2:]]
        same, late = (
            sum(n.value.args[0].source.same_as(empty) for n in nodes) for nodes in (releases, iteration.freed)
        )
        is_ahead = any(tile in variables(iteration.head[-1]) for tile in tiles)
        needed, slots = same + late + int(is_ahead), int(constant(empty.shape[0]) or 0)
        if slots < needed:
            return f"{', '.join(str(tile.name) for tile in tiles)} would need {needed} stages and has {slots}"
    return None


def _reason_against_accumulator(product: TileCall, node: For, env: PassEnv, code: Stmt, threads: int) -> str | None:
    accumulator = product.c.source
    if _count_uses(code, accumulator) != _count_uses(node, accumulator):
        return f"code outside of the loop uses {accumulator.name}"
    if accumulator in env.state(RequestedLayouts).of_fragments:
        return f"the kernel sets the layout of {accumulator.name}"
    words = prod(int(constant(size) or 0) for size in accumulator.shape) * DType(dtype_of(accumulator)).bits // 32
    lack = lack_of_registers(code, threads, words // threads)
    return None if lack is None else f"with a second {accumulator.name} {lack}"


def _count_uses(code: Stmt, buffer: Var) -> int:
    return sum(buffer in variables(node) for node in collect(code, Evaluate, BufferStore))


class _Ahead:
    """The loop's new form. Iteration n works on accumulator n % 2, counted from the loop's first."""

    def __init__(self, iteration: Iteration, accumulator: Var, eighths: int, env: PassEnv) -> None:
        self.iteration, self.node, self.accumulator = iteration, iteration.node, accumulator
        dtype, scope = dtype_of(accumulator), str(accumulator.scope())
        name, shape = f"{accumulator.name}_next", [int(constant(size) or 0) for size in accumulator.shape]
        self.second = tirx.decl_buffer(shape, dtype, name, scope=scope, layout=None)
        self.kind = dtype_of(self.node.loop_var)
        self.annotations = {**self.node.annotations, CudaLoopAttr.PRODUCT_AHEAD: eighths}
        self.begin = iteration.first_use_of_late()
        by_sum = env.state(PartialSums).by_sum
        for total, partial in by_sum.items():
            more = tuple((self.second, axis) for source, axis in partial.sources if source.same_as(accumulator))
            by_sum[total] = partial._replace(sources=(*partial.sources, *more))

    def run(self) -> Stmt:
        node = self.node
        last = _simplified(node.min + node.extent - self._const(1))
        first_work = [*self._head(self._at(1), 1), *self._work(node.min, 0, is_first=True)]
        ended = instructions.warpgroup("wait", const(0, "int32"))  # for the loop, which need not wait at its begin then
        several = [_known(first_work), ended, self._pairs(), self._remaining(last)]
        alone = _known(self._work(node.min, 0, is_first=True))
        rest = _either(has_more_than(node, 1), seq(several), alone)
        end = at_iteration([*self.iteration.late, *self.iteration.freed], node.loop_var, last)
        whole = seq([*self._head(node.min, 0), rest, *end])
        return seq([AllocBuffer(self.second), _either(has_more_than(node, 0), whole, nothing())])

    def _pairs(self) -> Stmt:
        """Iterations 1 and 2, 3 and 4 and so on, as long as a further one follows, whose first product is in them."""
        pair = Var(f"{self.node.loop_var.name}_pair", self.kind)
        odd = self.node.min + pair * self._const(2) + self._const(1)
        even = odd + self._const(1)
        body = [*self._step(odd, 1), *self._step(even, 0)]
        pairs = _simplified(tirx.floordiv(self.node.extent - self._const(2), self._const(2)))
        return renewed(For(pair, self._const(0), pairs, self.node.kind, seq(body), None, self.annotations))

    def _remaining(self, last: Any) -> Stmt:
        """The last one or two iterations; the first product of the first of them has been issued."""
        two = [*self._step(_simplified(last - self._const(1)), 1), *self._last_step(last, 0)]
        is_odd = _simplified(tirx.floormod(self.node.extent, self._const(2)).equal(self._const(1)))
        known = constant(is_odd)
        condition = [is_odd] if known is None else [] if known else None
        return _either(condition, renewed(seq(two)), renewed(seq(self._last_step(last, 1))))

    def _step(self, value: Any, turn: int) -> list[Stmt]:
        """An iteration: the first product of the next one, the last product of the one before, and the work."""
        return [*self._head(value + self._const(1), 1 - turn), *self._last_step(value, turn)]

    def _last_step(self, value: Any, turn: int) -> list[Stmt]:
        before = _simplified(value - self._const(1))
        return [*at_iteration(self.iteration.late, self.node.loop_var, before), *self._work(value, turn)]

    def _head(self, value: Any, turn: int) -> list[Stmt]:
        return self._turned(at_iteration(self.iteration.head, self.node.loop_var, value), turn)

    def _work(self, value: Any, turn: int, is_first: bool = False) -> list[Stmt]:
        """MIDDLE of an iteration, and the releases of the one before where its last product has ended."""
        var, middle = self.node.loop_var, self.iteration.middle
        freed = [] if is_first else at_iteration(self.iteration.freed, var, _simplified(value - self._const(1)))
        front, back = (at_iteration(part, var, value) for part in (middle[: self.begin], middle[self.begin :]))
        return self._turned([*front, *freed, *back], turn)

    def _turned(self, statements: Sequence[Stmt], turn: int) -> list[Stmt]:
        return [substitute(s, {self.accumulator: self.second}) for s in statements] if turn else list(statements)

    def _at(self, index: int) -> Any:
        return _simplified(self.node.min + self._const(index))

    def _const(self, value: int) -> Any:
        return const(value, self.kind)


def _known(statements: Sequence[Stmt]) -> Stmt:
    """A copy of the statements, without the conditions whose value is known."""
    return renewed(with_known_conditions(seq(statements), Analyzer()))


def _either(conditions: Sequence[Any] | None, then: Stmt, other: Stmt) -> Stmt:
    """``then`` where the conditions hold (empty: always, None: never), else ``other``."""
    if conditions is None or any(constant(condition) == 0 for condition in conditions):
        return other
    return IfThenElse(conditions[0], then, other) if conditions else then


def _simplified(value: Any) -> Any:
    return Analyzer().simplify(value)
