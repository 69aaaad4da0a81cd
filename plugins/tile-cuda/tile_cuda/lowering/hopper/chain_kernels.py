"""Lets the kernels of one function start while the ones in front of them end.

Each kernel but the first is launched early and waits, before it touches memory, until the one in front of it has ended;
each but the last says at the end of its code that the next one may be put onto multiprocessors that have room. What is
launched before and after the function is not concerned. CUDA programming guide, "Programmatic dependent launch".
"""

from __future__ import annotations

import json

from tile_cuda import instructions
from tilecore.ir.build import seq
from tilecore.ir.nodes import IRModule, PrimFunc
from tilecore.lowering.passes import Pass, PassEnv
from tilecore.transform import PassConfigKey

FEATURE = "programmatic_launch"


def chain_kernels(module: IRModule, env: PassEnv) -> IRModule:
    functions = list(module.functions.items())
    off = env.config.get(str(PassConfigKey.TL_DISABLE_KERNEL_OVERLAP))
    if len(functions) < 2 or off or FEATURE not in env.capabilities.features:
        return module
    made, written = {}, set()
    for number, (var, func) in enumerate(functions):
        body = func.body
        access = {str(name): str(how) for name, how in func.attrs["simt.access"].items()}
        if number:
            func = _reading_late(func, access, written)
            body = seq([instructions.grid("wait"), body])
            facts = {**json.loads(str(func.attrs.get("simt.launch") or "{}")), "programmatic": True}
            func = func.with_attr("simt.launch", json.dumps(facts, sort_keys=True))
        if number < len(functions) - 1:
            body = seq([body, instructions.grid("release")])
        made[str(var.name_hint)] = func.with_body(body)
        written |= {name for name, how in access.items() if "w" in how}
    env.note("notes", {"text": "each kernel is launched while the one in front of it ends"})
    return IRModule(made)


def _reading_late(func: PrimFunc, access: dict[str, str], written: set[str]) -> PrimFunc:
    """The kernel without the promise that what earlier ones write is constant: the compiler would read it before the
    wait."""
    late = {name for name, how in access.items() if how == "r"} & written
    if not late:
        return func
    func = func.with_attr("simt.access", {name: "rw" if name in late else how for name, how in access.items()})
    return func.with_attr("simt.one_tensor", sorted(late | set(map(str, func.attrs.get("simt.one_tensor") or ()))))


CHAIN_KERNELS = Pass("chain_kernels", chain_kernels)
