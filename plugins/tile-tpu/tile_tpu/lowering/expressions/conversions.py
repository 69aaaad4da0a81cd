"""Conversions of element types as the language defines them.

The tensor unit's cast saturates. In the language integers wrap, and floats beyond the range of float16 and bfloat16
become infinite. With ``tl.enable_fast_math`` the results for floats are those of the unit (65504 for larger numbers).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_tpu.ir.views import stored
from tile_tpu.lowering.commands.frames import NotTensor, Tile
from tile_tpu.lowering.expressions.integers import same_bits
from tile_tpu.lowering.expressions.selects import compare, if_zero
from tilecore.dtypes import FACTS
from tilecore.ir.build import const
from tilecore.ir.nodes import Expr

if TYPE_CHECKING:
    from tile_tpu.lowering.expressions.values import Values

# the largest float32 that rounds to a finite number of the type; larger numbers become infinite
_LAST = {"float16": 65519.99609375, "bfloat16": 3.3961775292304957e38}


def converted(values: Values, tile: Tile, dtype: str, source: str) -> Tile:
    """The values of ``tile`` converted from ``source`` to ``dtype``. Raises NotTensor where the unit cannot convert."""
    if dtype == source:
        return tile
    source = stored(source)
    if dtype == source:
        return tile
    if dtype == "bool":
        return if_zero(values, tile, const(0, "uint8"), const(1, "uint8"), "uint8")
    for element_type in (dtype, source):
        if element_type not in FACTS or FACTS[element_type].bits not in (8, 16, 32) or element_type == "bool":
            raise NotTensor(f"the tensor unit does not convert {source} to {dtype}")
    if values.emit.chip.lacks(dtype) or values.emit.chip.lacks(source):
        raise NotTensor(f"{values.emit.chip.name} does not support fp8")
    from_float, to_float = (FACTS[element_type].kind == "float" for element_type in (source, dtype))
    if not from_float and not to_float:
        return _integers(values, tile, dtype, source)
    if dtype == "bfloat16" and source in ("int32", "uint32"):
        tile = _round_to_odd(values, tile, source)
    if source != "float32" and dtype != "float32":  # one of them is narrow: convert through float32
        return converted(values, converted(values, tile, "float32", source), dtype, "float32")
    if from_float and to_float:
        return _floats(values, tile, dtype)
    return values.emit.cast(tile, dtype, "zero" if from_float else "even")


def _floats(values: Values, tile: Tile, dtype: str) -> Tile:
    """Converts float32 to another float type, or another float type to float32."""
    cast_tile = values.emit.cast(tile, dtype)
    if dtype not in _LAST or values.emit.fast:
        return cast_tile
    last = [const(sign * _LAST[dtype], "float32") for sign in (1, -1)]
    above = compare(values, "greater", tile, last[0], _infinite(dtype, 1), cast_tile, dtype)
    return compare(values, "greater", last[1], tile, _infinite(dtype, -1), above, dtype)


def _round_to_odd(values: Values, tile: Tile, source: str) -> Tile:
    """Rounds integers that float32 does not represent to 24 bits, with a sticky last bit (round to odd). So the second
    rounding, to bfloat16, gives the result of a single rounding."""
    eight, most = const(8, source), const(1 << 24, source)
    rest = values.apply("and", [tile, const(255, source)], source)
    some = compare(values, "greater", rest, const(0, source), const(1, source), const(0, source), source)
    high = values.apply("or", [values.apply("shift_right", [tile, eight], source), some], source)
    odd = values.apply("shift_left", [high, eight], source)
    rounded = compare(values, "greater", tile, most, odd, tile, source)
    if source == "uint32":
        return rounded
    return compare(values, "greater", const(-(1 << 24), source), tile, odd, rounded, source)


def _infinite(dtype: str, sign: int) -> Expr:
    return const(sign * float("inf"), dtype)


def _integers(values: Values, tile: Tile, dtype: str, source: str) -> Tile:
    to, old = FACTS[dtype], FACTS[source]
    signed_to, signed_old = to.kind == "int", old.kind == "int"
    if to.bits > old.bits and (signed_to or not signed_old):
        return values.emit.cast(tile, dtype)
    if to.bits == old.bits:
        return same_bits(values, tile, dtype)
    if to.bits == 32:  # a signed type to uint32
        return same_bits(values, values.emit.cast(tile, "int32"), dtype)
    mask = (1 << to.bits) - 1
    if source == "uint32":
        tile = values.apply("and", [tile, const(mask, "uint32")], "uint32")
    whole = tile if source == "int32" else values.emit.cast(tile, "int32")
    if signed_to:
        for name in ("shift_left", "shift_right"):
            whole = values.apply(name, [whole, const(32 - to.bits, "int32")], "int32")
    elif source != "uint32":
        whole = values.apply("and", [whole, const(mask, "int32")], "int32")
    return values.emit.cast(whole, dtype)
