"""Overlaps the copies of T.Pipelined loops with computation: into LDS where the chip copies to it, else in registers.

gfx950 copies 16 bytes for each lane straight to LDS, so its tiles become circular buffers (pipeline_loops). The other
chips prefetch tiles to registers (prefetch_loops), which takes no more LDS.
"""

from __future__ import annotations

from tile_hip.lowering.copy_directly import copies_to_lds
from tile_hip.target import architecture_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.nodes import PrimFunc
from tilecore.lowering.simt.pipeline_loops import PIPELINE_LOOPS
from tilecore.lowering.simt.prefetch_loops import PREFETCH_LOOPS


def overlap_copies(func: PrimFunc, env: PassEnv) -> PrimFunc:
    step = PIPELINE_LOOPS if copies_to_lds(architecture_of(env.target).name) else PREFETCH_LOOPS
    result = step.run(func, env)
    assert isinstance(result, PrimFunc)
    return result


OVERLAP_COPIES = Pass("overlap_copies", overlap_copies, needs=PIPELINE_LOOPS.needs)
