"""Implements T.set_max_nreg in the code of some warpgroups by ``setmaxnreg``, which releases or acquires registers."""

from __future__ import annotations

from tile_cuda import instructions
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.attributes import CallAttr, KernelHint
from tilecore.ir.build import constant
from tilecore.ir.nodes import Stmt
from tilecore.ir.tile_ops import TileCall

LEAST, MOST, STEP = 24, 256, 8  # PTX ISA, "setmaxnreg"


def matches(call: TileCall, env: PassEnv) -> str | None:
    if str(call.key) != KernelHint.SET_MAX_NREG or "wgmma" not in env.capabilities.features:
        return "it is not T.set_max_nreg"
    if CallAttr.THREADS not in call.hints:
        return "it is not in the code of some warpgroups only"
    count = constant(call.rest[0])
    if count is None or not LEAST <= count <= MOST or count % STEP:
        return f"{count} is not a multiple of {STEP} from {LEAST} to {MOST}"
    return None


def lower(call: TileCall, env: PassEnv) -> Stmt:
    name = "acquire" if constant(call.rest[1]) else "release"
    return instructions.setmaxnreg(name, int(constant(call.rest[0]) or 0), call.span)


SETMAXNREG = TileOpImpl("annotate", "registers of warpgroups", lower, matches, priority=10, late=True)
