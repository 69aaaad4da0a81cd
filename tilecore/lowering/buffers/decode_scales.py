"""Lowers float8_e8m0fnu, the scales of blocks of elements, to bytes: no code generator has the type.

A pattern from 0 to 254 is the power of two with the exponent pattern - 127, and 255 is NaN (OCP microscaling formats
specification 1.0, section 5.4.1). A value that is converted to it is rounded up, in its magnitude, to a power of two.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import FACTS
from tilecore.errors import UnsupportedError
from tilecore.ir.build import cast, const, dtype_of, load, op_name, store
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    BufferStore,
    Call,
    Cast,
    DeclBuffer,
    Expr,
    PrimFunc,
    Select,
    TensorLoad,
    Var,
    is_buffer_var,
    structural_mutate,
    tirx,
)
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_calls import ATOMIC_ELEMENT
from tilecore.ir.views import source_of
from tilecore.ir.visit import collect
from tilecore.lowering.state import SafeValues

SCALE, BYTE, WORD = "float8_e8m0fnu", "uint8", "uint32"
_LEAST = 0x00400000  # the bits of 2**-127 as a float32, which is subnormal there
_NAN, _INFINITY = 0x7FC00000, 0x7F800000


def decode_scales(func: PrimFunc, env: PassEnv) -> PrimFunc:
    buffers = [p for p in func.params if is_buffer_var(p)] + [
        node.buffer for node in collect(func.body, AllocBuffer, DeclBuffer)
    ]
    if not any(map(_is_scale, [*buffers, *collect(func.body, Cast, Call)])):
        return func
    work = _Decode()
    params = [work.bytes_of(param) if is_buffer_var(param) else param for param in func.params]
    safe = env.state(SafeValues).by_buffer
    for buffer in filter(_is_scale, list(safe)):
        safe[work.bytes_of(buffer)] = work.run(safe[buffer])
    return PrimFunc(params, work.run(func.body), func.ret_type, func.attrs, func.span)


def _is_scale(value: Any) -> bool:
    """Is it a scale, or a buffer of scales?"""
    if isinstance(value, Var) and is_buffer_var(value):
        return dtype_of(value) == SCALE
    return str(getattr(value.ty, "dtype", "")) == SCALE


class _Decode:
    """bytes: the buffers and variables that replace those of scales."""

    def __init__(self) -> None:
        self.bytes: dict[Var, Var] = {}

    def run(self, node: Any) -> Any:
        rules = [
            (Cast, self.cast),
            (TensorLoad, self.load),
            (BufferStore, self.store),
            (AllocBuffer, self.alloc),
            (DeclBuffer, self.alias),
            (Bind, self.bind),
            (Select, self.choice),
            (Call, self.call),
            (Var, lambda var, mutator: self.bytes.get(var, var)),
        ]
        return structural_mutate(node, rules)

    def bytes_of(self, buffer: Var) -> Var:
        """The buffer of bytes that replaces a buffer of scales; another buffer itself."""
        if not _is_scale(buffer):
            return buffer
        if buffer not in self.bytes:
            self.bytes[buffer] = tirx.decl_buffer(
                list(buffer.shape), BYTE, str(buffer.name), strides=list(buffer.strides) or None,
                scope=str(buffer.scope()), layout=None,
            )  # fmt: skip
        return self.bytes[buffer]

    # -- statements ------------------------------------------------------------------------------------------------

    def alloc(self, node: AllocBuffer, mutator: Any) -> Any:
        if not _is_scale(node.buffer):
            return node
        return AllocBuffer(self.bytes_of(node.buffer), annotations=node.annotations, span=node.span)

    def alias(self, node: DeclBuffer, mutator: Any) -> Any:
        source = source_of(node)
        data = mutator.mutate(node.data) if source is None else tirx.buffer_data(self.bytes_of(source))
        return DeclBuffer(self.bytes_of(node.buffer), data=data, span=node.span)

    def store(self, node: BufferStore, mutator: Any) -> Any:
        indices = [mutator.mutate(index) for index in node.indices]
        return store(self.bytes_of(node.buffer), mutator.mutate(node.value), indices, node.span)

    def bind(self, node: Bind, mutator: Any) -> Any:
        value = mutator.mutate(node.value)
        if _is_scale(node.value):
            self.bytes[node.var] = Var(str(node.var.name), BYTE)
        return Bind(self.bytes.get(node.var, node.var), value, span=node.span)

    # -- expressions -----------------------------------------------------------------------------------------------

    def load(self, node: TensorLoad, mutator: Any) -> Any:
        if not _is_scale(node):
            return mutator.default_mutate(node)
        return load(self.bytes_of(node.source), [mutator.mutate(index) for index in node.indices], node.span)

    def cast(self, node: Cast, mutator: Any) -> Any:
        value = mutator.mutate(node.value)
        if _is_scale(node):
            return value if _is_scale(node.value) else bits_of_scale(value)
        return cast(scale_of_bits(value), dtype_of(node)) if _is_scale(node.value) else mutator.default_mutate(node)

    def choice(self, node: Select, mutator: Any) -> Any:
        return Select(*(mutator.mutate(part) for part in (node.condition, node.true_value, node.false_value)))

    def call(self, node: Call, mutator: Any) -> Any:
        name = op_name(node)
        if not any(map(_is_scale, [node, *node.args])):
            return mutator.default_mutate(node)
        args = [mutator.mutate(arg) for arg in node.args]
        if name == "reinterpret":
            kind = BYTE if _is_scale(node) else dtype_of(node)
            return args[0] if dtype_of(args[0]) == kind else Call(node.op, args, ret_ty=kind)
        if name == ATOMIC_ELEMENT:
            raise UnsupportedError(
                f"an atomic operation works on {SCALE} elements",
                location=location_of_span(node.span),
                expected="elements with arithmetic of their own, such as float32",
            )
        return Call(node.op, args, ret_ty=BYTE if _is_scale(node) else node.ty, attrs=node.attrs)


def _reinterpret(value: Expr, kind: str) -> Expr:
    return Call("tirx.reinterpret", [value], ret_ty=kind)


def scale_of_bits(byte: Expr) -> Expr:
    """The float32 of a scale's bits: they are the exponent, and 0 is 2**-127."""
    word = cast(byte, WORD)
    exponent = tirx.shift_left(word, const(23, WORD))
    bits = Select(word == const(0, WORD), const(_LEAST, WORD), exponent)
    return _reinterpret(Select(word == const(255, WORD), const(_NAN, WORD), bits), "float32")


