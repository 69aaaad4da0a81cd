"""Chooses an implementation for every tile operation of a function.

Implementations may request layouts of their operands. A layout that an implementation requires is granted only if no
other operation requires a different one for the same buffer; otherwise the implementation declines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from tilecore.contract.implementation import Choice, TileOpImpl, choose
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import dtype_of
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import PrimFunc, TensorRegion, Var
from tilecore.ir.scopes import is_global
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import TileCall
from tilecore.ir.views import memory_roots
from tilecore.ir.written_layouts import run_of

PIECE = 16  # the largest number of bytes that one tile instruction accesses at once


def is_lowered(call: TileCall | None) -> bool:
    """Does this pass lower the operation? The code generator emits some operations itself, as prints of values."""
    if call is None or call.op.is_emitted:
        return False
    return call.op.name != "print" or any(isinstance(value, TensorRegion) for value in call.rest)


@dataclass(frozen=True)
class _Fixed:
    """Tells which buffers keep the layout in which the kernel declares them."""

    views: Set[Var]
    workspaces: Set[Var]

    def reason(self, buffer: Var) -> str | None:
        """Why the layout of the buffer cannot change; None if it can."""
        if is_global(buffer) and buffer not in self.workspaces:
            return f"{buffer.name} is in global memory"
        return f"{buffer.name} has views" if buffer in self.views else None


def choose_all(
    calls: Sequence[TileCall],
    func: PrimFunc,
    env: PassEnv,
    requested: Mapping[Var, BufferLayout] | None = None,
    workspaces: Set[Var] = frozenset(),
) -> tuple[list[Choice], dict[Var, BufferLayout]]:
    """One implementation for each call, such that the layouts that they require are compatible; and the layouts.

    requested: the layouts that the kernel asks for. workspaces: the buffers in global memory that may have a layout.
    """
    fixed = _Fixed(set(memory_roots(func.body)), workspaces)
    refused: dict[int, list[tuple[str, str]]] = {}
    while True:
        choices = [_choose(call, refused.get(i, []), env) for i, call in enumerate(calls)]
        layouts: dict[Var, BufferLayout] = {}
        conflict = None
        for call_index, choice in enumerate(choices):
            conflict = conflict or _grant(call_index, choice, layouts, fixed, env)
        if conflict is None:
            break
        call_index, reason = conflict
        refused.setdefault(call_index, []).append((choices[call_index].impl.name, reason))
    for choice in choices:
        if not choice.impl.needs_layouts:
            for buffer, layout in choice.impl.layouts(choice.call, env).items():
                if fixed.reason(buffer) is None:
                    layouts.setdefault(buffer, layout)
    return choices, _with_requested(layouts, requested or {}, choices, env)


def _with_requested(
    layouts: dict[Var, BufferLayout], requested: Mapping[Var, BufferLayout], choices: Sequence[Choice], env: PassEnv
) -> dict[Var, BufferLayout]:
    """``layouts`` and the requested ones, which take precedence unless an operation cannot use them."""
    granted = dict(layouts)
    for buffer, layout in requested.items():
        shape = [int(size) for size in buffer.shape]
        run = run_of(layout, shape)
        reason = None
        for choice in choices:
            needed = _run_needed(choice, buffer, layouts.get(buffer), env)
            if needed is None or needed > run:
                reason = f"{choice.impl.name} " + (
                    "requires its own" if needed is None else f"accesses {needed} adjacent elements at once"
                )
        if reason is None:
            granted[buffer] = layout
        else:
            note_rejected_layout(env, buffer, reason)
    return granted


def note_rejected_layout(env: PassEnv, buffer: Var, reason: str) -> None:
    """Add to the report, once, that the buffer does not have the layout that the kernel annotates."""
    row = {"buffer": str(buffer.name), "layout": f"not as annotated: {reason}"}
    if row not in env.report.get("layouts", ()):  # choices may be repeated
        env.note("layouts", row)


def _run_needed(choice: Choice, buffer: Var, layout: BufferLayout | None, env: PassEnv) -> int | None:
    """How many adjacent elements the operation accesses at once in a buffer; None: it requires its own layout."""
    if not choice.impl.late or buffer not in [region.source for region in choice.call.regions]:
        return 1
    if choice.impl.needs_layouts and buffer in choice.impl.layouts(choice.call, env):
        return None
    whole = max(1, PIECE // DType(dtype_of(buffer)).bytes)
    return min(whole, run_of(layout, [int(size) for size in buffer.shape]))


def _choose(call: TileCall, refused: list[tuple[str, str]], env: PassEnv) -> Choice:
    names = {name for name, _ in refused}
    candidates: list[TileOpImpl] = [i for i in env.implementations if i.op != call.op.name or i.name not in names]
    choice = choose(call, candidates, env)
    return replace(choice, declined=(*refused, *choice.declined))


def _grant(
    call_index: int, choice: Choice, layouts: dict[Var, BufferLayout], fixed: _Fixed, env: PassEnv
) -> tuple[int, str] | None:
    """Add the layouts that a choice requires; returns (call_index, reason) if one cannot be granted."""
    if not choice.impl.needs_layouts:
        return None
    for buffer, layout in choice.impl.layouts(choice.call, env).items():
        reason = fixed.reason(buffer)
        if reason is not None:
            return call_index, reason
        if layouts.setdefault(buffer, layout) != layout:
            return call_index, f"another operation needs {buffer.name} as {layouts[buffer].name}"
    return None


def describe(choice: Choice) -> dict[str, Any]:
    """The choice as plain data for ``kernel.explain()``."""
    location = location_of_span(choice.call.span)
    return {
        "op": choice.call.op.name,
        "line": location.line if location else None,
        "implementation": choice.impl.name,
        "declined": [list(pair) for pair in choice.declined],
    }
