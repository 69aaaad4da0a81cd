"""Overlaps the copies of T.Pipelined loops with computation: into LDS where the chip copies to it, else in registers.

gfx950 copies 16 bytes for each lane straight to LDS, so its tiles become circular buffers (pipeline_loops). The other
chips prefetch tiles to registers (prefetch_loops), which takes no more LDS.
"""

from __future__ import annotations

from tile_hip.lowering.copy_directly import copies_to_lds
from tile_hip.lowering.matrix_instructions import CDNA
from tile_hip.target import architecture_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.nodes import PrimFunc
from tilecore.lowering.simt.pipeline_loops import PIPELINE_LOOPS, pipeline_loops
from tilecore.lowering.simt.prefetch_loops import prefetch_loops

MOST_BYTES_OF_RDNA = 128  # that a thread prefetches: 32 of the 256 registers that a wave may have


def overlap_copies(func: PrimFunc, env: PassEnv) -> PrimFunc:
    name = architecture_of(env.target).name
    if copies_to_lds(name):
        return pipeline_loops(func, env)
    return prefetch_loops(func, env) if name in CDNA else prefetch_loops(func, env, MOST_BYTES_OF_RDNA)


OVERLAP_COPIES = Pass("overlap_copies", overlap_copies, needs=PIPELINE_LOOPS.needs)
