"""Emits prefetches of the tiles of the next iteration, in portions between the tiles of a gemm (plan_prefetches.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilecore.contract.state import PassState
from tilecore.dtypes import dtype as DType
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import constant, dtype_of, loop
from tilecore.ir.nodes import BufferLoad, Call, Evaluate, IfThenElse, IntImm, Stmt, Var
from tilecore.ir.register_call import register_call
from tilecore.ir.tile_ops import TileCall

# (element: BufferLoad, level): a hint that the element's cache line will be read, which fetches it to the cache of this
# level; the element may lie outside its buffer
PREFETCH = register_call("tile.prefetch")

LINE = 64  # bytes


@dataclass
class TargetPrefetches(PassState, collected=True):
    """Whether the target's code generator has a form for prefetches. plan_prefetches sets it: a backend whose code
    generator has none removes that pass, and then gemm emits no prefetches either."""

    possible: bool = False


def prefetch(buffer: Var, indices: list[Any], level: int) -> Stmt:
    """Fetches the cache line of an element to the cache of this level: 1 or 2."""
    return Evaluate(Call(PREFETCH, [BufferLoad(buffer, indices), IntImm("int32", level)], ret_ty="void"))


def portion(call: TileCall, index: Any, count: int) -> list[Stmt]:
    """The prefetches of whole rows that are portion ``index`` of ``count`` of the regions in the gemm's prefetch
    hint."""
    return [_rows(region, index, count) for region in call.hints.get(CallAttr.PREFETCH, ())]


def _rows(region: Any, index: Any, count: int) -> Stmt:
    rows, columns = (int(constant(r.extent) or 0) for r in region.region[-2:])
    step = max(1, LINE // DType(dtype_of(region.source)).bytes)
    rows_per_portion = -(-rows // count)
    first = index * rows_per_portion

    def line(row: Any, offset: Any) -> Stmt:
        where = [r.min for r in region.region]
        where[-2], where[-1] = where[-2] + first + row, where[-1] + offset * step
        return prefetch(region.source, where, 2)

    lines = -(-columns // step)
    body = loop(
        IntImm("int32", rows_per_portion),
        lambda row: loop(IntImm("int32", lines), lambda at: line(row, at), name="line"),
        name="row",
    )
    return body if rows_per_portion * count <= rows else IfThenElse(first < rows, body, None)
