"""Emits calls that have a value: functions of the language, and operations across threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilecore.codegen import choices, conversions
from tilecore.codegen.arithmetic import NARROW, back, single, wrapped
from tilecore.codegen.conversions import convert
from tilecore.codegen.expressions import Expressions
from tilecore.codegen.refusal import refuse
from tilecore.codegen.returned_text import check_text
from tilecore.codegen.text import EQUALITY, SUM, Text
from tilecore.dtypes import FACTS
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import dtype_of, op_name
from tilecore.ir.contraction import negated
from tilecore.ir.thread_calls import ADDRESS, ATOMIC_ELEMENT, BLOCK_VOTE, DIRECTED, QUOTIENT, ROUNDED, SHUFFLE, VOTE

if TYPE_CHECKING:
    from tilecore.ir.nodes import Call

_UNSIGNED = {"int8": "uint8", "int16": "uint16", "int32": "uint32", "int64": "uint64"}
_ROUNDED = {"Add": "tc_rounded_add", "Sub": "tc_rounded_sub", "Mul": "tc_rounded_mul"}

# name of a call in thread IR -> the method that emits it; functions of Dialect.math are emitted by math_value
VALUE_CALLS: Mapping[str, str] = {
    "if_then_else": "if_then_else_value",
    "reinterpret": "reinterpret_value",
    "likely": "likely_value",
    ROUNDED: "rounded_value",
    DIRECTED: "directed_value",
    "abs": "abs_value",
    "fabs": "abs_value",
    "fma": "fma_value",
    "ldexp": "ldexp_value",
    "nextafter": "nextafter_value",
    **dict.fromkeys(("isnan", "isinf", "isfinite"), "test_value"),
    **dict.fromkeys(("popcount", "ctpop", "clz"), "bit_count_value"),
    **dict.fromkeys(("call_extern", "call_pure_extern"), "extern_value"),
    ADDRESS: "address_value",
    SHUFFLE: "shuffle_value",
    VOTE: "vote_value",
    BLOCK_VOTE: "block_vote_value",
    QUOTIENT: "quotient_value",
    ATOMIC_ELEMENT: "atomic_value",
}


class CallValues(Expressions):
    """Emits calls that have a value: a method for each."""

    def call_value(self, node: Call) -> Text:
        """By the dialect's own function, else by the method of its name, else as a function of Dialect.math. Raises
        UnsupportedError for a call that has none of them."""
        name = op_name(node)
        emit_value = self.dialect.values.get(name)
        if emit_value is not None:
            return check_text(emit_value(self, node), self.dialect.kind, "Text", f"Dialect.values[{name!r}]")
        method = VALUE_CALLS.get(name)
        text: Text = self.math_value(node) if method is None else getattr(self, method)(node)
        return text

    # -- functions of one thread --------------------------------------------------------------------------------

    def math_value(self, node: Call) -> Text:
        """A function of floats; the narrow ones go through float32. Raises UnsupportedError where there is none."""
        functions, dtype = self.dialect.math.get(op_name(node)), dtype_of(node)
        if functions is None or dtype not in FACTS or FACTS[dtype].kind != "float":
            return refuse(node, self.dialect.kind)
        text = self.function(functions[dtype == "float64"], *(single(self, arg, dtype) for arg in node.args))
        return back(self, text, dtype)

    def if_then_else_value(self, node: Call) -> Text:
        """One of two values, of which only the one chosen is evaluated."""
        return choices.chosen(self, *node.args)

    def reinterpret_value(self, node: Call) -> Text:
        """The bits of a value as another type of the same size."""
        return conversions.reinterpret(self, node)

    def likely_value(self, node: Call) -> Text:
        """A condition that mostly holds, as it is."""
        return self.value(node.args[0])

    def abs_value(self, node: Call) -> Text:
        """An absolute value; that of the least integer wraps."""
        dtype = dtype_of(node)
        if FACTS[dtype].kind == "float":
            name = self.dialect.math["fabs"][dtype == "float64"]
            return back(self, self.function(name, single(self, node.args[0], dtype)), dtype)
        value = self.value(node.args[0])
        if FACTS[dtype].kind != "int":
            return value
        text = self.function("tc_abs", value)
        return text if FACTS[dtype].bits >= 32 else wrapped(self, text, dtype)

    def rounded_value(self, node: Call) -> Text:
        """An operation that is not merged with those around it."""
        inner = node.args[0]
        if dtype_of(node) in NARROW or FACTS[dtype_of(node)].kind != "float":
            return self.value(inner)
        function = _ROUNDED.get(type(inner).__name__)
        if function is not None:
            return self.function(function, self.value(inner.a), self.value(inner.b))
        return self.function("tc_rounded", self.value(inner))

    def directed_value(self, node: Call) -> Text:
        """An operation in another rounding mode than to nearest."""
        mode, operation = (str(word.value) for word in node.args[:2])
        return self.function(f"tc_{operation}_{mode}", *(self.value(operand) for operand in node.args[2:]))

    def test_value(self, node: Call) -> Text:
        """isnan, isinf, isfinite."""
        dtype, name = dtype_of(node.args[0]), op_name(node)
        if FACTS[dtype].kind != "float":
            return self.boolean(name == "isfinite")
        if node.attrs is not None and CallAttr.COMPARED in node.attrs:
            return self._compared(node.args[0], dtype)
        return self.function(f"tc_{name}", single(self, node.args[0], dtype))

    def _compared(self, value: Any, dtype: str) -> Text:
        """``x != x``: a number equals itself."""
        wide = not self.dialect.forms.narrow_operators
        text = single(self, value, dtype) if wide else self.value(value)
        return self.typed_binary("!=", EQUALITY, text, text, "float32" if wide and dtype in NARROW else dtype)

    def fma_value(self, node: Call) -> Text:
        """A product and a sum, rounded once."""
        dtype = dtype_of(node)
        if dtype in ("float16", "bfloat16"):
            return self.function("tc_fma", *(self.value(arg) for arg in node.args))
        name = self.dialect.math["fma"][dtype == "float64"]
        return back(self, self.function(name, *(self._term(arg, dtype) for arg in node.args)), dtype)

    def _term(self, node: Any, dtype: str) -> Text:
        """An operand of a fused multiply-add; a negated one with a sign in front."""
        bare = negated(node)
        if bare is None or dtype in NARROW:
            return single(self, node, dtype)
        return self.unary("-", self.value(bare))

    def ldexp_value(self, node: Call) -> Text:
        """A float times a power of two."""
        dtype, power_type = dtype_of(node), dtype_of(node.args[1])
        power = convert(self, self.value(node.args[1]), power_type, "int32")
        name = self.dialect.math["ldexp"][dtype == "float64"]
        return back(self, self.function(name, single(self, node.args[0], dtype), power), dtype)

    def nextafter_value(self, node: Call) -> Text:
        """The next float on the way to another one."""
        dtype = dtype_of(node)
        name = "tc_nextafter" if dtype in NARROW else self.dialect.math["nextafter"][dtype == "float64"]
        return self.function(name, *(self.value(arg) for arg in node.args))

    def bit_count_value(self, node: Call) -> Text:
        """popcount and clz: of the type's own bits."""
        source, name = dtype_of(node.args[0]), op_name(node)
        bits = FACTS[source].bits
        if FACTS[source].kind == "float" or bits < 8:
            return refuse(node, self.dialect.kind, what=f"{name} of {source}")
        value = self.value(node.args[0])
        if source in _UNSIGNED:
            value = self.cast(_UNSIGNED[source], value)
        if bits < 32:
            value = self.cast("uint32", value)
        text = self.function("tc_clz" if name == "clz" else "tc_popcount", value)
        if name == "clz" and bits < 32:
            text = self.typed_binary("-", SUM, text, Text(str(32 - bits)), "int32")
        return convert(self, text, "int32", dtype_of(node))

    def extern_value(self, node: Call) -> Text:
        """A function of the user's own source text."""
        return self.function(str(node.args[0].value), *(self.value(arg) for arg in node.args[1:]))

    def address_value(self, node: Call) -> Text:
        """A pointer to an element."""
        return self.address(node.args[0])

    def quotient_value(self, node: Call) -> Text:
        """A float32 division by a number that divides many."""
        return self.function("tc_quotient", *(self.value(arg) for arg in node.args))

    # -- operations across threads ------------------------------------------------------------------------------

    def shuffle_value(self, node: Call) -> Text:
        """The value of another lane of the warp."""
        value, lane, kind, width = node.args
        text = self.value(value)
        if FACTS[dtype_of(value)].bits < 32:  # C has made an int of it
            text = self.cast(dtype_of(value), text)
        return self.function(f"tc_shuffle_{kind.value}", text, self.value(lane), self.value(width))

    def vote_value(self, node: Call) -> Text:
        """The predicates of a warp's lanes as one value."""
        return self.function(f"tc_vote_{node.args[1].value}", self.value(node.args[0]))

    def block_vote_value(self, node: Call) -> Text:
        """The predicates of a block's threads as one value, and a barrier."""
        return self.function(f"tc_block_vote_{node.args[1].value}", self.value(node.args[0]))

    def atomic_value(self, node: Call) -> Text:
        """One atomic operation on an element; its value before."""
        element, operand, kind, order = (node.args[0], node.args[1], str(node.args[2].value), str(node.args[3].value))
        dtype = dtype_of(element)
        operands = [convert(self, self.value(compared), dtype_of(compared), dtype) for compared in node.args[4:]]
        if kind != "load":
            operands.append(convert(self, self.value(operand), dtype_of(operand), dtype))
        return self.atomic(kind, element, operands, order)

    def atomic(self, kind: str, element: Any, operands: Sequence[Text], order: str) -> Text:
        """An atomic operation. kind: "add", "max", "cas", "load" and so on. element: a load, for
        :meth:`element_named`, or a call of the target's own. operands: what is compared first, then what is stored.
        order: of memory, by the language's name."""
        return self.function(f"tc_atomic_{kind}", self.address(element), *operands, *memory_order(order))


def memory_order(order: str) -> list[str]:
    """The last argument of an atomic function: the header's word, none for relaxed order."""
    return [] if order == "relaxed" else [f"tc_{'acquire' if order == 'consume' else order}"]
