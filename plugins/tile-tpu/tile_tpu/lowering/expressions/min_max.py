"""max and min of floats as the language defines them: max and min of a NaN and a number are the number.

The unit's max and min give the NaN or the number, depending on the order of the operands (docs/notes.md). The ``a > b``
of a select does not hold where an operand is NaN. With ``tl.enable_fast_math`` the results are those of the unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_tpu.lowering.commands.frames import Tile, Value
from tile_tpu.lowering.expressions.selects import compare, if_number
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant
from tilecore.ir.nodes import FloatImm

if TYPE_CHECKING:
    from tile_tpu.lowering.expressions.values import Values


def extreme(values: Values, name: str, a: Value, b: Value, dtype: str) -> Tile:
    """The max or min (``name``) of two values of type ``dtype``, at least one of which is a tile."""
    if FACTS[dtype].bits < 16:  # compare in float32, choose the narrow elements
        first, second = (values.as_type(v, "float32", dtype) for v in (a, b))
        tests = (first, second) if name == "max" else (second, first)
        extremum = compare(values, "greater", *tests, a, b, dtype)
        return if_number(values, values.emit.as_tile(second, "float32"), extremum, a, dtype)

    if not isinstance(a, Tile) or is_number(values, a):
        a, b = b, a
    number = is_number(values, b)
    if values.emit.fast or (number and is_number(values, a)):
        extremum = values.apply(name, [a, b], dtype)
    elif number and name == "max" and not isinstance(b, Tile):
        extremum = values.apply(name, [a, b], dtype)  # with a scalar operand the instruction is right
    else:
        tests = (a, b) if name == "max" else (b, a)
        extremum = compare(values, "greater", *tests, a, b, dtype)
        if not number:
            extremum = if_number(values, values.emit.as_tile(b, dtype), extremum, a, dtype)
    if number:
        values.numbers.add(extremum.view.buffer)
    return extremum


def is_number(values: Values, value: Value) -> bool:
    """Whether the value is known to contain no NaN."""
    if isinstance(value, Tile):
        return value.view.buffer in values.numbers
    constant_value = float(value.value) if isinstance(value, FloatImm) else constant(value)
    return constant_value is not None and constant_value == constant_value
