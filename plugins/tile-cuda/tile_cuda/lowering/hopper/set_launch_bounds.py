"""Sets a launch bound of one block for each multiprocessor for kernels that use ``setmaxnreg``.

With the number of threads alone, ``__launch_bounds__`` lets ptxas give a thread fewer registers than its equal share.
Then ptxas does not know how many registers the warpgroups start with, and ignores ``setmaxnreg`` (C7508 of CUDA 13.0).
"""

from __future__ import annotations

from tile_cuda import instructions
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call, IRModule
from tilecore.ir.visit import collect

MIN_BLOCKS = FunctionAttr.MIN_BLOCKS


def set_launch_bounds(module: IRModule, env: PassEnv) -> IRModule:
    functions = {}
    for var, func in module.functions.items():
        reallocates = any(op_name(call) == instructions.SETMAXNREG for call in collect(func.body, Call))
        is_bound = func.attrs.get(MIN_BLOCKS) is not None
        functions[str(var.name_hint)] = func.with_attr(MIN_BLOCKS, 1) if reallocates and not is_bound else func
    return IRModule(functions)


SET_LAUNCH_BOUNDS = Pass("set_launch_bounds", set_launch_bounds)
