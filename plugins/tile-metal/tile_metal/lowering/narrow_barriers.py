"""Barriers of threadgroup memory alone, where threads exchange nothing else: ``mem_flags::mem_threadgroup``.

A barrier that orders device memory, too, waits for the loads that fill the registers of the next tile.
"""

from __future__ import annotations

from tile_metal.instructions import shared_barrier
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.nodes import IRModule
from tilecore.lowering.simt.analysis.shared_barriers import with_shared_barriers
from tilecore.lowering.simt.state import TileFunction


def narrow_barriers(module: IRModule, env: PassEnv) -> IRModule:
    original = env.state(TileFunction).function
    kernels = ((str(var.name_hint), func) for var, func in module.functions.items())
    return IRModule({name: with_shared_barriers(func, original, shared_barrier) for name, func in kernels})


NARROW_BARRIERS = Pass("narrow_barriers", narrow_barriers, needs=(TileFunction,))
