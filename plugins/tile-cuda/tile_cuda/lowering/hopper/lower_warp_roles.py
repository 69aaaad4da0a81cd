"""Lowers the roles of a block's warps to branches on the thread index.

One thread initializes the mbarriers, and all threads meet at a barrier. After it, the producer warp, which follows the
user's threads, and the consumers, which are the user's threads, share no barrier of the whole block. Where the
consumers need more registers than an equal share, the producer is a whole warpgroup, which releases most of its
registers (PTX ISA, "setmaxnreg").
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.architectures import WARP
from tile_cuda.attributes import CudaStatementAttr
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
from tilecore.ir.thread_calls import NAMED_BARRIER, WARP_BARRIER
from tilecore.ir.thread_ops import thread_statement
from tilecore.ir.tile_op_table import SYNC_THREADS
from tilecore.ir.tile_ops import tile_statement
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis

REGISTERS = 65536  # of a multiprocessor
MOST_REGISTERS = 255  # of a thread
LARGE = 16  # words: arrays from this size on count as live all the time
OTHER_REGISTERS = 32  # of a thread, beside its arrays
PRODUCER_REGISTERS, MOST_CONSUMER_REGISTERS = 24, 240  # of a thread
CONSUMER_BARRIER = 1  # the index of the consumers' named barrier; 0 is the block's


def lower_warp_roles(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def change(body: Stmt) -> Stmt:
        if isinstance(body, SeqStmt):
            return SeqStmt([change(part) for part in body.seq], span=body.span)
        if not is_axis(body) or not any(node.attr_key == CudaStatementAttr.ROLES for node in collect(body, AttrStmt)):
            return body
        return _lowered_kernel(body, env)

    return func.with_body(change(func.body))


def _lowered_kernel(kernel: AttrStmt, env: PassEnv) -> Stmt:
    levels, code = axes_and_code(kernel)
    axis = next(level for level in levels if str(level.node.thread_tag) == "threadIdx.x")
    threads, thread = int(constant(axis.value) or 0), axis.node.var
    shares = register_shares(code, threads)
    producer_threads = GROUP if shares else WARP

    def roles(node: AttrStmt, mutator: Any) -> Any:
        if node.attr_key != CudaStatementAttr.ROLES:
            return mutator.default_mutate(node)
        return _Roles(node.body, thread, threads, shares).run()

    lowered = structural_mutate(code, [(AttrStmt, roles)])
    lowered = structural_map(lowered, (Evaluate, lambda node: _lowered_release(node, thread)))
    _note(threads, shares, env)
    for level in reversed(levels):
        if level.same_as(axis):
            count = const(threads + producer_threads, "int32")
            domain = Range.from_min_extent(const(0, "int32"), count)
            thread_axis = IterVar(domain, thread, IterVar.ThreadIndex, "threadIdx.x")
            lowered = AttrStmt(thread_axis, level.attr_key, count, lowered, span=level.span)
        else:
            lowered = AttrStmt(level.node, level.attr_key, level.value, lowered, span=level.span)
    return lowered


def register_shares(code: Stmt, threads: int) -> tuple[int, int] | None:
    """Registers of a producer's and a consumer's thread; None where equal shares hold the consumers' arrays."""
    local = [a.buffer for a in collect(code, AllocBuffer) if str(a.buffer.scope()) == "local"]
    sizes = [-(-int(constant(b.shape[0]) or 0) * DType(dtype_of(b)).bits // 32) for b in local]
    words = sum(size for size in sizes if size >= LARGE)
    groups = -(-threads // GROUP)
    equal = REGISTERS // ((groups + 1) * GROUP) // 8 * 8
    if words + OTHER_REGISTERS <= min(equal, MOST_REGISTERS) or threads % GROUP or equal >= MOST_CONSUMER_REGISTERS:
        return None
    most = (equal * (groups + 1) - PRODUCER_REGISTERS) // groups // 8 * 8  # a block shares what it is launched with
    return PRODUCER_REGISTERS, min(most, MOST_CONSUMER_REGISTERS)


def _note(threads: int, shares: tuple[int, int] | None, env: PassEnv) -> None:
    facts = {"producer": "1 warp", "consumers": f"{threads // WARP} warps"}
    if shares:
        facts["registers"] = f"{shares[0]} for each producer thread, {shares[1]} for each consumer thread"
    env.note("warp_roles", facts)


class _Roles:
    def __init__(self, body: Stmt, thread: Var, threads: int, shares: tuple[int, int] | None) -> None:
        self.thread, self.threads, self.shares = thread, threads, shares
        bodies = {str(n.value.value): n.body for n in collect(body, AttrStmt) if n.attr_key == CudaStatementAttr.ROLE}
        self.init, self.producer, self.consumer = (bodies[name] for name in ("init", "producer", "consumer"))

    def run(self) -> Stmt:
        init = IfThenElse(self._is_thread(0), seq([self.init, instructions.mbarrier("fence_init")]), None)
        consumer = structural_map(self.consumer, (Evaluate, self._named_barrier))
        producer = IfThenElse(self._is_thread(self.threads), self.producer, None)
        is_consumer = self.thread < const(self.threads, "int32")
        at_end: list[Stmt] = []
        barrier = tile_statement("sync_threads", [])
        if self._is_clustered():  # a block must not end while its neighbour writes to it or arrives at its mbarriers
            barrier = instructions.cluster("barrier")
            at_end = [thread_statement(WARP_BARRIER), instructions.cluster("barrier")]
        if self.shares:
            producer_registers, consumer_registers = self.shares
            producer = seq([instructions.setmaxnreg("release", producer_registers), producer])
            consumer = seq([instructions.setmaxnreg("acquire", consumer_registers), consumer])
        return seq([init, barrier, IfThenElse(is_consumer, consumer, producer), *at_end])

    def _is_clustered(self) -> bool:
        releases = (call for call in collect(self.consumer, Call) if op_name(call) == instructions.RELEASE)
        return any(instructions.blocks_released(call) > 1 for call in releases)

    def _is_thread(self, index: int) -> Any:
        return EQ(self.thread, const(index, "int32"))

    def _named_barrier(self, node: Evaluate) -> Evaluate:
        if op_name(node.value) != SYNC_THREADS:
            return node
        barrier_and_threads = [const(CONSUMER_BARRIER, "int32"), const(self.threads, "int32")]
        return thread_statement(NAMED_BARRIER, barrier_and_threads, span=node.span)


def _lowered_release(node: Evaluate, thread: Var) -> Stmt:
    """The arrival of a warp's first lane, after all its lanes have reached the release.

    Where the threads have read the slot themselves, each first fences its reads: the copy engine overwrites the slot
    through another proxy (PTX ISA, "Proxies"), and an arrival does not wait for loads that are in flight. In compiled
    code the last LDSM of a step may be pending when the mbarrier counts the arrival.
    """
    if op_name(node.value) != instructions.RELEASE:
        return node
    barrier, converge, *_ = node.value.args
    lane, blocks = thread % WARP, instructions.blocks_released(node.value)
    if blocks > 1:  # a lane for each block
        arrival = instructions.mbarrier("arrive_remote", barrier, lane)
        arrive = IfThenElse(lane < const(blocks, "int32"), arrival, None)
    else:
        arrive = IfThenElse(EQ(lane, const(0, "int32")), instructions.mbarrier("arrive", barrier), None)
    after_reads = [instructions.proxy_fence(), thread_statement(WARP_BARRIER)] if constant(converge) else []
    return seq([*after_reads, arrive])


LOWER_WARP_ROLES = Pass("lower_warp_roles", lower_warp_roles)