def bits_of_scale(value: Expr) -> Expr:
    """The bits of the scale of a value: the exponent of the least power of two that is not below its magnitude."""
    if FACTS[dtype_of(value)].kind != "float":
        return _bits_of_integer(value)
    single = cast(value, "float32")
    word = tirx.bitwise_and(_reinterpret(single, WORD), const(0x7FFFFFFF, WORD))
    magnitude = word
    if dtype_of(value) == "float64":  # the float32 may be the power of two below
        is_below = tirx.abs(cast(single, "float64")) < tirx.abs(value)
        magnitude = word + cast(tirx.And(is_below, word < const(_INFINITY, WORD)), WORD)
    up = tirx.shift_right(magnitude + const(0x7FFFFF, WORD), const(23, WORD))
    up = Select(magnitude <= const(_LEAST, WORD), const(0, WORD), tirx.min(up, const(254, WORD)))
    return cast(Select(word > const(_INFINITY, WORD), const(255, WORD), up), BYTE)


def _bits_of_integer(value: Expr) -> Expr:
    """The same of an integer m: the least power of two that is not below m has as many bits as m - 1."""
    facts = FACTS[dtype_of(value)]
    bits = 64 if facts.bits == 64 else 32
    kind = f"uint{bits}"
    wide = cast(cast(value, f"int{bits}") if facts.kind == "int" else value, kind)
    magnitude = Select(value < const(0, dtype_of(value)), const(0, kind) - wide, wide) if facts.kind == "int" else wide
    length = const(bits, kind) - cast(tirx.clz(magnitude - const(1, kind)), kind)
    exponent = Select(magnitude > const(1, kind), length, const(0, kind)) + const(127, kind)
    return cast(Select(magnitude == const(0, kind), const(0, kind), exponent), BYTE)


DECODE_SCALES = Pass("decode_scales", decode_scales, needs=(SafeValues,), leaves=(SafeValues,))
