"""Initializes the mbarriers of T.alloc_barrier at the start of a kernel, before any use.

PTX ISA, "mbarrier.init" and "fence.mbarrier_init": one thread initializes them. The copy engine sees them after the
fence of that thread, the other threads after a barrier, and the other blocks of a cluster after a cluster barrier.
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.state import ExplicitBarriers
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, load, nothing, seq
from tilecore.ir.nodes import EQ, AllocBuffer, IfThenElse, PrimFunc, Stmt, Var, structural_map
from tilecore.ir.tile_ops import tile_statement
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import Threads, each_kernel


def init_mbarriers(func: PrimFunc, env: PassEnv) -> PrimFunc:
    barriers = env.state(ExplicitBarriers)
    counts = barriers.arrivals

    def change(body: Stmt, threads: Threads) -> Stmt:
        mbarriers = [a.buffer for a in collect(body, AllocBuffer) if a.buffer in counts]
        if not mbarriers:
            return body
        other_code = structural_map(body, (AllocBuffer, lambda node: nothing() if node.buffer in counts else node))
        in_cluster = any(buffer in barriers.in_clusters for buffer in mbarriers)
        # the fence of the initializing thread orders what the relaxed arrival does not (PTX ISA, "fence.mbarrier_init")
        late = any(buffer in barriers.late for buffer in mbarriers)
        wait = instructions.cluster("arrive_relaxed" if late else "barrier") if in_cluster else _block_barrier()
        return seq([*map(AllocBuffer, mbarriers), _initialized(mbarriers, counts, threads), wait, other_code])

    return func.with_body(each_kernel(func.body, change))


def _block_barrier() -> Stmt:
    return tile_statement("sync_threads", [])


def _initialized(buffers: list[Var], counts: dict[Var, Any], threads: Threads) -> Stmt:
    inits = [
        instructions.mbarrier("init", load(buffer, [const(n, "int32")]), const(count, "int32"))
        for buffer in buffers
        for n, count in enumerate(counts[buffer])
    ]
    is_first: Any = EQ(Analyzer().simplify(threads.linear_index()), const(0, "int32"))
    return IfThenElse(is_first, seq([*inits, instructions.mbarrier("fence_init")]), None)


INIT_MBARRIERS = Pass("init_mbarriers", init_mbarriers, needs=(ExplicitBarriers,))
