"""Lets loads of global memory stay in flight across barriers on RDNA, where a barrier of all memory waits for them.

On RDNA a block may run on two CUs, each with a cache of its own: a barrier that orders global memory waits for all
loads, and drops that cache. Loads that fill the registers of the next tile would be waited for at every barrier of the
loop. On CDNA a block runs on one CU, and a barrier waits for LDS alone; but on gfx950 clang lets it wait for all copies
from global memory to LDS, too.
"""

from __future__ import annotations

from tile_hip.instructions import COPY_TO_LDS, shared_barrier
from tile_hip.lowering.copy_directly import copies_to_lds
from tile_hip.target import architecture_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.nodes import IRModule
from tilecore.lowering.simt.analysis.shared_barriers import kernels_with_shared_barriers
from tilecore.lowering.simt.state import TileFunction


def narrow_barriers(module: IRModule, env: PassEnv) -> IRModule:
    architecture = architecture_of(env.target)
    if architecture.is_cdna and not copies_to_lds(architecture.name):
        return module
    return kernels_with_shared_barriers(module, env.state(TileFunction).function, shared_barrier, {COPY_TO_LDS})


NARROW_BARRIERS = Pass("narrow_barriers", narrow_barriers, needs=(TileFunction,))
