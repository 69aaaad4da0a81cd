"""Passes over the kernels of a module, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from tilecore.contract.passes import PassEnv
from tilecore.ir.nodes import IRModule, PrimFunc

KernelPass = Callable[[PrimFunc, PassEnv], PrimFunc]


def of_each_kernel(run: KernelPass) -> Callable[[IRModule, PassEnv], IRModule]:
    """``run`` of one kernel as a pass over a module."""

    @wraps(run)
    def over_module(module: IRModule, env: PassEnv) -> IRModule:
        made = (run(func, env) for func in module.functions.values())
        return IRModule({str(func.attrs["global_symbol"]): func for func in made})

    return over_module
