"""Makes the warpgroups of attention issue their matrix products by turns (ping-pong scheduling).

In attention each warpgroup issues the next scores and the product of the last weights (``overlap_wgmma``), and computes
the weights of these scores meanwhile. Warpgroups that begin together stay together: their products wait for one another
on the tensor cores, and then all compute exponentials while the tensor cores idle. So each warpgroup waits at a named
barrier until the one before it has passed on its turn, as in FlashAttention-3 (Shah et al., 2024, section 3.1). Then
one computes exponentials while the products of another run.

Three warpgroups or more pass on the turn when both products are issued. Two pass it on later, when the scores are
there: half of an iteration then lies between them. That takes as long as the products of one warpgroup run, so two take
turns only where its products need no more cycles than its exponentials (heads of up to 64); others alternate without
barriers, as ``wait_within_exponentials`` places the waits. docs/notes/attention.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_cuda import instructions
from tile_cuda.attributes import CudaLoopAttr
from tile_cuda.lowering.hopper.role_statements import with_consumer
from tile_cuda.lowering.hopper.wait_within_exponentials import AFTER_WAIT, EXPONENTIALS, behind_wait
from tile_cuda.lowering.hopper.wgmma import issues_wgmma
from tile_cuda.lowering.hopper.wgmma_config import GROUP
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import const, constant, op_name, seq, statements_of, with_body
from tilecore.ir.nodes import (
    EQ,
    Bind,
    Call,
    Evaluate,
    For,
    IfThenElse,
    PrimFunc,
    Select,
    Stmt,
    Var,
    While,
    structural_mutate,
    tirx,
)
from tilecore.ir.thread_calls import NAMED_BARRIER, WARP_BARRIER
from tilecore.ir.thread_ops import thread_statement
from tilecore.ir.thread_ranges import has_ranges
from tilecore.ir.visit import children, collect, jumps_out
from tilecore.lowering.analysis.kernels import Threads, each_kernel

MEETING = 2 * GROUP  # threads at a barrier: those whose turn begins, and those whose turn has ended
FIRST_BARRIER = 8  # of the first warpgroup's turns; the compiler numbers other barriers from 1 on
MOST_WARPGROUPS = 8  # there are 16 barriers
TILE_WAITS = ("wait", "wait_cluster")
# What a turn may have beside waits for tiles: nothing that waits for another warpgroup.
IN_TURN = (
    *(instructions.WGMMA, instructions.WGMMA_RS, instructions.WARPGROUP, instructions.SCHEDULING_FENCE),
    *(instructions.PROXY_FENCE, WARP_BARRIER, *AFTER_WAIT),
)
CYCLES_OF_EXPONENTIAL = GROUP // 16  # of a multiprocessor, for one of each thread of a warpgroup
COLUMNS_A_CYCLE = 2  # of B, that the tensor cores of a multiprocessor multiply by 64 rows of 32 bytes


def pingpong_warpgroups(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def change(body: Stmt, threads: Threads) -> Stmt:
        warpgroups = threads.count // GROUP
        if threads.count % GROUP or not 2 <= warpgroups <= MOST_WARPGROUPS:
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
        turn = _turn(node, statements, warpgroups)
        if turn is None:
            return mutator.default_mutate(node)
        loops.append(str(node.loop_var.name))
        first, behind = turn
        by_turns = [_wait(warpgroup), *statements[first:behind], _pass_on(warpgroup, warpgroups)]
        return with_body(node, seq([*statements[:first], *by_turns, *statements[behind:]]))

    changed = structural_mutate(code, [(For, loop)])
    if not loops:
        return code
    env.note("pingpong", {"loops": ", ".join(loops), "warpgroups": warpgroups})
    index = instructions.uniform(tirx.floordiv(threads.linear_index(), const(GROUP, "int32")))
    is_last = EQ(warpgroup, const(warpgroups - 1, "int32"))
    return seq([Bind(warpgroup, index), IfThenElse(is_last, _arrive(const(FIRST_BARRIER, "int32")), None), changed])


def _turn(node: For, statements: list[Stmt], warpgroups: int) -> tuple[int, int] | None:
    """The first statement of a loop's turn, and the one behind its last; None for a loop that has no turns."""
    waits = [index for index, statement in enumerate(statements) if instructions.groups_left(statement) is not None]
    products = _leading_products(node, statements, waits)
    if products is None:
        return None
    behind = products[1] + 1
    if warpgroups == 2:
        for_products = sum(_cycles(statements[index], _cycles_of_product) for index in products)
        for_exponentials = sum(_cycles(part, _cycles_of_exponential) for part in statements)
        if not _adds_weights(statements[products[1]]) or for_products > for_exponentials:
            return None
        behind = behind_wait(statements, waits[0])
    return (products[0], behind) if _needs_no_other(statements[products[0] : behind]) else None


