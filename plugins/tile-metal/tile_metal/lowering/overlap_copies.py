"""Overlaps the copies of T.Pipelined loops with computation: the tiles of the next iteration travel in registers.

No Apple GPU copies to threadgroup memory by itself. A tile keeps one slot there, whatever the number of stages: a
second one would save one of two barriers in an iteration, and take half of 32 KiB and of the threadgroups that run side
by side. Tiles that products need not have in threadgroup memory are dropped first (read_directly.py).
"""

from __future__ import annotations

from tile_metal.lowering.read_directly import read_directly
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.nodes import PrimFunc
from tilecore.lowering.simt.prefetch_loops import beside_sums, prefetch_loops

REGISTERS = 128  # of 32 bits, that a thread may have (philipturner/metal-benchmarks)
OTHER_REGISTERS = 56  # for operands and addresses
MOST_BYTES = beside_sums(REGISTERS, OTHER_REGISTERS, 128)


def overlap_copies(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return prefetch_loops(read_directly(func, env), env, MOST_BYTES)


OVERLAP_COPIES = Pass("overlap_copies", overlap_copies)
