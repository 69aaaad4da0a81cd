"""Checks calls against the tables of calls: the number of their arguments, the kind and type of each, and the result.

The tables are thread_calls.py and, for operations on tiles, tile_op_table.py. Calls that neither has are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilecore.dtypes import FACTS
from tilecore.ir.build import dtype_of, op_name
from tilecore.ir.nodes import Call, IntImm, StringImm, TensorLoad, TensorRegion, Var, is_buffer_var
from tilecore.ir.thread_calls import THREAD_CALLS, TYPE_WORDS, Argument, ThreadCall, argument_of_same_type
from tilecore.ir.tile_op_table import PREFIX, TILE_OPS

_LANES = re.compile(r"x\d+$")
_KINDS_OF_OPERANDS = {"region": "region", "expr": "value", "load": "element", "int": "int", "str": "str", "any": "any"}


@dataclass(frozen=True)
class WrongCall:
    """A call that does not fit its row. found: what it has, expected: what its row says."""

    found: str
    expected: str


def wrong_call(node: Call) -> WrongCall | None:
    """What is wrong with a call, by its row in the table of thread IR or of tile operations; None where nothing is."""
    name = op_name(node)
    call = THREAD_CALLS.get(name)
    if call is None:
        operation = TILE_OPS.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
        if operation is None:
            return None
        arguments, result = tuple(map(_argument_of, operation.operands)), ""
        call = ThreadCall(name, arguments, result, "")
    arguments = call.arguments
    takes_rest = bool(arguments) and arguments[-1].kind.endswith("*")
    required = len(arguments) - takes_rest
    count = len(node.args)
    if count < required or (count > required and not takes_rest):
        number = f"{required} or more arguments" if takes_rest else _counted(required)
        return WrongCall(f"{_as_text(name, node)}: {_counted(count)}", f"{call.signature()}: {number}")
    for position, value in enumerate(node.args):
        argument = arguments[min(position, len(arguments) - 1)]
        expected = _misfit(value, argument, call, node.args)
        if expected:
            name_of_argument = f"argument {argument.name} of {call.signature()}"
            found = f"{_as_text(name, node)}: {_kind_of(value)} as {argument.name}"
            return WrongCall(found, f"{expected} as {name_of_argument}")
    expected = _wrong_result(node, call)
    if expected:
        return WrongCall(f"{_as_text(name, node)}, whose type is {_type_of(node)}", f"the type {expected}")
    return None


def _counted(count: int) -> str:
    return f"{count} argument{'s' * (count != 1)}"


def _argument_of(operand: str) -> Argument:
    """An operand of a tile operation as an argument of a call."""
    name, _, kind = operand.partition(":")
    is_rest = kind.endswith("*")
    return Argument(name, _KINDS_OF_OPERANDS[kind.rstrip("*")] + "*" * is_rest, "")


def _misfit(value: Any, argument: Argument, call: ThreadCall, values: Sequence[Any]) -> str:
    """What the argument must be, where ``value`` is something else; "" where it fits."""
    kind = argument.kind.rstrip("*")
    if kind in ("int", "str"):
        return _wrong_constant(value, argument)
    if kind == "region":
        return "" if isinstance(value, TensorRegion) else "a region of a buffer"
    if kind == "buffer":
        return "" if isinstance(value, Var) and is_buffer_var(value) else "a buffer"
    if kind == "element":
        return "" if _is_element(value) else "an element: a load, or address_of a load"
    if kind == "value" and not argument.kind.endswith("*") and isinstance(value, (StringImm, TensorRegion)):
        return "a value"
    return _wrong_type(value, argument, call, values)


def _wrong_constant(value: Any, argument: Argument) -> str:
    is_constant = isinstance(value, IntImm if argument.kind == "int" else StringImm)
    if is_constant and (not argument.choices or str(value.value) in argument.choices):
        return ""
    constant = "a constant integer" if argument.kind == "int" else "a constant str"
    return f"one of {', '.join(argument.choices)}" if argument.choices else constant


def _is_element(value: Any) -> bool:
    """A load, an ``address_of`` of one, or a call of a backend's own that stands for an element."""
    if op_name(value) == "address_of":
        return len(value.args) == 1 and isinstance(value.args[0], TensorLoad)
    return isinstance(value, (TensorLoad, Call))


def _wrong_type(value: Any, argument: Argument, call: ThreadCall, values: Sequence[Any]) -> str:
    """The type that the argument must have, where ``value`` has another."""
    other = argument_of_same_type(argument.dtype)
    if other:
        position = [each.name for each in call.arguments].index(other)
        expected = _type_of(values[position])
        return f"{expected}, the type of {other}," if expected and _type_of(value) != expected else ""
    if not argument.dtype:
        return ""
    dtype = _type_of(value)
    if argument.dtype in TYPE_WORDS:
        kinds = TYPE_WORDS[argument.dtype]
        return "" if dtype in FACTS and FACTS[dtype].kind in kinds else argument.dtype
    return "" if dtype == argument.dtype else argument.dtype


def _wrong_result(node: Call, call: ThreadCall) -> str:
    """The type that the call must have, where it has another; "" where its row does not say one type."""
    other = argument_of_same_type(call.result)
    if other:
        position = [each.name for each in call.arguments].index(other)
        expected = _type_of(node.args[position])
    else:
        expected = call.result if call.result in FACTS else ""
    return expected if expected and _type_of(node) != expected else ""


def _type_of(value: Any) -> str:
    """The element type of a value, also of a vector or of the element that an ``address_of`` names."""
    if op_name(value) == "address_of" and value.args:
        value = value.args[0]
    if isinstance(value, (TensorRegion, StringImm)):
        return ""
    return _LANES.sub("", dtype_of(value))


def _kind_of(value: Any) -> str:
    if isinstance(value, StringImm):
        return f"the str {value.value!r}"
    if isinstance(value, TensorRegion):
        return f"a region of {value.source.name}"
    if isinstance(value, TensorLoad):
        return f"a load of {value.source.name}, {_type_of(value)},"
    constant = f"the constant {value.value}, " if isinstance(value, IntImm) else ""
    return f"{constant}a value of type {dtype_of(value)}"


def _as_text(name: str, node: Call) -> str:
    """The call as text, on one line."""
    text = f"{name}({', '.join(' '.join(str(value).split()) for value in node.args)})"
    return text if len(text) <= 120 else text[:117] + "..."
