"""What the blocks of a cluster (``T.Kernel(cluster_dims=...)``) do together. PTX ISA, "barrier.cluster"."""

from __future__ import annotations

from tile_cuda import instructions
from tile_cuda.operations import KIND
from tilecore.ir.nodes import Call, Expr, StringImm
from tilecore.language.dialects import dialect_hints, emit_call
from tilecore.language.kernel import open_kernel
from tilecore.tracing.builder import current


def cluster_arrive() -> None:
    """All threads of all blocks of the cluster arrive, and go on."""
    emit_call(KIND, "T.cluster_arrive", instructions.CLUSTER, [StringImm("arrive")])


def cluster_wait() -> None:
    """Wait until all threads of the cluster have arrived: what they wrote to memory before is seen."""
    emit_call(KIND, "T.cluster_wait", instructions.CLUSTER, [StringImm("wait")])


def cluster_sync() -> None:
    """T.cluster_arrive and T.cluster_wait. A block that others copy to, or whose barriers they arrive at, must not end
    before they have: end the kernel with it."""
    emit_call(KIND, "T.cluster_sync", instructions.CLUSTER, [StringImm("barrier")])


def block_rank_in_cluster() -> Expr:
    """The number of the running block in its cluster, x fastest (int32)."""
    what = "T.block_rank_in_cluster"
    open_kernel(what)
    call = Call(instructions.CLUSTER_RANK, [], attrs=dialect_hints(KIND, what), ret_ty="int32")
    return current(what).bind("rank", call)
