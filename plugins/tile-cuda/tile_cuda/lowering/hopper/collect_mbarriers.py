"""Collects the mbarriers of T.alloc_barrier, and refuses kernels that the architecture rules out."""

from __future__ import annotations

from tile_cuda.attributes import CudaKernelHint
from tile_cuda.language import NAMES
from tile_cuda.language.architectures_of_names import missing_names
from tile_cuda.lowering.state import ExplicitBarriers
from tile_cuda.operations import KIND
from tile_cuda.target import architecture_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.contract.state import SharedRequests
from tilecore.ir.attributes import KernelHint
from tilecore.ir.build import constant
from tilecore.ir.dialect_calls import has_dialect_calls, refuse_dialects
from tilecore.ir.nodes import PrimFunc
from tilecore.ir.tile_ops import hints_of
from tilecore.lowering.analysis.kernels import kernels_of

MMA_EMITTER = "TensorCoreIntrinEmitter.mma"  # no name of T., and of every architecture


def collect_mbarriers(func: PrimFunc, env: PassEnv) -> PrimFunc:
    """Collects the mbarriers. Raises UnsupportedError for explicit forms that the architecture does not have."""
    barriers = ExplicitBarriers()
    env.publish(barriers)
    if not has_dialect_calls(func.body, KIND):
        return func
    arch = architecture_of(env.target)
    missing, requires = missing_names(arch, env.target.get("language"))
    if missing:
        allowed = frozenset({MMA_EMITTER, *(f"T.{name}" for name in NAMES if name not in missing)})
        refuse_dialects(
            func.body, arch.name, takes_ranges=True, expected="cuda -arch=sm_90a", allowed=allowed, requires=requires
        )
    env.state(SharedRequests).all_alone = True
    for kernel in kernels_of(func.body):
        for call in hints_of(kernel, CudaKernelHint.MBARRIERS):
            mbarriers = call.rest[0].source
            barriers.arrivals[mbarriers] = [int(constant(count) or 0) for count in call.rest[1:]]
            if hints_of(kernel, KernelHint.CLUSTER_DIMS):
                barriers.in_clusters.add(mbarriers)
        barriers.late |= {call.rest[0].source for call in hints_of(kernel, CudaKernelHint.LATE_WAIT)}
    return func


COLLECT_MBARRIERS = Pass("collect_mbarriers", collect_mbarriers, leaves=(ExplicitBarriers, SharedRequests))
