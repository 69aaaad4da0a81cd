"""Implements reduce and scan as loops; the partial result is a scalar whose scope names the kind of reduction."""

from __future__ import annotations

from typing import Any

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.errors import LoweringError
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import cast, constant, dtype_of, load, loop, nest, seq, store
from tilecore.ir.nodes import AllocBuffer, ForKind, IntImm, Stmt, TensorRegion, tirx
from tilecore.ir.reductions import accumulator, combine, combining_kind_of, element, identity
from tilecore.ir.scopes import REDUCE
from tilecore.ir.tile_ops import TileCall


def scalar(name: str, dtype: str, scope: str) -> Any:
    """A buffer of one element."""
    return tirx.decl_buffer([1], dtype, name, scope=scope, layout=None)


def lower_reduce(call: TileCall, env: PassEnv) -> Stmt:
    source, target, axis, kind = call.src, call.dst, call.dim, call.kind
    combining = combining_kind_of(kind, call.nan_propagate)
    out_dtype = dtype_of(target.source)
    total_dtype = accumulator(out_dtype)
    others = [a for a in range(len(source.region)) if a != axis]
    zero = IntImm("int32", 0)

    def body(variables: list[Any]) -> Stmt:
        outer = dict(zip(others, variables, strict=True))
        total = scalar("total", total_dtype, REDUCE + combining)
        current = load(total, [zero], call.span)

        def step(inner: Any) -> Stmt:
            where = [r.min + (inner if a == axis else outer[a]) for a, r in enumerate(source.region)]
            value = element(kind, cast(load(source.source, where, call.span), total_dtype))
            return store(total, combine(combining, current, value), [zero], call.span)

        where = _target_indices(target, [(source.region[a].extent, outer[a]) for a in others])
        result = current
        if not call.clear:
            before = cast(load(target.source, where, call.span), total_dtype)
            result = combine(combining, current, before)  # an earlier NaN is ignored as well
        return seq(
            [
                AllocBuffer(total),
                store(total, identity(kind, total_dtype), [zero], call.span),
                loop(source.region[axis].extent, step, name="r", span=call.span, notes={LoopAttr.REDUCTION: kind}),
                store(target.source, cast(result, out_dtype), where, call.span),
            ]
        )

    return nest([source.region[a].extent for a in others], body, span=call.span)


def _target_indices(target: TensorRegion, moves: list[tuple[Any, Any]]) -> list[Any]:
    """The indices of a value in the target. moves: for each axis of the source its extent and the value's offset.

    Axes of one element may exist on one side only, so they are ignored.
    """
    offsets = [offset for extent, offset in moves if constant(extent) != 1]
    wide = [constant(r.extent) != 1 for r in target.region]
    if sum(wide) != len(offsets):
        raise LoweringError(
            f"the shape of {target.source.name} does not match the shape of the result",
            found=f"{sum(wide)} axes of more than one element",
            expected=str(len(offsets)),
        )
    remaining_offsets = iter(offsets)
    return [r.min + next(remaining_offsets) if many else r.min for r, many in zip(target.region, wide, strict=True)]


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
            moves = [(r.extent, inner if a == axis else outer[a]) for a, r in enumerate(source.region)]
            to = _target_indices(target, moves)
            value = cast(load(source.source, at, call.span), total_dtype)
            return seq(
                [
                    store(total, combine(call.kind, current, value), [zero], call.span),
                    store(target.source, cast(current, dtype), to, call.span),
                ]
            )

        start = store(total, identity(call.kind, total_dtype), [zero], call.span)
        return seq([AllocBuffer(total), start, loop(extent, step, name="s", kind=ForKind.SERIAL, span=call.span)])

    return nest([source.region[a].extent for a in others], body, span=call.span)


IMPLEMENTATIONS = (TileOpImpl("reduce", "loops", lower_reduce), TileOpImpl("scan", "loops", lower_scan))
