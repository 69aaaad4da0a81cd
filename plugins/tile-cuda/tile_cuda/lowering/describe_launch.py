"""Puts what each kernel's launch needs into its attribute ``simt.launch`` (docs/simt.md); keys: launch/entries.py."""

from __future__ import annotations

import json
from typing import Any

from tilecore.ir.nodes import IRModule, PrimFunc
from tilecore.lowering.passes import Pass, PassEnv


def describe_launch(module: IRModule, env: PassEnv) -> IRModule:
    windows = env.facts.get("l2_windows", {})
    made = {}
    for number, (var, func) in enumerate(module.functions.items()):
        made[str(var.name_hint)] = _with_facts(func, windows.get(number))
    return IRModule(made)


def _with_facts(func: PrimFunc, window: tuple[str, Any, float] | None) -> PrimFunc:
    facts = json.loads(str(func.attrs.get("simt.launch") or "{}"))
    if window is not None:
        name, size, ratio = window
        slot = [str(param.name) for param in func.params].index(name)
        facts["l2_window"] = [slot, size, ratio]
    return func.with_attr("simt.launch", json.dumps(facts, sort_keys=True)) if facts else func


DESCRIBE_LAUNCH = Pass("describe_launch", describe_launch)
