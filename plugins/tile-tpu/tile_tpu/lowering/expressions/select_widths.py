"""Selects on chips that compare and choose elements of one width only: the narrower ones are widened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_tpu.lowering.commands.frames import Tile
from tile_tpu.lowering.expressions.integers import same_bits
from tilecore.dtypes import FACTS

if TYPE_CHECKING:
    from tile_tpu.lowering.expressions.values import Value, Values

Pair = tuple["Value", "Value"]


def of_one_width(values: Values, test: str, compared: Pair, chosen: Pair, kind: str, dtype: str) -> Tile:
    """``chosen[0] if compared[0] test compared[1] else chosen[1]``. kind: the type of what is compared; dtype: of what
    is chosen, whose bits go through wider integers where it is the narrower one."""
    from tile_tpu.lowering.expressions.conditions import compare
    from tile_tpu.lowering.expressions.conversions import cast

    have, want = FACTS[kind].bits, FACTS[dtype].bits
    if have < want:
        wide = f"float{want}" if FACTS[kind].kind == "float" else f"int{want}"
        a, b = (values.as_type(value, wide, kind) for value in compared)
        return compare(values, test, a, b, *chosen, dtype)
    bits, wide = f"uint{want}", f"int{have}"

    def widened(value: Value) -> Tile:
        return cast(values, same_bits(values, values.emit.as_tile(value, dtype), bits), wide)

    yes, no = map(widened, chosen)
    made = compare(values, test, *compared, yes, no, wide)
    return same_bits(values, cast(values, made, bits), dtype)
