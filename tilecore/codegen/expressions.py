"""Emits expressions of thread IR as expressions of the source, by a method for each kind of node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.codegen import arithmetic, choices, conversions
from tilecore.codegen.refusal import refuse
from tilecore.codegen.returned_text import check_text
from tilecore.codegen.syntax import Memory, Parameter, Syntax
from tilecore.codegen.text import PRIMARY, SUM, Text, within
from tilecore.dtypes import FACTS
from tilecore.errors import LoweringError
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.nodes import Call, Expr, TensorLoad, Var
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_nodes import THREAD_NODES, VALUE

if TYPE_CHECKING:
    from tilecore.codegen.bounds import Bounds
    from tilecore.codegen.dialect import Dialect

__all__ = ["Expressions", "Memory", "Parameter"]

_AFFINE = ("Add", "Sub", "Mul", "Cast")
# class of a node -> the method that emits it
_METHODS = {name: kind.emit_method for name, kind in THREAD_NODES.items() if kind.role == VALUE}


class Expressions(Syntax):
    """Emits expressions. ``variables``: what stands for each variable; ``memory``: the buffers."""

    def __init__(self, dialect: Dialect, bounds: Bounds) -> None:
        super().__init__(dialect)
        self.bounds = bounds
        self.variables: dict[Var, Text] = {}
        self.memory: dict[Var, Memory] = {}
        self.is_index = False  # sums and products are those of an index

    def value(self, node: Expr) -> Text:
        """The expression for ``node``. Raises UnsupportedError, at the user's line, for what has no form here."""
        name = type(node).__name__
        before, self.is_index = self.is_index, self.is_index and name in _AFFINE
        try:
            method = _METHODS.get(name)
            text: Text = refuse(node, self.dialect.kind) if method is None else getattr(self, method)(node)
            return text
        finally:
            self.is_index = before

    def index(self, node: Expr) -> Text:
        """The expression for an index: sums and products in it do not overflow, as no buffer reaches so far."""
        before, self.is_index = self.is_index, True
        try:
            return self.value(node)
        finally:
            self.is_index = before

    # -- memory -------------------------------------------------------------------------------------------------

    def element(self, buffer: Var, index: Expr) -> Text:
        """``buffer[index]``."""
        memory = self.memory[buffer]
        return self.named(memory, self.place_in(memory, index))

    def place_in(self, memory: Memory, index: Expr) -> Text:
        """The index of an element, "0" for a scalar."""
        return Text("0") if memory.scalar else self.index(index)

    def address(self, node: Any) -> Text:
        """The address of an element: a load, an ``address_of`` of one, or what the target writes for one of its own.
        Raises UnsupportedError for anything else."""
        emit_value = self.dialect.values.get(op_name(node))
        if emit_value is not None:
            return self.reference(emit_value(self, node))
        source, base = self.element_named(node)
        memory = self.memory[source]
        if not memory.scalar and constant(base) == 0:
            return self.pointer(memory, Text("0"))
        return self.reference(self.element(source, base))

    def place(self, node: Any) -> str:
        """The address of an element as `pointer` writes it: of a load, or of an ``address_of`` of one."""
        return self.place_at(*self.element_named(node))

    def place_at(self, buffer: Var, index: Expr) -> str:
        """The address of ``buffer[index]`` as `pointer` writes it; of a vector's indices the first."""
        memory, base = self.memory[buffer], getattr(index, "base", index)
        offset = Text("0") if constant(base) == 0 else self.place_in(memory, base)
        if dtype_of(base).startswith("uint"):  # which wraps before it is an address
            offset = Text(within(offset, SUM, right=True))
        return str(self.pointer(memory, offset))

    def element_named(self, node: Any) -> tuple[Var, Expr]:
        """The buffer and the index of a load, or of an ``address_of`` of one; of a vector the first index. Raises
        UnsupportedError for anything else."""
        if op_name(node) == "address_of":
            node = node.args[0]
        if not isinstance(node, TensorLoad):
            return refuse(node, self.dialect.kind, what="the address of what is no element")
        (index,) = node.indices
        return node.source, getattr(index, "base", index)

    # -- leaves -------------------------------------------------------------------------------------------------

    def integer_value(self, node: Any) -> Text:
        dtype = dtype_of(node)
        if dtype == "bool":
            return self.boolean(bool(int(node.value)))
        if dtype not in FACTS:
            return refuse(node, self.dialect.kind, what=f"a constant of type {dtype}")
        return self.integer(int(node.value), dtype)

    def floating_value(self, node: Any) -> Text:
        dtype = dtype_of(node)
        self.type_of(dtype, node)
        return self.floating(float(node.value), dtype)

    def variable_value(self, node: Var) -> Text:
        """What stands for a variable. Raises LoweringError for one that nothing has declared."""
        name = self.variables.get(node)
        if name is None:
            raise LoweringError(
                f"the variable {node.name} is used where it is not defined",
                location=location_of_span(getattr(node, "span", None)),
                hint="a pass lost it: TILECORE_CHECK=1 names which; please report it",
            )
        return name

    def load_value(self, node: TensorLoad) -> Text:
        """One element that is read. Raises UnsupportedError for a vector."""
        if dtype_of(node) not in FACTS:
            hint = "vectors are only moved from buffer to buffer"
            return refuse(node, self.dialect.kind, hint, "a vector as a value")
        (index,) = node.indices
        return self.element(node.source, index)

    def let_value(self, node: Any) -> Text:
        """The value is emitted in place of the variable, as it has no side effects."""
        self.variables[node.var] = Text(within(self.value(node.value), PRIMARY))
        self.bounds.bind_value(node.var, node.value)
        return self.value(node.body)

    # -- operators ----------------------------------------------------------------------------------------------

    def call_value(self, node: Call) -> Text:
        """A call with a value, by the dialect's own function. Raises UnsupportedError for one that has none."""
        name = op_name(node)
        emit_value = self.dialect.values.get(name)
        if emit_value is None:
            return refuse(node, self.dialect.kind)
        return check_text(emit_value(self, node), self.dialect.kind, "Text", f"Dialect.values[{name!r}]")

    def cast_value(self, node: Any) -> Text:
        """A conversion between element types. Numbers that are known are converted here."""
        return conversions.cast_value(self, node)

    def arithmetic_value(self, node: Any) -> Text:
        """A sum, a difference, a product or a shift to the left; integers wrap."""
        return arithmetic.arithmetic(self, node)

    def division_value(self, node: Any) -> Text:
        """A division towards zero, or its remainder."""
        return arithmetic.division(self, node)

    def floor_division_value(self, node: Any) -> Text:
        """A division rounded down, or its remainder."""
        return arithmetic.floor_division(self, node)

    def extreme_value(self, node: Any) -> Text:
        """The smaller or the larger of two; of floats the one that is a number."""
        return arithmetic.extreme(self, node)

    def comparison_value(self, node: Any) -> Text:
        return arithmetic.compare(self, node)

    def bits_value(self, node: Any) -> Text:
        """Bitwise and, or, exclusive or, and shifts to the right."""
        return arithmetic.bits(self, node)

    def complement_value(self, node: Any) -> Text:
        """Every bit inverted; of a bool its opposite."""
        return arithmetic.bitwise_not(self, node)

    def and_value(self, node: Any) -> Text:
        return choices.conjunction(self, node)

    def or_value(self, node: Any) -> Text:
        return choices.disjunction(self, node)

    def not_value(self, node: Any) -> Text:
        return self.unary("!", self.value(node.a))

    def select_value(self, node: Any) -> Text:
        """One of two values by a condition."""
        return choices.chosen(self, node.condition, node.true_value, node.false_value)
