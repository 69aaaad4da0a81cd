"""Select instructions: ``yes if a test b else no`` of computed values.

Some chips select only where the compared and the chosen elements have the same width. There the narrower elements are
widened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_tpu.lowering.commands.frames import Tile, Value
from tile_tpu.lowering.expressions.integers import same_bits
from tilecore.dtypes import FACTS
from tilecore.ir.build import const, dtype_of

if TYPE_CHECKING:
    from tile_tpu.lowering.expressions.values import Values

Pair = tuple[Value, Value]
COMPARED = ("float32", "float16", "bfloat16", "int32", "int16", "int8", "uint32", "uint16", "uint8")


def compare(values: Values, test: str, a: Value, b: Value, yes: Value, no: Value, dtype: str) -> Tile:
    """``yes if a test b else no``. test: "greater", "less" or "equal"; dtype: the type of yes and no."""
    compared_type = next((value.dtype for value in (a, b) if isinstance(value, Tile)), None) or dtype_of(a)
    if FACTS[compared_type].bits != FACTS[dtype].bits and not values.emit.chip.mixed_selects:
        return _of_one_width(values, test, (a, b), (yes, no), compared_type, dtype)
    tiles = [value for value in (a, b, yes, no) if isinstance(value, Tile)]
    axes = frozenset().union(*(tile.axes for tile in tiles))
    emit = values.emit
    operands = [emit.aligned(value, axes) if isinstance(value, Tile) else value for value in (a, b, yes, no)]
    result = emit.new(axes, dtype)
    emit.emit(f"select_{test}", result.view, *operands)
    return result


def _of_one_width(values: Values, test: str, compared: Pair, chosen: Pair, compared_type: str, dtype: str) -> Tile:
    """``chosen[0] if compared[0] test compared[1] else chosen[1]``. Where the chosen elements are the narrower ones,
    their bits go through wider integers."""
    compared_bits, chosen_bits = FACTS[compared_type].bits, FACTS[dtype].bits
    if compared_bits < chosen_bits:
        wide = f"float{chosen_bits}" if FACTS[compared_type].kind == "float" else f"int{chosen_bits}"
        a, b = (values.as_type(value, wide, compared_type) for value in compared)
        return compare(values, test, a, b, *chosen, dtype)
    bits, wide = f"uint{chosen_bits}", f"int{compared_bits}"

    def widened(value: Value) -> Tile:
        return values.emit.cast(same_bits(values, values.emit.as_tile(value, dtype), bits), wide)

    yes, no = map(widened, chosen)
    result = compare(values, test, *compared, yes, no, wide)
    return same_bits(values, values.emit.cast(result, bits), dtype)


def if_number(values: Values, x: Value, yes: Value, no: Value, dtype: str) -> Tile:
    """``yes`` where x, of floats, is a number; ``no`` where it is NaN, which the unit orders below minus infinity."""
    assert isinstance(x, Tile)
    return compare(values, "less", x, const(-float("inf"), x.dtype), no, yes, dtype)


def if_zero(values: Values, x: Tile, yes: Value, no: Value, dtype: str) -> Tile:
    """``yes`` where x is 0 or -0. NaN and subnormal numbers are not 0."""
    x = comparable(values, x)
    if FACTS[x.dtype].kind == "float":
        no = compare(values, "equal", x, const(-0.0, x.dtype), yes, no, dtype)
    return compare(values, "equal", x, const(0, x.dtype), yes, no, dtype)


def comparable(values: Values, x: Tile) -> Tile:
    """The values in a type that selects compare: narrow floats as float32."""
    return x if x.dtype in COMPARED else values.converted(x, "float32", x.dtype)
