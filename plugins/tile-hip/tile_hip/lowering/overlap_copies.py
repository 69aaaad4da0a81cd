"""Overlaps the copies of T.Pipelined loops with computation: into LDS where the chip copies to it, else in registers.

gfx950 copies 16 bytes for each lane straight to LDS, so its tiles become circular buffers (pipeline_loops). The other
chips prefetch tiles to registers (prefetch_loops), which takes no more LDS.
"""

from __future__ import annotations

from tile_hip.lowering.copy_directly import copies_to_lds
from tile_hip.target import architecture_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.nodes import PrimFunc
from tilecore.lowering.simt.pipeline_loops import PIPELINE_LOOPS, pipeline_loops
from tilecore.lowering.simt.prefetch_loops import beside_sums, prefetch_loops

REGISTERS = 256  # that a wave of RDNA may have
OTHER_REGISTERS = 112  # for operands and addresses
MOST_BYTES_OF_RDNA = beside_sums(REGISTERS, OTHER_REGISTERS, 128)


def overlap_copies(func: PrimFunc, env: PassEnv) -> PrimFunc:
    architecture = architecture_of(env.target)
    if copies_to_lds(architecture.name):
        return pipeline_loops(func, env)
    return prefetch_loops(func, env) if architecture.is_cdna else prefetch_loops(func, env, MOST_BYTES_OF_RDNA)


OVERLAP_COPIES = Pass("overlap_copies", overlap_copies, needs=PIPELINE_LOOPS.needs)
