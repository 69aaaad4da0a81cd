"""Moves the wait for a wgmma group into the exponentials that run beside it, and keeps it there.

In attention the product of weights and values runs while the next scores become weights: maxima, exponentials, sums.
``wait_wgmma`` puts its wait behind all of that. But ptxas moves a wait freely among instructions on registers. At the
front nothing runs beside the product; at the end nothing runs beside the rescaling of its accumulator. Which of the two
ptxas chooses depends on unrelated addresses and constants; the same attention differed by 10 %. So this pass puts the
wait behind the first eighth of the exponentials, with a fence for the scheduler of ptxas in front of it. The product
has ended by then, and the code that uses it fills the gaps between the other exponentials, of which a multiprocessor
issues few in a cycle. docs/notes/hopper.md has the measurements.

The products of three warpgroups alternate and end later than that; there the wait stays where ptxas puts it. In a loop
of ``product_ahead`` two products run beside the exponentials; the loop says behind which part of them they have ended.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tile_cuda import instructions
from tile_cuda.attributes import CudaLoopAttr
from tile_cuda.lowering.hopper.wgmma import issues_wgmma
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import const, constant, dtype_of, load, op_name, seq, statements_of, with_body
from tilecore.ir.nodes import (
    AttrStmt,
    Bind,
    BufferStore,
    Call,
    Evaluate,
    For,
    ForKind,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    structural_mutate,
)
from tilecore.ir.visit import collect, renewed, substitute, variables
from tilecore.lowering.analysis.kernels import Threads, each_kernel

PARTS = 8  # the exponentials are divided into so many; one of them stands in front of the wait
EXPONENTIALS = ("exp", "exp2", "exp10")
MOST_THREADS = 256  # of a kernel that multiply: two warpgroups
AFTER_WAIT = (instructions.REGISTER_FENCE, instructions.KEEP_REGISTERS, instructions.RELEASE)  # that belong to a wait


def wait_within_exponentials(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def in_order(node: SeqStmt, mutator: Any) -> Any:
        node = mutator.default_mutate(node)
        return seq(_with_waits_moved(list(node.seq))) if isinstance(node, SeqStmt) else node

    def ahead(node: For, mutator: Any) -> Any:
        parts = constant(node.annotations.get(CudaLoopAttr.PRODUCT_AHEAD, 0)) or 0
        if not 0 < parts < PARTS:
            return mutator.default_mutate(node) if not parts else node
        return with_body(node, seq(_with_last_waits_moved(statements_of(node.body), parts)))

    def change(body: Stmt, threads: Threads) -> Stmt:
        if not issues_wgmma(body):
            return body
        few = [(SeqStmt, in_order)] if threads.count <= MOST_THREADS else []
        return structural_mutate(body, [*few, (For, ahead)])

    return func.with_body(each_kernel(func.body, change))


def _with_waits_moved(statements: list[Stmt]) -> list[Stmt]:
    """The statements, with a wait and the calls after it moved into the exponentials before it."""
    waits = [(index, age) for index, age in enumerate(map(instructions.groups_left, statements)) if age is not None]
    for (first, running), (last, left) in pairwise(waits):
        moved = None if left >= running else _with_wait_moved(statements, first, last, 1)
        if moved is not None:
            return moved
    return statements


def _with_last_waits_moved(statements: list[Stmt], parts: int) -> list[Stmt]:
    """The statements, with each wait for all groups moved behind so many eighths of the exponentials before it."""
    done = 0  # so many statements, from the end on, stay as they are
    while done < len(statements):
        last = len(statements) - 1 - done
        if instructions.groups_left(statements[last]) == 0:
            before = [index for index in range(last) if instructions.groups_left(statements[index]) is not None]
            moved = _with_wait_moved(statements, max(before, default=-1) + 1, last, parts)
            if moved is not None:
                done += len(moved) - len(statements)
                statements = moved
        done += 1
    return statements


def _with_wait_moved(statements: list[Stmt], first: int, last: int, parts: int) -> list[Stmt] | None:
    """The statements, with the wait at ``last`` behind so many eighths of the exponentials behind ``first``; None where
    there are too few of them, or the wait may not cross what stands in between."""
    behind = behind_wait(statements, last)
    between = [_count_steps(node) for node in statements[first:last]]
    steps = max(between, default=0)
    if steps < PARTS:
        return None
    target = first + between.index(steps)  # the nest with the most exponentials
    crossed, moved = statements[target:last], statements[last:behind]
    if not _may_cross(moved, crossed):
        return None
    before, element, after = _split(crossed[0], steps, steps * parts // PARTS)
    fence = instructions.scheduling_fence(element)
    return [*statements[:target], before, fence, *moved, after, *crossed[1:], *statements[behind:]]


def behind_wait(statements: list[Stmt], wait: int) -> int:
    """The index of the first statement behind a wait and the calls that belong to it."""
    behind = wait + 1
    while behind < len(statements) and op_name(getattr(statements[behind], "value", None)) in AFTER_WAIT:
        behind += 1
    return behind


def _may_cross(moved: list[Stmt], crossed: list[Stmt]) -> bool:
    """Whether a wait and the calls after it may move in front of these statements."""
    defined = {bind.var for part in crossed for bind in collect(part, Bind)}
    return all(map(_on_registers, crossed)) and not any(variables(part) & defined for part in moved)


def _on_registers(node: Stmt) -> bool:
    """Whether it accesses registers alone, so that a wait may stand in front of it or behind it."""
    buffers = [e.buffer for e in collect(node, BufferStore)] + [e.source for e in collect(node, TensorLoad)]
    return not collect(node, Evaluate) and all(buffer.scope() == "local" for buffer in buffers)


def _count_steps(node: Stmt) -> int:
    """The number of iterations of the outermost loop of a nest of exponentials; 0 for any other statement."""
    if not isinstance(node, AttrStmt) or node.attr_key != StatementAttr.NEST or not isinstance(node.body, For):
        return 0
    loops, stores = collect(node, For), collect(node, BufferStore)
    if any(loop.kind != ForKind.UNROLLED or constant(loop.extent) is None for loop in loops) or len(stores) != 1:
        return 0
    bound_in_nest = {bind.var for bind in collect(node, Bind)}
    if dtype_of(stores[0].value) != "float32" or any(variables(index) & bound_in_nest for index in stores[0].indices):
        return 0
    if not any(op_name(call) in EXPONENTIALS for call in collect(stores[0].value, Call)):
        return 0
    return int(constant(node.body.extent) or 0)


def _split(node: AttrStmt, steps: int, first: int) -> tuple[Stmt, Any, Stmt]:
    """(the first iterations of a nest of exponentials, the last element that they write, the rest of the nest)."""
    (store,) = collect(node, BufferStore)
    ends = {loop.loop_var: loop.min + loop.extent - const(1, dtype_of(loop.loop_var)) for loop in collect(node, For)}
    ends[node.body.loop_var] = const(first - 1, dtype_of(node.body.loop_var)) + node.body.min
    element = load(store.buffer, [substitute(index, ends) for index in store.indices])
    return _some_steps(node, 0, first), element, _some_steps(node, first, steps - first)


def _some_steps(node: AttrStmt, begin: int, count: int) -> Stmt:
    """Some of the iterations of a nest's outermost loop, with variables of their own."""
    whole = node.body
    dtype = dtype_of(whole.loop_var)
    var = Var(whole.loop_var.name, dtype)
    body = renewed(substitute(whole.body, {whole.loop_var: var + const(begin, dtype) if begin else var}))
    part = For(var, whole.min, const(count, dtype), whole.kind, body, annotations=whole.annotations, span=whole.span)
    return AttrStmt(node.node, node.attr_key, node.value, part, span=node.span)


WAIT_WITHIN_EXPONENTIALS = Pass("wait_within_exponentials", wait_within_exponentials)
