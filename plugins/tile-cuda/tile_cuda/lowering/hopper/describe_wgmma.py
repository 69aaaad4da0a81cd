"""Instantiates the header's macro TC_WGMMA once for each shape of ``wgmma``, before the first kernel that uses it."""

from __future__ import annotations

from tile_cuda import instructions
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call, IRModule
from tilecore.ir.visit import collect


def describe_wgmma(module: IRModule, env: PassEnv) -> IRModule:
    functions = {}
    emitted: set[str] = set()  # the lines stand in front of all kernels of a source
    for var, func in module.functions.items():
        calls = [c for c in collect(func.body, Call) if op_name(c) in (instructions.WGMMA, instructions.WGMMA_RS)]
        macros = dict.fromkeys(_line(str(call.args[0].value)) for call in calls)
        prelude = str(func.attrs.get(FunctionAttr.PRELUDE) or "")
        lines = [text for text in (*macros, prelude) if text and text not in emitted]
        emitted.update(lines)
        functions[str(var.name_hint)] = (
            func.with_attr(FunctionAttr.PRELUDE, "\n".join(lines)) if macros or prelude else func
        )
    return IRModule(functions)


def _line(name: str) -> str:
    """``TC_WGMMA(256, 16, f16, f16, f32)`` of n256k16_f16_f16_f32."""
    sizes, *types = name.split("_")
    n, k = sizes[1:].split("k")
    return f"TC_WGMMA({', '.join([n, k, *types])})"


DESCRIBE_WGMMA = Pass("describe_wgmma", describe_wgmma)
