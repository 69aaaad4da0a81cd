"""Puts the roles of a block's warps into one kernel: who does what is decided by the thread's number.

The barriers are made ready, all threads meet, and from there on the producer's warp, which comes after the user's
threads, and these have no barrier of the whole block in common.
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.architectures import WARP
from tile_cuda.lowering.hopper.specialize_warps import ROLE, ROLES
from tilecore.ir.build import const, constant, op_name, seq
from tilecore.ir.nodes import (
    EQ,
    AttrStmt,
    Call,
    Evaluate,
    IfThenElse,
    IterVar,
    PrimFunc,
    Range,
    SeqStmt,
    Stmt,
    Var,
    structural_map,
    structural_mutate,
)
from tilecore.ir.register_call import register_call
from tilecore.ir.tile_ops import tile_statement
from tilecore.ir.visit import collect
from tilecore.lowering.passes import Pass, PassEnv
from tilecore.lowering.simt.insert_barriers import BARRIER
from tilecore.lowering.threads.kernels import axes_and_code, is_axis

NAMED_BARRIER = register_call("simt.named_barrier")
WARP_BARRIER = register_call("simt.warp_barrier")
CONSUMERS = 1  # the number of the consumers' named barrier; 0 is the block's


def place_roles(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def change(body: Stmt) -> Stmt:
        if isinstance(body, SeqStmt):
            return SeqStmt([change(part) for part in body.seq], span=body.span)
        if not is_axis(body) or not any(node.attr_key == ROLES for node in collect(body, AttrStmt)):
            return body
        return _placed(body, env)

    return func.with_body(change(func.body))


def _placed(kernel: AttrStmt, env: PassEnv) -> Stmt:
    levels, code = axes_and_code(kernel)
    axis = next(level for level in levels if str(level.node.thread_tag) == "threadIdx.x")
    threads, thread = int(constant(axis.value) or 0), axis.node.var
    more = 0

    def roles(node: AttrStmt, mutator: Any) -> Any:
        nonlocal more
        if node.attr_key != ROLES:
            return mutator.default_mutate(node)
        more = int(constant(node.value) or 0)
        return _Roles(node.body, thread, threads).run()

    made = structural_mutate(code, [(AttrStmt, roles)])
    made = structural_map(made, (Evaluate, lambda node: _released(node, thread)))
    env.note("warp_roles", {"producer": f"{more // WARP} warp", "consumers": f"{threads // WARP} warps"})
    for level in reversed(levels):
        if level.same_as(axis):
            count = const(threads + more, "int32")
            domain = Range.from_min_extent(const(0, "int32"), count)
            wider = IterVar(domain, thread, IterVar.ThreadIndex, "threadIdx.x")
            made = AttrStmt(wider, level.attr_key, count, made, span=level.span)
        else:
            made = AttrStmt(level.node, level.attr_key, level.value, made, span=level.span)
    return made


class _Roles:
    def __init__(self, body: Stmt, thread: Var, threads: int) -> None:
        self.thread, self.threads = thread, threads
        found = {str(n.value.value): n.body for n in collect(body, AttrStmt) if n.attr_key == ROLE}
        self.init, self.producer, self.consumer = (found[name] for name in ("init", "producer", "consumer"))

    def run(self) -> Stmt:
        first = IfThenElse(self._is(0), seq([self.init, instructions.transaction("fence_init")]), None)
        consumer = structural_map(self.consumer, (Evaluate, self._barrier))
        filling = IfThenElse(self._is(self.threads), self.producer, None)
        inside = self.thread < const(self.threads, "int32")
        return seq([first, tile_statement("sync_threads", []), IfThenElse(inside, consumer, filling)])

    def _is(self, number: int) -> Any:
        return EQ(self.thread, const(number, "int32"))

    def _barrier(self, node: Evaluate) -> Evaluate:
        if op_name(node.value) != BARRIER:
            return node
        numbers = [const(CONSUMERS, "int32"), const(self.threads, "int32")]
        return Evaluate(Call(NAMED_BARRIER, numbers, ret_ty="void"), span=node.span)


def _released(node: Evaluate, thread: Var) -> Stmt:
    """A warp's release: by its first lane, after all lanes have come to it."""
    if op_name(node.value) != instructions.RELEASE:
        return node
    barrier, converge, *_ = node.value.args
    lane = IfThenElse(EQ(thread % WARP, const(0, "int32")), instructions.transaction("arrive", barrier), None)
    meet = [Evaluate(Call(WARP_BARRIER, [], ret_ty="void"))] if constant(converge) else []
    return seq([*meet, lane])


PLACE_ROLES = Pass("place_roles", place_roles)
