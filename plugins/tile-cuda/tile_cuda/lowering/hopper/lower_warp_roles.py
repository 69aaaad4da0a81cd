"""Puts the roles of a block's warps into one kernel: who does what is decided by the thread's number.

The barriers are made ready, all threads meet, and from there on the producer's warp, which comes after the user's
threads, and these have no barrier of the whole block in common. Where the user's threads need more registers than an
equal share, the producer is a whole warpgroup, which gives most of its own away (PTX ISA, "setmaxnreg").
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.architectures import WARP
from tile_cuda.lowering.hopper.specialize_warps import ROLE, ROLES
from tile_cuda.lowering.hopper.wgmma_config import GROUP
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import const, constant, dtype_of, op_name, seq
from tilecore.ir.nodes import (
    EQ,
    AllocBuffer,
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
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis
from tilecore.lowering.simt.insert_barriers import BARRIER

NAMED_BARRIER = register_call("simt.named_barrier")
WARP_BARRIER = register_call("simt.warp_barrier")
REGISTERS = 65536  # of a multiprocessor
MOST = 255  # of a thread
LARGE = 16  # words of an array that lives long; smaller ones come and go
OTHERS = 32  # of a thread, for addresses and what else is no array
FEW, ACQUIRED = 24, 240  # of a producer's thread; at most of a consumer's
CONSUMERS = 1  # the number of the consumers' named barrier; 0 is the block's


def lower_warp_roles(func: PrimFunc, env: PassEnv) -> PrimFunc:
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
    shares = shares_of(code, threads)
    more = GROUP if shares else WARP

    def roles(node: AttrStmt, mutator: Any) -> Any:
        if node.attr_key != ROLES:
            return mutator.default_mutate(node)
        return _Roles(node.body, thread, threads, shares).run()

    made = structural_mutate(code, [(AttrStmt, roles)])
    made = structural_map(made, (Evaluate, lambda node: _released(node, thread)))
    _note(threads, shares, env)
    for level in reversed(levels):
        if level.same_as(axis):
            count = const(threads + more, "int32")
            domain = Range.from_min_extent(const(0, "int32"), count)
            wider = IterVar(domain, thread, IterVar.ThreadIndex, "threadIdx.x")
            made = AttrStmt(wider, level.attr_key, count, made, span=level.span)
        else:
            made = AttrStmt(level.node, level.attr_key, level.value, made, span=level.span)
    return made


def shares_of(code: Stmt, threads: int) -> tuple[int, int] | None:
    """Registers of the producer's and the user's threads, where equal shares are too small for what these hold."""
    local = [a.buffer for a in collect(code, AllocBuffer) if str(a.buffer.scope()) == "local"]
    sizes = [-(-int(constant(b.shape[0]) or 0) * DType(dtype_of(b)).bits // 32) for b in local]
    words = sum(size for size in sizes if size >= LARGE)
    groups = -(-threads // GROUP)
    equal = REGISTERS // ((groups + 1) * GROUP) // 8 * 8
    if words + OTHERS <= min(equal, MOST) or threads % GROUP or equal >= ACQUIRED:
        return None
    most = (REGISTERS // GROUP - FEW) // groups // 8 * 8
    return FEW, min(most, ACQUIRED)


def _note(threads: int, shares: tuple[int, int] | None, env: PassEnv) -> None:
    facts = {"producer": "1 warp", "consumers": f"{threads // WARP} warps"}
    if shares:
        facts["registers"] = f"{shares[0]} of the producer's, {shares[1]} of the consumers' threads"
    env.note("warp_roles", facts)


class _Roles:
    def __init__(self, body: Stmt, thread: Var, threads: int, shares: tuple[int, int] | None) -> None:
        self.thread, self.threads, self.shares = thread, threads, shares
        found = {str(n.value.value): n.body for n in collect(body, AttrStmt) if n.attr_key == ROLE}
        self.init, self.producer, self.consumer = (found[name] for name in ("init", "producer", "consumer"))

    def run(self) -> Stmt:
        first = IfThenElse(self._is(0), seq([self.init, instructions.transaction("fence_init")]), None)
        consumer = structural_map(self.consumer, (Evaluate, self._barrier))
        filling = IfThenElse(self._is(self.threads), self.producer, None)
        inside = self.thread < const(self.threads, "int32")
        last: list[Stmt] = []
        ready = tile_statement("sync_threads", [])
        if self._has_neighbours():  # who end only when nobody writes to them and arrives at their barriers any more
            ready = instructions.cluster("barrier")
            last = [Evaluate(Call(WARP_BARRIER, [], ret_ty="void")), instructions.cluster("barrier")]
        if self.shares:
            few, many = self.shares
            filling = seq([instructions.registers("release", few), filling])
            consumer = seq([instructions.registers("acquire", many), consumer])
        return seq([first, ready, IfThenElse(inside, consumer, filling), *last])

    def _has_neighbours(self) -> bool:
        releases = (call for call in collect(self.consumer, Call) if op_name(call) == instructions.RELEASE)
        return any(instructions.blocks_released(call) > 1 for call in releases)

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
    lane, blocks = thread % WARP, instructions.blocks_released(node.value)
    if blocks > 1:  # a lane for each block
        arrival = instructions.transaction("arrive_remote", barrier, lane)
        arrive = IfThenElse(lane < const(blocks, "int32"), arrival, None)
    else:
        arrive = IfThenElse(EQ(lane, const(0, "int32")), instructions.transaction("arrive", barrier), None)
    meet = [Evaluate(Call(WARP_BARRIER, [], ret_ty="void"))] if constant(converge) else []
    return seq([*meet, arrive])


LOWER_WARP_ROLES = Pass("lower_warp_roles", lower_warp_roles)
