"""Lowers 4-bit tensors in global memory to tensors of bytes with two elements each, the even element in the low half.

A load extracts one half of a byte. A parallel loop over the last axis stores both elements of a byte together. Any
other store changes its half by two atomic operations, so that it does not overwrite a concurrent store to the other
half; where the target has no atomic operations, it is refused. On chip each 4-bit element occupies a byte.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.contract.records import Capabilities
from tilecore.dtypes import FACTS
from tilecore.errors import UnsupportedError
from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import cast, const, constant, dtype_of, load, op_name, seq, store
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferStore,
    Call,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    ForKind,
    PrimFunc,
    Range,
    Stmt,
    TensorLoad,
    Var,
    is_buffer_var,
    structural_mutate,
    tirx,
)
from tilecore.ir.scopes import is_global
from tilecore.ir.spans import location_of_span, place_of_parameter
from tilecore.ir.thread_calls import ATOMIC_ELEMENT, MEMORY_ORDERS
from tilecore.ir.tile_ops import tile_call
from tilecore.ir.views import source_of
from tilecore.ir.visit import collect, substitute
from tilecore.lowering.analysis.kernels import is_axis
from tilecore.lowering.loops.prefetch import PREFETCH
from tilecore.lowering.state import HalfStores, SafeValues, UserFunction

BYTE = "uint8"


def unpack_int4(func: PrimFunc, env: PassEnv) -> PrimFunc:
    buffers = [p for p in func.params if is_buffer_var(p)] + [
        a.buffer for a in collect(func.body, AllocBuffer, DeclBuffer)
    ]
    if not any(is_narrow(b) for b in buffers):
        return func
    user_function = env.find_state(UserFunction)
    definition = None if user_function is None else user_function.span
    work = _Unpack(env.capabilities, definition, env.state(HalfStores).buffers)
    params = [work.bytes_of(p) if is_buffer_var(p) and is_packed(p) else p for p in func.params]
    safe = env.state(SafeValues).by_buffer
    for buffer in [b for b in safe if is_packed(b)]:
        half = half_byte(safe[buffer])
        safe[work.bytes_of(buffer)] = half | (half << const(4, BYTE))
    return PrimFunc(params, work.run(func.body), func.ret_type, func.attrs, func.span)


def is_narrow(buffer: Var) -> bool:
    """Are the elements narrower than a byte?"""
    return dtype_of(buffer) in FACTS and FACTS[dtype_of(buffer)].bits < 8


def half_byte(value: Expr) -> Expr:
    """The bits of a 4-bit value as the low half of a byte."""
    bits = Call("tirx.reinterpret", [value], ret_ty=BYTE) if dtype_of(value).startswith("float") else cast(value, BYTE)
    return bits & const(15, BYTE)


def from_half_byte(byte: Expr, dtype: str) -> Expr:
    """The low half of a byte as a 4-bit value; the high half may hold anything."""
    if dtype.startswith("float"):
        return Call("tirx.reinterpret", [byte & const(15, BYTE)], ret_ty=dtype)
    return cast(byte, dtype)


def is_packed(buffer: Var) -> bool:
    return is_narrow(buffer) and is_global(buffer)


class _Unpack:
    def __init__(self, capabilities: Capabilities, definition: Any, halves: set[Var]) -> None:
        self.capabilities, self.definition, self.halves = capabilities, definition, halves
        self.byte_buffers: dict[Var, Var] = {}
        self.analyzer = Analyzer()

    def run(self, body: Stmt) -> Stmt:
        rules = [
            (AttrStmt, self.attr),
            (For, self.loop),
            (TensorLoad, self.load),
            (BufferStore, self.store),
            (AllocBuffer, self.alloc),
            (DeclBuffer, self.alias),
            (Call, self.call),
        ]
        return structural_mutate(body, rules)

    # -- buffers ----------------------------------------------------------------------------------------------

    def bytes_of(self, old: Var, span: Any = None) -> Var:
        """The buffer of bytes that replaces a packed buffer: half as long along the last axis."""
        new = self.byte_buffers.get(old)
        if new is not None:
            return new
        *axes, last = old.shape
        count = constant(last)
        if count is not None and count % 2:
            raise UnsupportedError(
                f"{old.name} has an odd number of {old.dtype} elements along its last axis",
                location=location_of_span(span) or place_of_parameter(self.definition, str(old.name)),
                found=f"shape {tuple(str(size) for size in old.shape)}",
                expected="an even number, because two elements share a byte",
                hint=f"declare {count + 1} elements and leave the last one unused, or use an element type of one byte",
            )
        shape = [*axes, self.analyzer.simplify(tirx.floordiv(last, const(2, dtype_of(last))))]
        strides = [tirx.floordiv(s, const(2, dtype_of(s))) for s in old.strides[:-1]]
        strides += list(old.strides[-1:])
        new = tirx.decl_buffer(shape, BYTE, str(old.name), strides=strides or None, scope="global", layout=None)
        self.byte_buffers[old] = new
        return new

    def alloc(self, node: AllocBuffer, mutator: Any) -> Any:
        return AllocBuffer(self.bytes_of(node.buffer, node.span), span=node.span) if is_packed(node.buffer) else node

    def alias(self, node: DeclBuffer, mutator: Any) -> Any:
        source, view = source_of(node), node.buffer
        if source is None:
            byte_view = self.bytes_of(view, node.span) if is_packed(view) else view
            return DeclBuffer(byte_view, data=mutator.mutate(node.data), span=node.span)
        if not is_global(view) and is_narrow(view) != is_narrow(source):
            raise UnsupportedError(
                f"{source.name} is viewed as {view.dtype}, whose elements have another size",
                location=location_of_span(node.span),
                expected="element types of the same size: on this target a 4-bit element occupies a byte on chip",
                hint="view the tensor in global memory, before it is copied",
            )
        if not (is_packed(view) or is_packed(source)):
            return node
        origin = self.bytes_of(source, node.span) if is_packed(source) else source
        byte_view = self.bytes_of(view, node.span) if is_packed(view) else view
        return DeclBuffer(byte_view, data=tirx.buffer_data(origin), span=node.span)

    # -- accesses ---------------------------------------------------------------------------------------------

    def byte_and_shift(self, indices: list[Expr]) -> tuple[list[Expr], Expr]:
        """Indices of the byte that holds an element, and the bit where the element starts in it."""
        *axes, last = indices
        kind = dtype_of(last)
        byte = self.analyzer.simplify(tirx.floordiv(last, const(2, kind)))
        half = self.analyzer.simplify(tirx.floormod(last, const(2, kind)))
        return [*axes, byte], cast(half, BYTE) * const(4, BYTE)

    def load(self, node: TensorLoad, mutator: Any) -> Any:
        byte_load = mutator.default_mutate(node)
        if not is_packed(node.source):
            return byte_load
        byte_indices, shift = self.byte_and_shift(list(byte_load.indices))
        return from_half_byte(load(self.bytes_of(node.source), byte_indices, node.span) >> shift, dtype_of(node))

    def store(self, node: BufferStore, mutator: Any) -> Any:
        rewritten = mutator.default_mutate(node)
        if not is_packed(node.buffer):
            return rewritten
        byte_indices, shift = self.byte_and_shift(list(rewritten.indices))
        element = load(self.bytes_of(node.buffer), byte_indices, node.span)
        mask = const(15, BYTE) << shift
        self.halves.add(element.source)
        half = half_byte(rewritten.value)
        before: list[Stmt] = []
        if any(is_global(read.source) for read in collect(half, TensorLoad)):  # the first atomic operation may clear it
            var = Var("half", BYTE)
            before, half = [Bind(var, half, span=node.span)], var
        steps = [("and", tirx.bitwise_not(mask)), ("or", half << shift)]
        order = self.order_of_halves(node)
        return seq([*before, *(_atomic(element, operand, kind, order, node.span) for kind, operand in steps)])

    def order_of_halves(self, node: BufferStore) -> str:
        """The weakest memory order that the target has, for the operations of a store to half a byte."""
        orders, features = self.capabilities.atomic_orders, self.capabilities.features
        operations = self.capabilities.tile_ops
        if (features and "atomics" not in features) or (operations and "atomic_element" not in operations):
            raise UnsupportedError(
                f"a store to one element of {node.buffer.name} changes half of a byte, which needs atomic operations, "
                "and this target has none",
                location=location_of_span(node.span),
                found=f"elements of {dtype_of(node.buffer)}, two in a byte",
                expected="stores of whole bytes",
                hint="store an even number of neighboring elements, from an even index on, in one T.Parallel or T.copy",
            )
        return next((order for order in MEMORY_ORDERS if order in orders), "relaxed")

    def call(self, node: Call, mutator: Any) -> Any:
        if op_name(node) == PREFETCH and is_packed(node.args[0].source):
            element = node.args[0]
            byte_indices, _ = self.byte_and_shift([mutator.mutate(index) for index in element.indices])
            args = [load(self.bytes_of(element.source), byte_indices), *node.args[1:]]
            return Call(node.op, args, ret_ty=node.ty)
        if op_name(node) == ATOMIC_ELEMENT and is_narrow(node.args[0].source):
            raise UnsupportedError(
                f"an atomic operation works on {dtype_of(node.args[0])} elements",
                location=location_of_span(node.span),
                found=f"an element of {node.args[0].source.name}",
                expected="elements of one byte or more",
            )
        return mutator.default_mutate(node)

    # -- loops ------------------------------------------------------------------------------------------------

    def attr(self, node: AttrStmt, mutator: Any) -> Any:
        if is_axis(node):
            zero = const(0, dtype_of(node.node.var))
            self.analyzer.bind(node.node.var, Range.from_min_extent(zero, node.value))
        return mutator.default_mutate(node)

    def loop(self, node: For, mutator: Any) -> Any:
        self.analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent))
        pairs = self.pairs(node, mutator)
        return mutator.default_mutate(node) if pairs is None else pairs

    def pairs(self, node: For, mutator: Any) -> Stmt | None:
        """The loop with half as many iterations, each of which stores one byte; None if it does not write whole
        bytes."""
        body, var = node.body, node.loop_var
        if node.kind != ForKind.PARALLEL or not isinstance(body, BufferStore) or not is_packed(body.buffer):
            return None
        *axes, last = body.indices
        two = const(2, dtype_of(var))
        if coefficient(last, var) != 1 or any(coefficient(axis, var) != 0 for axis in axes):
            return None
        first = substitute(last, {var: node.min})
        if not all(self.analyzer.can_prove(tirx.floormod(n, two) == 0) for n in (first, node.extent)):
            return None
        pair = Var(str(var.name), dtype_of(var))
        half = self.analyzer.simplify(tirx.floordiv(node.extent, two))
        self.analyzer.bind(pair, Range.from_min_extent(const(0, dtype_of(pair)), half))
        values = [substitute(body.value, {var: node.min + pair * 2 + k}) for k in (0, 1)]
        low, high = (half_byte(mutator.mutate(value)) for value in values)
        byte_indices = [mutator.mutate(i) for i in axes]
        byte_indices.append(self.analyzer.simplify(tirx.floordiv(first, const(2, dtype_of(first))) + pair))
        byte = store(self.bytes_of(body.buffer), low | (high << const(4, BYTE)), byte_indices, body.span)
        return For(pair, const(0, dtype_of(pair)), half, node.kind, byte, annotations=node.annotations, span=node.span)


def _atomic(element: Expr, operand: Expr, kind: str, order: str, span: Any) -> Stmt:
    return Evaluate(tile_call("atomic_element", [element, operand, kind, order], dtype=BYTE), span=span)


UNPACK_INT4 = Pass("unpack_int4", unpack_int4, needs=(UserFunction, SafeValues), leaves=(HalfStores, SafeValues))
