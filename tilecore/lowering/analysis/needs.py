"""Finds the capabilities that a kernel needs, for comparison with the target's ``Capabilities``.

A target that declares no capability of some kind makes no statement about that kind, and every need of it is met.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from tilecore.contract.records import Capabilities
from tilecore.dtypes import FACTS
from tilecore.errors import Location
from tilecore.ir.attributes import KernelHint
from tilecore.ir.build import dtype_of, op_name
from tilecore.ir.names import TILE_OP_NAMES
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    BufferStore,
    Call,
    Cast,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    PrimFunc,
    Stmt,
    Var,
    While,
    is_buffer_var,
)
from tilecore.ir.sizes import has_dynamic_size, symbols_in
from tilecore.ir.spans import location_of_span, place_of_parameter
from tilecore.ir.thread_calls import DIRECTED
from tilecore.ir.tile_ops import TileCall, as_tile_call, name_in_language
from tilecore.ir.views import address_in
from tilecore.ir.visit import collect

TYPE, SCOPE, OPERATION, FEATURE = "element type", "memory scope", "tile operation", "feature"
ORDER = "memory order"  # of an atomic operation
ATOMIC = "element type of atomic operations"
CONVERSION = "a value is converted to"  # subject of a TYPE that no buffer or parameter has
COUNTER = "a loop counts in"  # another one
SCOPES = ("global", "shared", "shared.dyn", "local", "local.fragment", "local.var")
SOURCE_HINTS = {
    KernelHint.PRELUDE: "T.Kernel(prelude=...)",
    KernelHint.IMPORT_SOURCE: "T.import_source",
}  # how users write them
_OF_INDICES = ("int32", "bool")  # of sizes and conditions, which the compiler converts
_WIDE = "int64"  # of sizes, too, where the target has indices of 64 bits
_CALLS = ("call_extern", "call_pure_extern")
_NAMES_OF_DIRECTED = {"fma": "ieee_fmaf", "div": "ieee_fdiv", "rcp": "ieee_frcp", "sqrt": "ieee_fsqrt"}


@dataclass(frozen=True)
class Need:
    """A capability that a kernel needs.

    kind: TYPE, SCOPE, OPERATION, FEATURE, ORDER or ATOMIC. name: the name of the capability. subject: the buffer, or
    the operation as users write it; for a TYPE also the relation, as in "A has elements of". where: finds the
    location in the user's file. is_index: a TYPE that a target with 64-bit indices has for sizes, even if not for
    elements.
    """

    kind: str
    name: str
    subject: str
    where: Callable[[], Location | None]
    is_index: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    def declared(self, capabilities: Capabilities) -> Collection[str]:
        """The capabilities of this kind that the target declares; empty if it makes no statement."""
        sets = {TYPE: "dtypes", SCOPE: "scopes", OPERATION: "tile_ops", FEATURE: "features"}
        sets |= {ORDER: "atomic_orders", ATOMIC: "atomic_dtypes"}
        return getattr(capabilities, sets[self.kind])  # type: ignore[no-any-return]

    def is_met(self, capabilities: Capabilities) -> bool:
        declared = self.declared(capabilities)
        if self.is_index and capabilities.index_bits == 64:
            return True
        names = {self.name}
        if self.kind == SCOPE and self.name.startswith("shared"):  # static and dynamic shared memory are one capability
            names = {"shared", "shared.dyn"}
        if self.kind == ATOMIC:
            names |= {f"{self.subject} of {self.name}"}
        return not declared or not names.isdisjoint(declared)


def needs(func: PrimFunc) -> Iterator[Need]:
    """All needs of a kernel (tile IR): of its buffers, scalars, sizes, then of its operations in the order of the
    text."""
    yield from _of_buffers(func)
    yield from _of_scalars(func)
    yield from _of_sizes(func)
    for node in collect(func.body, Evaluate, BufferStore, Bind, For, While, IfThenElse):
        yield from _of_operations(node)


def _of_buffers(func: PrimFunc) -> Iterator[Need]:
    needs: list[tuple[Any, Callable[[], Location | None]]] = []
    for param in func.params:
        if is_buffer_var(param):
            needs.append((param, partial(place_of_parameter, func.span, str(param.name))))
    for node in collect(func.body, AllocBuffer, DeclBuffer):
        needs.append((node.buffer, partial(location_of_span, node.span)))
        if isinstance(node, AllocBuffer) and has_dynamic_size(node.buffer):
            subject = f"{node.buffer.name} in shared memory, whose size only the call gives,"
            yield Need(FEATURE, "dynamic_shared", subject, partial(location_of_span, node.span))
        if isinstance(node, DeclBuffer) and address_in(node) is not None:
            yield Need(FEATURE, "pointers", "T.make_tensor of an address", partial(location_of_span, node.span))
    for buffer, where in needs:
        kind, scope, name = dtype_of(buffer), str(buffer.scope()), str(buffer.name)
        if kind in FACTS:
            yield Need(TYPE, kind, f"{name} has elements of", where)
        if scope in SCOPES:
            yield Need(SCOPE, scope, name, where)


def _of_scalars(func: PrimFunc) -> Iterator[Need]:
    for param in func.params:
        if not is_buffer_var(param) and dtype_of(param) in FACTS:
            name = str(param.name)
            yield Need(TYPE, dtype_of(param), f"{name} is a scalar of", partial(place_of_parameter, func.span, name))


def _of_sizes(func: PrimFunc) -> Iterator[Need]:
    symbols = set(symbols_in(func.params))
    for symbol in symbols:
        if dtype_of(symbol) == _WIDE:
            subject, where = f"{symbol.name} is a size of", partial(location_of_span, func.span)
            yield Need(TYPE, _WIDE, subject, where, is_index=True)
    for param in filter(is_buffer_var, func.params):
        if any(var in symbols for size in (*param.shape, *param.strides) for var in collect(size, Var)):
            where = partial(place_of_parameter, func.span, str(param.name))
            yield Need(FEATURE, "dynamic_shapes", str(param.name), where)
            return


def _of_operations(node: Stmt) -> Iterator[Need]:
    where = partial(location_of_span, node.span)
    if isinstance(node, For) and dtype_of(node.loop_var) == _WIDE:
        yield Need(TYPE, _WIDE, COUNTER, where, is_index=True)
    needs = [value for part in _expressions(node) for value in collect(part, Cast, Call)]
    for kind in dict.fromkeys(dtype_of(value) for value in needs if isinstance(value, Cast)):
        if kind in FACTS and kind not in _OF_INDICES:
            yield Need(TYPE, kind, CONVERSION, where, is_index=kind == _WIDE)
    calls = [value for value in needs if isinstance(value, Call)]
    tiles = [call for inner in calls if (call := as_tile_call(inner))]
    for op, name in dict.fromkeys((call.op, name_in_language(call)) for call in tiles):
        if not op.is_mark and op.name in TILE_OP_NAMES:
            yield Need(OPERATION, op.name, name, where)
            if op.feature:
                yield Need(FEATURE, op.feature, name, where)
            if op.name in ("atomic", "atomic_element"):
                yield from (Need(ORDER, order, name, where) for order in _orders(tiles, name))
                yield from (Need(ATOMIC, kind, name, where) for kind in _types(tiles, name))
            if name == "T.atomic_cas":
                yield Need(FEATURE, "compare_and_swap", name, where)
    for call in calls:
        if op_name(call) in _CALLS:
            yield Need(FEATURE, "source", f"T.call_extern of {call.args[0].value}", where)
        if op_name(call) == DIRECTED:
            mode, operation = str(call.args[0].value), str(call.args[1].value)
            name = _NAMES_OF_DIRECTED.get(operation, f"ieee_{operation}")
            yield Need(FEATURE, "directed_rounding", f"T.{name} with the rounding mode {mode!r}", where)
    for tile in tiles:
        if tile.op.name == "annotate" and str(tile.key) in SOURCE_HINTS:
            yield Need(FEATURE, "source", SOURCE_HINTS[str(tile.key)], where)


def _orders(tiles: list[TileCall], name: str) -> Iterator[str]:
    """The memory orders of the calls of this name."""
    yield from dict.fromkeys(str(call.order) for call in tiles if name_in_language(call) == name)


def _types(tiles: list[TileCall], name: str) -> Iterator[str]:
    """The types of the elements that the calls of this name change; two integers of 4 bits share a byte."""
    named = (call for call in tiles if name_in_language(call) == name)
    kinds = dict.fromkeys(dtype_of(call.dst.source) for call in named)
    yield from (kind for kind in kinds if FACTS[kind].bits >= 8)


def _expressions(node: Stmt) -> list[Any]:
    """The expressions of a statement, without the statements inside it."""
    if isinstance(node, (For, While, IfThenElse)):
        return [part for name in ("min", "extent", "condition") if (part := getattr(node, name, None)) is not None]
    return [node]
