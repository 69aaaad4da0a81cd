"""Unrolls short loops whose iterations each copy some rows of a shared tile, as from the pages of a cache.

``pipelines.py`` finds the copies of one load of a tile in one block of code only.
"""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import const, constant, dtype_of, seq
from tilecore.ir.nodes import Evaluate, For, ForKind, Stmt, structural_mutate
from tilecore.ir.scopes import is_global, is_shared
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect, renewed, substitute, variables

MOST_ITERATIONS = 16


def unroll_parts(code: Stmt) -> Stmt:
    def loop(node: For, mutator: Any) -> Any:
        changed = mutator.default_mutate(node)
        return _unrolled(changed) if isinstance(changed, For) and _copies_parts(changed) else changed

    return structural_mutate(code, [(For, loop)])


def _copies_parts(node: For) -> bool:
    steps = constant(node.extent)
    if node.kind not in (ForKind.SERIAL, ForKind.UNROLLED) or steps is None or not 0 < steps <= MOST_ITERATIONS:
        return False
    if constant(node.min) is None:
        return False
    calls = (as_tile_call(inner) for inner in collect(node.body, Evaluate))
    copies = [call for call in calls if call is not None and call.op.name == "copy"]
    return any(
        is_global(call.src.source)
        and is_shared(call.dst.source)
        and any(node.loop_var in variables(bound.min) for bound in call.dst.region)
        for call in copies
    )


def _unrolled(node: For) -> Stmt:
    first, dtype = int(constant(node.min) or 0), dtype_of(node.loop_var)
    steps = range(first, first + int(constant(node.extent) or 0))
    return seq([renewed(substitute(node.body, {node.loop_var: const(step, dtype)})) for step in steps])
