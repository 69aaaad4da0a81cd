"""The keys that this backend attaches to IR. Those of the core are in ``tilecore.ir.attributes``."""

from __future__ import annotations


class CudaStatementAttr:
    """Keys of AttrStmt statements."""

    GEMM = "cuda.gemm"  # a GEMM: inside are allocations, clears and the loop over its steps
    OPERANDS = "cuda.operands"  # in that loop: the loads of a step's operands
    WGMMA_GROUP = "cuda.wgmma_group"  # one wgmma group, where it is issued; the value: EXPLICIT_WAIT of wgmma.py, or 1
    ROLES = "cuda.roles"  # the code of all roles of a kernel; the value: the number of producer threads
    ROLE = "cuda.role"  # the code of one role; the value: "init", "producer" or "consumer"


class CudaLoopAttr:
    """Annotations of loops."""

    PRODUCT_AHEAD = "cuda.product_ahead"  # product_ahead.py has changed it; the value: eighths of exponentials


class CudaCallAttr:
    """Attributes of calls."""

    EXPLICIT = "explicit"  # the kernel itself waits for what the call starts
    TMA = "bulk"  # a copy that is a TMA load
    STAGED = "staged"  # of copy: it takes the place of copies to a shared tile and from it
    MULTICAST = "paired"  # a TMA load for two blocks of a cluster (cluster_multicast.py)
    ROWS = "rows"  # a TMA load of so many rows, the first of the tile (rows_inside.py)
    CLUSTER = "cluster"  # T.tma_copy: how many blocks the cluster has
    BLOCKS = "blocks"  # a release: at how many blocks' mbarriers the warp arrives
    ADDS = "adds"  # a TMA store that adds to what is there


class CudaKernelHint:
    """Hints of a kernel: the first operand of the tile operation ``annotate``."""

    MBARRIERS = "cuda.barrier"  # the mbarriers of T.alloc_barrier, and how many arrivals end a phase of each
    # mbarriers of T.alloc_cluster_barrier at whose initialization the kernel waits by its own T.cluster_wait
    LATE_WAIT = "cuda.late_cluster_wait"
