"""Expressions of thread IR as C expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilecore.codegen import arithmetic, calls, choices, conversions, literals
from tilecore.codegen.bounds import Bounds
from tilecore.codegen.dialect import Dialect
from tilecore.codegen.refusal import refuse
from tilecore.codegen.text import PRIMARY, SUM, UNARY, Text, within
from tilecore.dtypes import FACTS
from tilecore.errors import LoweringError
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.nodes import Call, Expr, TensorLoad, Var
from tilecore.ir.spans import location_of_span

_AFFINE = ("Add", "Sub", "Mul", "Cast")


@dataclass(frozen=True)
class Memory:
    """A buffer in the source: its name; scalar: a plain variable, not an array or a pointer."""

    name: str
    dtype: str
    scalar: bool = False


class Expressions:
    """Emits expressions. ``variables``: what stands for each variable; ``memory``: the buffers."""

    def __init__(self, dialect: Dialect, bounds: Bounds) -> None:
        self.dialect = dialect
        self.bounds = bounds
        self.variables: dict[Var, Text] = {}
        self.memory: dict[Var, Memory] = {}
        self.is_index = False  # sums and products are those of an index

    def value(self, node: Expr) -> Text:
        """The C expression for ``node``. Raises UnsupportedError for what has no form here."""
        name = type(node).__name__
        before, self.is_index = self.is_index, self.is_index and name in _AFFINE
        try:
            handler = _HANDLERS.get(name)
            return refuse(node, self.dialect.kind) if handler is None else handler(self, node)
        finally:
            self.is_index = before

    def index(self, node: Expr) -> Text:
        """The C expression for an index: sums and products in it do not overflow, as no buffer reaches so far."""
        before, self.is_index = self.is_index, True
        try:
            return self.value(node)
        finally:
            self.is_index = before

    def type_of(self, dtype: str, node: Any = None) -> str:
        """The C type of ``dtype``; raises UnsupportedError for vectors and unknown types."""
        kind = self.dialect.types.get(dtype)
        return kind if kind is not None else refuse(node, self.dialect.kind, what=f"a value of type {dtype}")

    # -- memory -----------------------------------------------------------------------------------------------

    def element(self, buffer: Var, index: Expr) -> Text:
        """``buffer[index]``."""
        memory = self.memory[buffer]
        if memory.scalar:
            return Text(memory.name)
        return Text(f"{memory.name}[{self.index(index)}]")

    def address(self, node: Any) -> Text:
        """The address of an element: a load, an ``address_of`` of one, or what the target writes for one of its own."""
        own = self.dialect.values.get(op_name(node))
        if own is not None:
            return Text(f"&{within(own(self, node), UNARY)}", UNARY)
        source, base = self._element_named(node)
        memory = self.memory[source]
        if not memory.scalar and constant(base) == 0:
            return Text(memory.name)
        return Text(f"&{self.element(source, base)}", UNARY)

    def place(self, node: Any) -> str:
        """As :meth:`address`, written as a sum: ``buffer + index``."""
        return self.place_at(*self._element_named(node))

    def place_at(self, buffer: Var, index: Expr) -> str:
        """``buffer + index``; of a vector's indices the first."""
        memory, base = self.memory[buffer], getattr(index, "base", index)
        if memory.scalar:
            return f"&{memory.name}"
        if constant(base) == 0:
            return memory.name
        right = dtype_of(base).startswith("uint")  # which wraps before it is an address
        return f"{memory.name} + {within(self.index(base), SUM, right)}"

    def _element_named(self, node: Any) -> tuple[Var, Expr]:
        if op_name(node) == "address_of":
            node = node.args[0]
        if not isinstance(node, TensorLoad):
            return refuse(node, self.dialect.kind, what="the address of what is no element")
        (index,) = node.indices
        return node.source, getattr(index, "base", index)


# -- leaves ------------------------------------------------------------------------------------------------------


def _int(emit: Expressions, node: Any) -> Text:
    dtype = dtype_of(node)
    if dtype == "bool":
        return Text("true" if int(node.value) else "false")
    if dtype not in FACTS:
        return refuse(node, emit.dialect.kind, what=f"a constant of type {dtype}")
    return literals.integer(int(node.value), dtype, emit.dialect)


def _float(emit: Expressions, node: Any) -> Text:
    dtype = dtype_of(node)
    emit.type_of(dtype, node)
    return literals.floating(float(node.value), dtype, emit.dialect)


def _variable(emit: Expressions, node: Var) -> Text:
    name = emit.variables.get(node)
    if name is None:
        raise LoweringError(
            f"the variable {node.name} is used where it is not defined",
            location=location_of_span(getattr(node, "span", None)),
            hint="a pass lost it: TILECORE_CHECK=1 names which; please report it",
        )
    return name


def _load(emit: Expressions, node: TensorLoad) -> Text:
    if dtype_of(node) not in FACTS:
        return refuse(node, emit.dialect.kind, "vectors are only moved from buffer to buffer", "a vector as a value")
    (index,) = node.indices
    return emit.element(node.source, index)


def _let(emit: Expressions, node: Any) -> Text:
    """The value stands where the variable stood: it has no effects."""
    emit.variables[node.var] = Text(within(emit.value(node.value), PRIMARY))
    emit.bounds.bind_value(node.var, node.value)
    return emit.value(node.body)


def _call(emit: Expressions, node: Call) -> Text:
    own = emit.dialect.values.get(op_name(node))
    return own(emit, node) if own is not None else calls.call_value(emit, node)


_HANDLERS: dict[str, Callable[[Expressions, Any], Text]] = {
    "IntImm": _int,
    "FloatImm": _float,
    "Var": _variable,
    "TensorLoad": _load,
    "Let": _let,
    "Call": _call,
    "Cast": conversions.cast_value,
    **arithmetic.HANDLERS,
    **choices.HANDLERS,
}
