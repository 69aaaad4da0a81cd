"""Makes three warpgroups or more issue the matrix products of attention by turns (ping-pong scheduling).

In attention each warpgroup issues the next scores and the product of the last weights (``overlap_wgmma``), and computes
the weights of these scores meanwhile. Warpgroups that begin together stay together: their products wait for one another
on the tensor cores, and then all compute exponentials while the tensor cores idle. So each warpgroup waits at a named
barrier until the one before it has issued its products, as in FlashAttention-3 (Shah et al., 2024, section 3.1). Then
one computes exponentials while the products of another run.

Two warpgroups do not gain: they alternate without barriers where ``wait_within_exponentials`` places the waits.
docs/notes/attention.md has the measurements.
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.attributes import CudaLoopAttr
from tile_cuda.lowering.hopper.role_statements import with_consumer
from tile_cuda.lowering.hopper.wait_within_exponentials import EXPONENTIALS, MOST_THREADS
from tile_cuda.lowering.hopper.wgmma import issues_wgmma
from tile_cuda.lowering.hopper.wgmma_config import GROUP
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import const, op_name, seq, statements_of, with_body
from tilecore.ir.nodes import (
    EQ,
    Bind,
    Call,
    For,
    IfThenElse,
    PrimFunc,
    Select,
    Stmt,
    Var,
    structural_mutate,
    tirx,
)
from tilecore.ir.thread_calls import NAMED_BARRIER
from tilecore.ir.thread_ops import thread_statement
from tilecore.ir.thread_ranges import has_ranges
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import Threads, each_kernel

MEETING = 2 * GROUP  # threads at a barrier: those whose turn begins, and those whose turn has ended
FIRST_BARRIER = 8  # of the first warpgroup's turns; the compiler numbers other barriers from 1 on
MOST_WARPGROUPS = 8  # there are 16 barriers


def pingpong_warpgroups(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def change(body: Stmt, threads: Threads) -> Stmt:
        warpgroups = threads.count // GROUP
        if threads.count <= MOST_THREADS or threads.count % GROUP or warpgroups > MOST_WARPGROUPS:
            return body
        if has_ranges(body) or any(
            op_name(call) in (NAMED_BARRIER, instructions.NAMED_ARRIVE) for call in collect(body, Call)
        ):
            return body  # its parts meet at barriers of their own
        return with_consumer(body, lambda code: _by_turns(code, threads, warpgroups, env))

    return func.with_body(each_kernel(func.body, change))


def _by_turns(code: Stmt, threads: Threads, warpgroups: int, env: PassEnv) -> Stmt:
    """The code with turns in its loops, and the first warpgroup's first turn in front of it."""
    warpgroup = Var("turn", "int32")
    loops: list[str] = []

    def loop(node: For, mutator: Any) -> Any:
        statements = statements_of(node.body)
        products = _leading_products(node, statements)
        if products is None:
            return mutator.default_mutate(node)
        loops.append(str(node.loop_var.name))
        first, behind = products[0], products[1] + 1
        turn = [_wait(warpgroup), *statements[first:behind], _pass_on(warpgroup, warpgroups)]
        return with_body(node, seq([*statements[:first], *turn, *statements[behind:]]))

    changed = structural_mutate(code, [(For, loop)])
    if not loops:
        return code
    env.note("pingpong", {"loops": ", ".join(loops), "warpgroups": warpgroups})
    index = instructions.uniform(tirx.floordiv(threads.linear_index(), const(GROUP, "int32")))
    is_last = EQ(warpgroup, const(warpgroups - 1, "int32"))
    return seq([Bind(warpgroup, index), IfThenElse(is_last, _arrive(const(FIRST_BARRIER, "int32")), None), changed])


def _leading_products(node: For, statements: list[Stmt]) -> list[int] | None:
    """The indices of the two products that a loop of attention begins with; None for any other loop.

    Both are issued in front of the first wait, which leaves one of them running beside exponentials.
    """
    waits = [index for index, statement in enumerate(statements) if instructions.groups_left(statement) is not None]
    if CudaLoopAttr.PRODUCT_AHEAD in node.annotations or len(waits) < 2:
        return None
    products = [index for index, statement in enumerate(statements[: waits[0]]) if issues_wgmma(statement)]
    if len(products) != 2 or instructions.groups_left(statements[waits[0]]) != 1:
        return None
    beside = statements[waits[0] : waits[1]]
    has_exponentials = any(op_name(call) in EXPONENTIALS for part in beside for call in collect(part, Call))
    return products if has_exponentials else None


def _wait(warpgroup: Var) -> Stmt:
    return thread_statement(NAMED_BARRIER, [warpgroup + const(FIRST_BARRIER, "int32"), const(MEETING, "int32")])


def _pass_on(warpgroup: Var, warpgroups: int) -> Stmt:
    """Arrives at the barrier of the next warpgroup."""
    is_last = EQ(warpgroup, const(warpgroups - 1, "int32"))
    return _arrive(Select(is_last, const(FIRST_BARRIER, "int32"), warpgroup + const(FIRST_BARRIER + 1, "int32")))


def _arrive(barrier: Any) -> Stmt:
    return instructions.named_arrive(barrier, MEETING)


PINGPONG_WARPGROUPS = Pass("pingpong_warpgroups", pingpong_warpgroups)
