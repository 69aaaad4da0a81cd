"""Implements ``T.Pipelined`` on one core: during the gemm of an iteration the tiles of the next one are prefetched.

The first gemm of a pipelined loop gets the hint ``prefetch``: the regions of global memory that the next iteration
copies. Its implementation spreads the prefetches over its work (prefetch.py).
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import CallAttr, LoopAttr
from tilecore.ir.build import const, constant, dtype_of, with_body
from tilecore.ir.nodes import BufferRegion, Call, Evaluate, For, PrimFunc, Range, SeqStmt, TensorLoad, structural_map
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect, reads_variable, substitute
from tilecore.lowering.loops.prefetch import TargetPrefetches


def plan_prefetches(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def plan(node: For) -> Any:
        if int(node.annotations.get(LoopAttr.STAGES, 0)) < 2 or not isinstance(node.body, SeqStmt):
            return node
        if constant(node.extent) == 1:
            return node  # there is no next iteration
        parts = list(node.body.seq)
        calls = [as_tile_call(part) if isinstance(part, Evaluate) else None for part in parts]
        regions = [_next_region(call, node) for call in calls if call is not None and _is_prefetchable(call, node)]
        first_gemm = next((i for i, call in enumerate(calls) if call is not None and call.op.name == "gemm"), None)
        if first_gemm is None or not regions:
            return node
        parts[first_gemm] = _hinted(calls[first_gemm], regions)  # type: ignore[arg-type]
        body = SeqStmt(parts, span=node.body.span)
        return with_body(node, body)

    env.state(TargetPrefetches).possible = True
    return func.with_body(structural_map(func.body, (For, plan)))


def _is_prefetchable(call: TileCall, loop: For) -> bool:
    """Does the call copy a matrix of global memory whose address in the next iteration can be computed beforehand?"""
    if call.op.name != "copy" or not is_global(call.src.source):
        return False
    if is_global(call.dst.source) or len(call.src.region) < 2:
        return False
    mins = [r.min for r in call.src.region]
    return (
        any(reads_variable(m, loop.loop_var) for m in mins)
        and not any(collect(m, TensorLoad, Call) for m in mins)
        and all(constant(r.extent) == 1 for r in call.src.region[:-2])
        and all(constant(r.extent) is not None for r in call.src.region)
    )


def _next_region(call: TileCall, loop: For) -> BufferRegion:
    step = {loop.loop_var: loop.loop_var + const(1, dtype_of(loop.loop_var))}
    ranges = [Range.from_min_extent(substitute(r.min, step), r.extent) for r in call.src.region]
    return BufferRegion(call.src.source, ranges)


def _hinted(call: TileCall, regions: list[BufferRegion]) -> Evaluate:
    return call.rebuilt(hints={**call.hints, CallAttr.PREFETCH: regions})


PLAN_PREFETCHES = Pass("plan_prefetches", plan_prefetches, leaves=(TargetPrefetches,))
