"""reduce and scan as loops; the partial result lives in a scalar whose scope names the kind of reduction."""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import cast, dtype_of, load, loop, nest, seq, store
from tilecore.ir.nodes import AllocBuffer, ForKind, IntImm, Stmt, TensorRegion, tirx
from tilecore.ir.reductions import accumulator, element, identity, join, joining
from tilecore.ir.scopes import REDUCE
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.implementation import TileOpImpl
from tilecore.lowering.passes import PassEnv


def scalar(name: str, dtype: str, scope: str) -> Any:
    """A buffer of one element."""
    return tirx.decl_buffer([1], dtype, name, scope=scope, layout=None)


def lower_reduce(call: TileCall, env: PassEnv) -> Stmt:
    source, target, axis, kind = call.src, call.dst, call.dim, call.kind
    joined = joining(kind, call.nan_propagate)
    out_dtype = dtype_of(target.source)
    total_dtype = accumulator(out_dtype)
    others = [a for a in range(len(source.region)) if a != axis]
    zero = IntImm("int32", 0)

    def body(variables: list[Any]) -> Stmt:
        outer = dict(zip(others, variables, strict=True))
        total = scalar("total", total_dtype, REDUCE + joined)
        current = load(total, [zero], call.span)

        def step(inner: Any) -> Stmt:
            where = [r.min + (inner if a == axis else outer[a]) for a, r in enumerate(source.region)]
            value = element(kind, cast(load(source.source, where, call.span), total_dtype))
            return store(total, join(joined, current, value), [zero], call.span)

        where = _target_indices(target, axis, outer, len(source.region))
        result = current
        if not call.clear:
            before = cast(load(target.source, where, call.span), total_dtype)
            result = join(joined, current, before)  # a NaN that was there before is passed over too
        return seq(
            [
                AllocBuffer(total),
                store(total, identity(kind, total_dtype), [zero], call.span),
                loop(source.region[axis].extent, step, name="r", span=call.span, notes={"tile.reduce": kind}),
                store(target.source, cast(result, out_dtype), where, call.span),
            ]
        )

    return nest([source.region[a].extent for a in others], body, span=call.span)


def _target_indices(target: TensorRegion, axis: int, outer: dict[int, Any], rank: int) -> list[Any]:
    """Where the result for source position ``outer`` goes: the output lacks the axis, or has extent 1 there."""
    ranges = list(target.region)
    if len(ranges) == rank:
        return [r.min if a == axis else r.min + outer[a] for a, r in enumerate(ranges)]
    if not outer:
        return [r.min for r in ranges]
    return [r.min + outer[a] for r, a in zip(ranges, sorted(outer), strict=True)]


def lower_scan(call: TileCall, env: PassEnv) -> Stmt:
    source, target, axis = call.src, call.dst, call.dim
    dtype = dtype_of(target.source)
    total_dtype = accumulator(dtype)
    others = [a for a in range(len(source.region)) if a != axis]
    extent = source.region[axis].extent
    zero = IntImm("int32", 0)

    def body(variables: list[Any]) -> Stmt:
        outer = dict(zip(others, variables, strict=True))
        total = scalar("total", total_dtype, "local")
        current = load(total, [zero], call.span)

        def step(position: Any) -> Stmt:
            inner = extent - 1 - position if call.reverse else position
            at = [r.min + (inner if a == axis else outer[a]) for a, r in enumerate(source.region)]
            to = [r.min + (inner if a == axis else outer[a]) for a, r in enumerate(target.region)]
            value = cast(load(source.source, at, call.span), total_dtype)
            return seq(
                [
                    store(total, join(call.kind, current, value), [zero], call.span),
                    store(target.source, cast(current, dtype), to, call.span),
                ]
            )

        start = store(total, identity(call.kind, total_dtype), [zero], call.span)
        return seq([AllocBuffer(total), start, loop(extent, step, name="s", kind=ForKind.SERIAL, span=call.span)])

    return nest([source.region[a].extent for a in others], body, span=call.span)


IMPLEMENTATIONS = (TileOpImpl("reduce", "loops", lower_reduce), TileOpImpl("scan", "loops", lower_scan))
