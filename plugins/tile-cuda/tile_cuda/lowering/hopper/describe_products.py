"""One line for each instruction of warpgroups that a kernel uses, in front of it: the header makes them there."""

from __future__ import annotations

from tile_cuda import instructions
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call, IRModule
from tilecore.ir.visit import collect
from tilecore.lowering.passes import Pass, PassEnv


def describe_products(module: IRModule, env: PassEnv) -> IRModule:
    made = {}
    for var, func in module.functions.items():
        calls = [c for c in collect(func.body, Call) if op_name(c) in (instructions.WGMMA, instructions.WGMMA_HELD)]
        lines = [_line(name) for name in dict.fromkeys(str(call.args[0].value) for call in calls)]
        prelude = str(func.attrs.get("tile.prelude") or "")
        text = "\n".join([*lines, *([prelude] if prelude else [])])
        made[str(var.name_hint)] = func.with_attr("tile.prelude", text) if text else func
    return IRModule(made)


def _line(name: str) -> str:
    """``TC_WGMMA(256, 16, f16, f16, f32)`` of n256k16_f16_f16_f32."""
    sizes, *types = name.split("_")
    n, k = sizes[1:].split("k")
    return f"TC_WGMMA({', '.join([n, k, *types])})"


DESCRIBE_PRODUCTS = Pass("describe_products", describe_products)
