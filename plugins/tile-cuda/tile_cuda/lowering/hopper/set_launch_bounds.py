"""Kernels whose warpgroups hand over registers say that a multiprocessor holds one block at least.

``__launch_bounds__`` with the threads alone lets ptxas give a thread fewer registers than its share: it does not know
then what the warpgroups start with, and ignores ``setmaxnreg`` (C7508 of CUDA 13.0).
"""

from __future__ import annotations

from tile_cuda import instructions
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call, IRModule
from tilecore.ir.visit import collect

BLOCKS = "simt.min_blocks"


def set_launch_bounds(module: IRModule, env: PassEnv) -> IRModule:
    made = {}
    for var, func in module.functions.items():
        hands_over = any(op_name(call) == instructions.REGISTERS for call in collect(func.body, Call))
        is_bound = func.attrs.get(BLOCKS) is not None
        made[str(var.name_hint)] = func.with_attr(BLOCKS, 1) if hands_over and not is_bound else func
    return IRModule(made)


SET_LAUNCH_BOUNDS = Pass("set_launch_bounds", set_launch_bounds)
