"""Barriers and ranks of the blocks of a cluster (``T.Kernel(cluster_dims=...)``). PTX ISA, "barrier.cluster"."""

from __future__ import annotations

from tile_cuda import instructions
from tile_cuda.operations import KIND
from tilecore.ir.nodes import Call, Expr, StringImm
from tilecore.language.dialects import dialect_hints, emit_call
from tilecore.language.kernel import open_kernel
from tilecore.tracing.current import current


def cluster_arrive() -> None:
    """Arrive at the cluster's barrier without waiting; all threads of all blocks of the cluster must arrive."""
    emit_call(KIND, "T.cluster_arrive", instructions.CLUSTER, [StringImm("arrive")])


def cluster_arrive_relaxed() -> None:
    """T.cluster_arrive that orders no accesses to memory: what threads wrote before is not visible after T.cluster_wait
    for that reason."""
    emit_call(KIND, "T.cluster_arrive_relaxed", instructions.CLUSTER, [StringImm("arrive_relaxed")])


def cluster_wait() -> None:
    """Wait until all threads of the cluster have arrived. Their earlier writes to memory are then visible."""
    emit_call(KIND, "T.cluster_wait", instructions.CLUSTER, [StringImm("wait")])


def cluster_sync() -> None:
    """T.cluster_arrive and T.cluster_wait.

    A block must not end while other blocks copy to its memory or arrive at its barriers: such a kernel ends with this.
    """
    emit_call(KIND, "T.cluster_sync", instructions.CLUSTER, [StringImm("barrier")])


def block_rank_in_cluster() -> Expr:
    """The rank of the running block in its cluster, x fastest (int32)."""
    function_name = "T.block_rank_in_cluster"
    open_kernel(function_name)
    call = Call(instructions.CLUSTER_RANK, [], attrs=dialect_hints(KIND, function_name), ret_ty="int32")
    return current(function_name).bind("rank", call)
