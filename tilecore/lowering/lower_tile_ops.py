"""Replaces every tile operation by the statement of the implementation that was chosen for it."""

from __future__ import annotations

from typing import Any

from tilecore.frontend.source import location_of_span
from tilecore.ir.nodes import Evaluate, PrimFunc, structural_map
from tilecore.ir.tile_ops import as_tile_call
from tilecore.lowering.implementation import Choice, choose
from tilecore.lowering.passes import Pass, PassEnv

# what stays in the IR for the code generator
KEPT = ("print", "device_assert", "assume", "atomic_element")


def lower_tile_ops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def lower(node: Evaluate) -> Any:
        call = as_tile_call(node)
        if call is None or call.op.name in KEPT:
            return node
        choice = choose(call, env.implementations, env)
        env.note("tile_ops", describe(choice))
        for buffer, layout in choice.impl.layouts(call, env).items():
            env.facts.setdefault("layouts", {}).setdefault(buffer, []).append(layout)
        return choice.impl.lower(call, env)

    return func.with_body(structural_map(func.body, (Evaluate, lower)))


def describe(choice: Choice) -> dict[str, Any]:
    """The choice as plain data for ``kernel.explain()``."""
    place = location_of_span(choice.call.span)
    return {
        "op": choice.call.op.name,
        "line": place.line if place else None,
        "implementation": choice.impl.name,
        "declined": [list(pair) for pair in choice.declined],
    }


LOWER_TILE_OPS = Pass("lower_tile_ops", lower_tile_ops)
