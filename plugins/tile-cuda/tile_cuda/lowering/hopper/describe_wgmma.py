"""One line for each instruction of warpgroups, in front of the first kernel that uses it: the header makes it there."""

from __future__ import annotations

from tile_cuda import instructions
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call, IRModule
from tilecore.ir.visit import collect


def describe_wgmma(module: IRModule, env: PassEnv) -> IRModule:
    made = {}
    known: set[str] = set()  # the texts stand in front of all kernels of a source
    for var, func in module.functions.items():
        calls = [c for c in collect(func.body, Call) if op_name(c) in (instructions.WGMMA, instructions.WGMMA_HELD)]
        wanted = dict.fromkeys(_line(str(call.args[0].value)) for call in calls)
        given = str(func.attrs.get("tile.prelude") or "")
        new = [text for text in (*wanted, given) if text and text not in known]
        known.update(new)
        made[str(var.name_hint)] = func.with_attr("tile.prelude", "\n".join(new)) if wanted or given else func
    return IRModule(made)


def _line(name: str) -> str:
    """``TC_WGMMA(256, 16, f16, f16, f32)`` of n256k16_f16_f16_f32."""
    sizes, *types = name.split("_")
    n, k = sizes[1:].split("k")
    return f"TC_WGMMA({', '.join([n, k, *types])})"


DESCRIBE_WGMMA = Pass("describe_wgmma", describe_wgmma)
