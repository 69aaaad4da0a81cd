"""Replaces every tile operation by the statement of the implementation that was chosen for it (tile_ops/choice.py)."""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.contract.state import BufferLayouts
from tilecore.ir.nodes import Evaluate, PrimFunc, structural_map
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect
from tilecore.lowering.state import HoistedTiles
from tilecore.lowering.tile_ops.choice import choose_all, describe, is_lowered


def lower_tile_ops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    nodes = [node for node in collect(func.body, Evaluate) if is_lowered(as_tile_call(node))]
    calls = [call for node in nodes if (call := as_tile_call(node)) is not None]
    choices, layouts = choose_all(calls, func, env, workspaces=env.state(HoistedTiles).buffers)
    env.publish(BufferLayouts(layouts))
    lowered: dict[Evaluate, Any] = {}
    for node, choice in zip(
        nodes, choices, strict=True
    ):  # outside TVM's visitor, in which an error would lose its cause
        env.note("tile_ops", describe(choice))
        lowered[node] = choice.impl.lower(choice.call, env)
    return func.with_body(structural_map(func.body, (Evaluate, lambda node: lowered.get(node, node))))


LOWER_TILE_OPS = Pass(
    "lower_tile_ops",
    lower_tile_ops,
    leaves=(BufferLayouts, HoistedTiles),  # without hoist_copies there are none
    runs_implementations=True,
)