def _needs_no_other(turn: list[Stmt]) -> bool:
    """Whether a warpgroup ends its turn without what another one does in a later turn.

    It must meet no other at a barrier, and not leave the loop. A tile that it waits for may be loaded to a slot that
    all warpgroups release first: they do so before their own turns, if no release stands in front of the wait.
    """
    has_released = False
    for part in turn:
        if jumps_out(part) or collect(part, While):
            return False
        for statement in collect(part, Evaluate):
            name = op_name(statement.value)
            if name == instructions.MBARRIER:
                if has_released or str(statement.value.args[0].value) not in TILE_WAITS:
                    return False
            elif name not in IN_TURN:
                return False
            has_released |= name == instructions.RELEASE
    return True


def _leading_products(node: For, statements: list[Stmt], waits: list[int]) -> list[int] | None:
    """The indices of the two products that a loop of attention begins with; None for any other loop.

    Both are issued in front of the first wait, which leaves one of them running beside exponentials.
    """
    if CudaLoopAttr.PRODUCT_AHEAD in node.annotations or len(waits) < 2:
        return None
    products = [index for index, statement in enumerate(statements[: waits[0]]) if issues_wgmma(statement)]
    if len(products) != 2 or instructions.groups_left(statements[waits[0]]) != 1:
        return None
    beside = statements[waits[0] : waits[1]]
    has_exponentials = any(op_name(call) in EXPONENTIALS for part in beside for call in collect(part, Call))
    return products if has_exponentials else None


def _adds_weights(product: Stmt) -> bool:
    """Whether A of the product is in registers, as the weights of attention are."""
    return any(op_name(call) == instructions.WGMMA_RS for call in collect(product, Call))


def _cycles_of_product(call: Call) -> int:
    """The cycles of a multiprocessor's tensor cores for a wgmma instruction; 0 for other calls."""
    if op_name(call) not in (instructions.WGMMA, instructions.WGMMA_RS):
        return 0
    return int(str(call.args[0].value)[1:].split("k")[0]) // COLUMNS_A_CYCLE


def _cycles_of_exponential(call: Call) -> int:
    """The cycles of a multiprocessor for an exponential in each thread of a warpgroup; 0 for other calls."""
    return CYCLES_OF_EXPONENTIAL if op_name(call) in EXPONENTIALS else 0


def _cycles(node: Stmt, cycles_of_call: Callable[[Call], int]) -> int:
    """The sum over the calls of a statement, each as often as the loops around it repeat it."""
    inner = list(children(node))
    if not inner:
        return sum(cycles_of_call(call) for call in collect(node, Call))
    repeats = int(constant(node.extent) or 1) if isinstance(node, For) else 1
    return repeats * sum(_cycles(part, cycles_of_call) for part in inner)


def _wait(warpgroup: Var) -> Stmt:
    return thread_statement(NAMED_BARRIER, [warpgroup + const(FIRST_BARRIER, "int32"), const(MEETING, "int32")])


def _pass_on(warpgroup: Var, warpgroups: int) -> Stmt:
    """Arrives at the barrier of the next warpgroup."""
    is_last = EQ(warpgroup, const(warpgroups - 1, "int32"))
    return _arrive(Select(is_last, const(FIRST_BARRIER, "int32"), warpgroup + const(FIRST_BARRIER + 1, "int32")))


def _arrive(barrier: Any) -> Stmt:
    return instructions.named_arrive(barrier, MEETING)


PINGPONG_WARPGROUPS = Pass("pingpong_warpgroups", pingpong_warpgroups)
