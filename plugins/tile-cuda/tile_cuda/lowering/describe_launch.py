"""Writes the launch attributes of each kernel to its attribute ``simt.launch`` (docs/simt.md); keys: launch/entries.py.

They are the L2 access policy window and the tensor maps. A tensor that TMA stores write becomes writable in
``simt.access``.
"""

from __future__ import annotations

import json
from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.state import L2Windows, TensorMaps
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call, IRModule, PrimFunc
from tilecore.ir.visit import collect

_TMA_COPIES = (instructions.TMA_LOAD, instructions.TMA_STORE)


def describe_launch(module: IRModule, env: PassEnv) -> IRModule:
    windows = env.state(L2Windows).by_kernel
    functions = {}
    for index, (var, func) in enumerate(module.functions.items()):
        functions[str(var.name_hint)] = _with_launch_attributes(func, windows.get(index), env)
    return IRModule(functions)


def _with_launch_attributes(func: PrimFunc, window: tuple[str, Any, float] | None, env: PassEnv) -> PrimFunc:
    facts = json.loads(str(func.attrs.get(FunctionAttr.LAUNCH) or "{}"))
    if window is not None:
        name, size, ratio = window
        slot = [str(param.name) for param in func.params].index(name)
        facts["l2_window"] = [slot, size, ratio]
    names = dict.fromkeys(str(call.args[0].value) for call in collect(func.body, Call) if op_name(call) in _TMA_COPIES)
    if names:
        params = [str(param.name) for param in func.params]
        tensor_maps = env.state(TensorMaps).by_name
        facts["tensor_maps"] = [
            {**tensor_maps[name], "slot": params.index(tensor_maps[name]["tensor"])} for name in names
        ]
        stored = [str(c.args[0].value) for c in collect(func.body, Call) if op_name(c) == instructions.TMA_STORE]
        written = {tensor_maps[name]["tensor"] for name in stored}
        access = {str(name): str(mode) for name, mode in func.attrs[FunctionAttr.ACCESS].items()}
        func = func.with_attr(
            FunctionAttr.ACCESS, {name: "w" if name in written else mode for name, mode in access.items()}
        )
    return func.with_attr(FunctionAttr.LAUNCH, json.dumps(facts, sort_keys=True)) if facts else func


DESCRIBE_LAUNCH = Pass("describe_launch", describe_launch, needs=(L2Windows, TensorMaps))
