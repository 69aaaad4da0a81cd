"""Lets the kernels of one function start while the ones in front of them end.

Each kernel but the first is launched early and waits, before it touches memory, until the one in front of it has ended;
each but the last says at the end of its code that the next one may be put onto multiprocessors that have room. What is
launched before and after the function is not concerned. CUDA programming guide, "Programmatic dependent launch".
"""

from __future__ import annotations

import json

from tile_cuda import instructions
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import seq
from tilecore.ir.nodes import IRModule, PrimFunc
from tilecore.transform import PassConfigKey

FEATURE = "programmatic_launch"


def programmatic_dependent_launch(module: IRModule, env: PassEnv) -> IRModule:
    functions = list(module.functions.items())
    off = env.config.get(str(PassConfigKey.TL_DISABLE_KERNEL_OVERLAP))
    if len(functions) < 2 or off or FEATURE not in env.capabilities.features:
        return module
    made: dict[str, PrimFunc] = {}
    read: set[str] = set()
    written: set[str] = set()
    for number, (var, func) in enumerate(functions):
        body = func.body
        access = {str(name): str(how) for name, how in func.attrs["simt.access"].items()}
        if number:
            func = _touching_late(func, access, read, written)
            body = seq([instructions.grid("wait"), body])
            facts = {**json.loads(str(func.attrs.get("simt.launch") or "{}")), "programmatic": True}
            func = func.with_attr("simt.launch", json.dumps(facts, sort_keys=True))
        if number < len(functions) - 1:
            body = seq([body, instructions.grid("release")])
        made[str(var.name_hint)] = func.with_body(body)
        read |= {name for name, how in access.items() if "r" in how}
        written |= {name for name, how in access.items() if "w" in how}
    env.note("notes", {"text": "each kernel is launched while the one in front of it ends"})
    return IRModule(made)


def _touching_late(func: PrimFunc, access: dict[str, str], read: set[str], written: set[str]) -> PrimFunc:
    """The kernel without promises on what earlier ones write, or read and it writes: that it is constant, or nobody
    else's. The compiler would touch it before the wait."""
    late = {name for name, how in access.items() if name in written or ("w" in how and name in read)}
    if not late:
        return func
    made = {name: "rw" if name in late and how == "r" else how for name, how in access.items()}
    func = func.with_attr("simt.access", made)
    return func.with_attr("simt.one_tensor", sorted(late | set(map(str, func.attrs.get("simt.one_tensor") or ()))))


PROGRAMMATIC_DEPENDENT_LAUNCH = Pass("programmatic_dependent_launch", programmatic_dependent_launch)
