"""Barriers of threadgroup memory alone, where threads exchange nothing else: ``mem_flags::mem_threadgroup``.

A barrier that orders device memory, too, waits for the loads that fill the registers of the next tile.
"""

from __future__ import annotations

from tile_metal.instructions import shared_barrier
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.nodes import IRModule
from tilecore.lowering.simt.analysis.shared_barriers import kernels_with_shared_barriers
from tilecore.lowering.simt.state import TileFunction


def narrow_barriers(module: IRModule, env: PassEnv) -> IRModule:
    return kernels_with_shared_barriers(module, env.state(TileFunction).function, shared_barrier)


NARROW_BARRIERS = Pass("narrow_barriers", narrow_barriers, needs=(TileFunction,))
