"""Programmatic dependent launch: a kernel of a function starts while the kernel before it ends.

Each kernel but the first is launched early and waits, before it accesses memory, until the kernel before it has ended.
Each kernel but the last signals at the end of its code that the next one may start. Launches before and after the
function are not concerned, unless the user asks for it: a kernel with T.pdl_sync is launched while the kernel before it
ends, whichever that is, and waits where the user says so; a kernel with T.pdl_trigger signals there. CUDA C++
Programming Guide, "Programmatic Dependent Launch".
"""

from __future__ import annotations

import json

from tile_cuda import instructions
from tile_cuda.options import DISABLE_KERNEL_OVERLAP
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import FunctionAttr, KernelHint
from tilecore.ir.build import op_name, seq
from tilecore.ir.nodes import Call, IRModule, PrimFunc, Stmt
from tilecore.ir.tile_ops import TileCall
from tilecore.ir.visit import collect

FEATURE = "programmatic_launch"


def programmatic_dependent_launch(module: IRModule, env: PassEnv) -> IRModule:
    functions = list(module.functions.items())
    explicit = [_explicit_dependencies(func) for _, func in functions]
    is_automatic = len(functions) > 1 and not DISABLE_KERNEL_OVERLAP.value_in(env.config)
    is_automatic = is_automatic and FEATURE in env.capabilities.features
    if not is_automatic and not any(explicit):
        return module
    lowered: dict[str, PrimFunc] = {}
    read: set[str] = set()
    written: set[str] = set()
    for index, (var, func) in enumerate(functions):
        body = func.body
        access = {str(name): str(mode) for name, mode in func.attrs[FunctionAttr.ACCESS].items()}
        waits = "wait" in explicit[index]
        if waits or (is_automatic and index):
            func = _without_early_access(func, access, read, written | set(access) if waits else written)
            body = body if waits else seq([instructions.grid_dependency("wait"), body])
            facts = {**json.loads(str(func.attrs.get(FunctionAttr.LAUNCH) or "{}")), "programmatic": True}
            func = func.with_attr(FunctionAttr.LAUNCH, json.dumps(facts, sort_keys=True))
        if is_automatic and index < len(functions) - 1 and "release" not in explicit[index]:
            body = seq([body, instructions.grid_dependency("release")])
        lowered[str(var.name_hint)] = func.with_body(body)
        read |= {name for name, mode in access.items() if "r" in mode}
        written |= {name for name, mode in access.items() if "w" in mode}
    if is_automatic:
        env.note("notes", {"text": "each kernel is launched while the kernel before it ends"})
    return IRModule(lowered)


def _explicit_dependencies(func: PrimFunc) -> set[str]:
    """The names of the calls of T.pdl_sync ("wait") and T.pdl_trigger ("release") in a kernel."""
    calls = (call for call in collect(func.body, Call) if op_name(call) == instructions.GRID_DEPENDENCY)
    return {str(call.args[0].value) for call in calls}


def _lower_hint(call: TileCall, env: PassEnv) -> Stmt:
    """T.pdl_sync and T.pdl_trigger, each executed by every thread that reaches it."""
    name = "wait" if str(call.rest[0].value) == "wait" else "release"
    return instructions.grid_dependency(name, call.span)


def _matches(call: TileCall, env: PassEnv) -> str | None:
    if str(call.key) != KernelHint.DEPENDENT_LAUNCH:
        return "it is neither T.pdl_sync nor T.pdl_trigger"
    return None if FEATURE in env.capabilities.features else "kernels begin when those before them have ended"


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
DEPENDENT_LAUNCH = TileOpImpl("annotate", "dependent launch", _lower_hint, _matches, priority=10, late=True)
