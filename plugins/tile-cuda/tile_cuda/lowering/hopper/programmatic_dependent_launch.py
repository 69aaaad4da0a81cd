"""Programmatic dependent launch: a kernel of a function starts while the kernel before it ends.

Each kernel but the first is launched early and waits, before it accesses memory, until the kernel before it has ended.
Each kernel but the last signals at the end of its code that the next one may start. Launches before and after the
function are not concerned. CUDA C++ Programming Guide, "Programmatic Dependent Launch".
"""

from __future__ import annotations

import json

from tile_cuda import instructions
from tile_cuda.options import DISABLE_KERNEL_OVERLAP
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import seq
from tilecore.ir.nodes import IRModule, PrimFunc

FEATURE = "programmatic_launch"


def programmatic_dependent_launch(module: IRModule, env: PassEnv) -> IRModule:
    functions = list(module.functions.items())
    off = DISABLE_KERNEL_OVERLAP.value_in(env.config)
    if len(functions) < 2 or off or FEATURE not in env.capabilities.features:
        return module
    lowered: dict[str, PrimFunc] = {}
    read: set[str] = set()
    written: set[str] = set()
    for index, (var, func) in enumerate(functions):
        body = func.body
        access = {str(name): str(mode) for name, mode in func.attrs[FunctionAttr.ACCESS].items()}
        if index:
            func = _without_early_access(func, access, read, written)
            body = seq([instructions.grid_dependency("wait"), body])
            facts = {**json.loads(str(func.attrs.get(FunctionAttr.LAUNCH) or "{}")), "programmatic": True}
            func = func.with_attr(FunctionAttr.LAUNCH, json.dumps(facts, sort_keys=True))
        if index < len(functions) - 1:
            body = seq([body, instructions.grid_dependency("release")])
        lowered[str(var.name_hint)] = func.with_body(body)
        read |= {name for name, mode in access.items() if "r" in mode}
        written |= {name for name, mode in access.items() if "w" in mode}
    env.note("notes", {"text": "each kernel is launched while the kernel before it ends"})
    return IRModule(lowered)


def _without_early_access(func: PrimFunc, access: dict[str, str], read: set[str], written: set[str]) -> PrimFunc:
    """Drops const and restrict from the buffers that earlier kernels write, or that they read and this one writes.

    With const or restrict the compiler might move accesses in front of the wait.
    """
    late = {name for name, mode in access.items() if name in written or ("w" in mode and name in read)}
    if not late:
        return func
    changed = {name: "rw" if name in late and mode == "r" else mode for name, mode in access.items()}
    func = func.with_attr(FunctionAttr.ACCESS, changed)
    return func.with_attr(
        FunctionAttr.NO_RESTRICT, sorted(late | set(map(str, func.attrs.get(FunctionAttr.NO_RESTRICT) or ())))
    )


PROGRAMMATIC_DEPENDENT_LAUNCH = Pass("programmatic_dependent_launch", programmatic_dependent_launch)
