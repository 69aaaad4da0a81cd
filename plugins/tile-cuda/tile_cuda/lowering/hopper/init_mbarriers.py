"""Makes the barriers of T.alloc_barrier ready at the start of a kernel, before anybody uses them.

PTX ISA, "mbarrier.init" and "fence.mbarrier_init": one thread makes them, the copy engine sees them after its fence,
the other threads after a barrier; with a cluster, the other blocks after a barrier of the cluster.
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.operations import BARRIER_HINT, KIND, TMA_COPY
from tile_cuda.target import architecture_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import UnsupportedError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, load, nothing, seq
from tilecore.ir.dialect_calls import has_dialect_calls, refuse_dialects
from tilecore.ir.nodes import EQ, AllocBuffer, Evaluate, For, IfThenElse, PrimFunc, Stmt, Var, structural_map
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import as_tile_call, hints_of, tile_statement
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import Threads, each_kernel, kernels_of
from tilecore.lowering.simt.pipeline_loops import STAGES
from tilecore.lowering.simt.plan_shared import ALL_LIVE

BARRIERS = "explicit_barriers"  # the fact: {buffer of barriers: arrivals that each wants}
CLUSTERS = "explicit_clusters"  # the fact: buffers of barriers of kernels with clusters


def collect_mbarriers(func: PrimFunc, env: PassEnv) -> PrimFunc:
    """Notes what T.alloc_barrier asks for, and refuses the expert forms where the architecture has none of them."""
    if not has_dialect_calls(func.body, KIND):
        return func
    if "wgmma" not in env.capabilities.features:
        refuse_dialects(func.body, architecture_of(env.target).name, takes_ranges=True, expected="cuda -arch=sm_90a")
    _refuse_stages(func.body)
    env.facts[ALL_LIVE] = True
    found = env.facts.setdefault(BARRIERS, {})
    clusters = env.facts.setdefault(CLUSTERS, set())
    for kernel in kernels_of(func.body):
        for call in hints_of(kernel, BARRIER_HINT):
            barriers = call.rest[0].source
            found[barriers] = [int(constant(count) or 0) for count in call.rest[1:]]
            if hints_of(kernel, "cluster_dims"):
                clusters.add(barriers)
    return func


def _refuse_stages(body: Stmt) -> None:
    """T.Pipelined makes rings of tiles that T.copy fills, and knows nothing of the kernel's own barriers."""
    for loop in collect(body, For):
        if int(loop.annotations.get(STAGES, 0)) < 2:
            continue
        for node in collect(loop.body, Evaluate):
            call = as_tile_call(node)
            if call is not None and call.op.name == TMA_COPY.name:
                raise UnsupportedError(
                    "T.tma_copy in a T.Pipelined loop with stages",
                    location=location_of_span(node.span),
                    expected="T.copy there, or a loop of range() or T.serial",
                    hint="make the slots and a barrier for each: slot k % stages, with parity k // stages % 2",
                )


def init_mbarriers(func: PrimFunc, env: PassEnv) -> PrimFunc:
    counts = env.facts.get(BARRIERS, {})

    def change(body: Stmt, threads: Threads) -> Stmt:
        mine = [a.buffer for a in collect(body, AllocBuffer) if a.buffer in counts]
        if not mine:
            return body
        rest = structural_map(body, (AllocBuffer, lambda node: nothing() if node.buffer in counts else node))
        in_cluster = any(barriers in env.facts[CLUSTERS] for barriers in mine)
        return seq([*map(AllocBuffer, mine), *_ready(mine, counts, threads, in_cluster), rest])

    return func.with_body(each_kernel(func.body, change))


def _ready(barriers: list[Var], counts: dict[Var, Any], threads: Threads, in_cluster: bool) -> list[Stmt]:
    made = [
        instructions.transaction("init", load(buffer, [const(n, "int32")]), const(count, "int32"))
        for buffer in barriers
        for n, count in enumerate(counts[buffer])
    ]
    first: Any = EQ(Analyzer().simplify(threads.number()), const(0, "int32"))
    once = IfThenElse(first, seq([*made, instructions.transaction("fence_init")]), None)
    return [once, instructions.cluster("barrier") if in_cluster else tile_statement("sync_threads", [])]


COLLECT_MBARRIERS = Pass("read_barriers", collect_mbarriers)
INIT_MBARRIERS = Pass("init_mbarriers", init_mbarriers)
