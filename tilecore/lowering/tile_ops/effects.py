"""Implements operations that are no-ops or simple loops on one thread: barriers, hints, reducers, atomics of tiles."""

from __future__ import annotations

from typing import Any

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.errors import UnsupportedError
from tilecore.ir.attributes import CallAttr, KernelHint
from tilecore.ir.build import cast, dtype_of, load, nest, nothing
from tilecore.ir.nodes import Evaluate, ForKind, Stmt, TensorRegion
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import TileCall, tile_call, tile_statement
from tilecore.lowering.analysis.needs import SOURCE_HINTS
from tilecore.lowering.state import SafeValues
from tilecore.lowering.tile_ops.copies import axes_of, indices_of


def lower_to_nothing(call: TileCall, env: PassEnv) -> Stmt:
    """A block runs sequentially, so there is nothing to wait for."""
    return nothing()


def lower_annotate(call: TileCall, env: PassEnv) -> Stmt:
    """Hints: a safe value is noted for the bounds guards, others have no effect here."""
    key = str(call.key)
    if key == KernelHint.SAFE_VALUE:
        env.state(SafeValues).by_buffer[call.rest[0].source] = call.rest[1]
    elif key in SOURCE_HINTS:
        raise UnsupportedError(
            f"{SOURCE_HINTS[key]} inserts source code, which this target does not accept",
            location=location_of_span(call.span),
            hint="write it with operations of the language; only targets that emit source text accept such code",
        )
    return nothing()


def lower_atomic(call: TileCall, env: PassEnv) -> Stmt:
    """T.atomic_add and its like on a tile: a nest of loops over the elements of ``call.dst``, with an atomic operation
    for each. ``call.value`` is a tile of as many elements, or one value for all."""
    target, value = call.dst, call.value
    to_axes = axes_of(target)
    dtype = dtype_of(target.source)

    def body(variables: list[Any]) -> Stmt:
        if isinstance(value, TensorRegion):
            operand = cast(load(value.source, indices_of(value, axes_of(value), variables), call.span), dtype)
        else:
            operand = value
        element = load(target.source, indices_of(target, to_axes, variables), call.span)
        step = tile_call("atomic_element", [element, operand, call.kind, call.order], dtype=dtype)
        return Evaluate(step, span=call.span)

    return nest([target.region[axis].extent for axis in to_axes], body, span=call.span)


def lower_print(call: TileCall, env: PassEnv) -> Stmt:
    """A buffer element by element, each on its own line with its indices."""
    (region,) = call.rest
    axes = axes_of(region)

    def body(variables: list[Any]) -> Stmt:
        where = indices_of(region, axes, variables)
        name = f"{call.message}[{', '.join('{}' for _ in where)}]"
        values = [*where, load(region.source, where, call.span)]
        return tile_statement("print", [name, *values], hints={CallAttr.INDICES_PRINTED: len(where)}, span=call.span)

    return nest([region.region[axis].extent for axis in axes], body, kind=ForKind.SERIAL, span=call.span)


IMPLEMENTATIONS = (
    TileOpImpl("print", "one element after the other", lower_print),
    TileOpImpl("sync_threads", "nothing", lower_to_nothing),
    TileOpImpl("finalize_reducer", "nothing", lower_to_nothing),
    TileOpImpl("annotate", "hint", lower_annotate, leaves=(SafeValues,)),
    TileOpImpl("atomic", "loops", lower_atomic),
)
