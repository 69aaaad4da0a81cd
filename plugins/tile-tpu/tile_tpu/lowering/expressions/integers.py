"""Operators of integers: bits, shifts, and division by powers of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_tpu.lowering.commands.frames import NotTensor, Tile, Value
from tilecore.dtypes import FACTS
from tilecore.ir.build import const, constant

if TYPE_CHECKING:
    from tile_tpu.lowering.expressions.values import Values

# by the class of the node
OPERATORS = {
    "BitwiseAnd": "and", "BitwiseOr": "or", "BitwiseXor": "xor", "LShift": "shift_left", "RShift": "shift_right",
}  # fmt: skip
_DIVISIONS = ("FloorDiv", "FloorMod", "Div", "Mod")


def is_integer_operator(name: str, dtype: str) -> bool:
    return name in OPERATORS or name == "BitwiseNot" or (name in _DIVISIONS and FACTS[dtype].kind != "float")


def integer_operator(values: Values, node: Any, dtype: str) -> Value:
    """A bitwise operator, a shift or a division of integers. Raises NotTensor."""
    name = type(node).__name__
    if name == "BitwiseNot":
        return values.apply("xor", [values.value(node.a), const(_all_ones(dtype), dtype)], dtype)
    if name in _DIVISIONS:
        return _divided(values, name, node.a, node.b, dtype)
    a, b = values.value(node.a), values.value(node.b)
    if not name.endswith("Shift"):
        return values.apply(OPERATORS[name], [a, b], dtype)
    a = values.emit.as_tile(a, dtype)
    if isinstance(b, Tile):
        signed = dtype.removeprefix("u")
        b = same_bits(values, b, signed)
        if name == "RShift":  # the unit shifts to the right by negative amounts
            b = values.apply("sub", [const(0, signed), b], signed)
    return values.apply(OPERATORS[name], [a, b], dtype)


def same_bits(values: Values, tile: Tile, dtype: str) -> Tile:
    """The bits of each element as another type of the same size."""
    if tile.dtype == dtype:
        return tile
    copy = values.emit.new(tile.axes, dtype)
    values.emit.emit("copy", copy.view, tile.view)
    return copy


def _divided(values: Values, name: str, a: Any, b: Any, dtype: str) -> Tile:
    """A quotient or remainder by a power of two. Quotients of negative numbers must be rounded down. Raises
    NotTensor."""
    divisor = constant(b)
    if divisor is None or divisor < 1 or divisor & (divisor - 1):
        raise NotTensor("the tensor unit divides integers by constant powers of two only")
    if name in ("Div", "Mod") and FACTS[dtype].kind == "int":
        raise NotTensor("the tensor unit does not divide signed integers towards zero")
    if name.endswith("Mod"):
        return values.apply("and", [values.value(a), const(divisor - 1, dtype)], dtype)
    return values.apply("shift_right", [values.tile(a), const(divisor.bit_length() - 1, "int32")], dtype)


def _all_ones(dtype: str) -> int:
    return -1 if FACTS[dtype].kind == "int" else (1 << FACTS[dtype].bits) - 1
