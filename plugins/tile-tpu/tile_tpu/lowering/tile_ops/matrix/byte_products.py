"""Products of 8-bit integers: the matrix unit takes two signed or two unsigned operands.

Of one of each, the unsigned one is cut in its lower seven bits and its highest one, both signed: u = (u & 127) -
int8(u & 128), where int8 of 128 is -128.
"""

from __future__ import annotations

from collections.abc import Iterator

from tile_tpu.ir.views import View
from tile_tpu.lowering.tile_ops.emitter import Work, known_shape
from tilecore.ir.build import const

_DEEPEST = (2**31 - 1) // 255**2  # of unsigned operands: the unit's sum is a signed number of 32 bits


RESULTS = ("int32", "uint32")


def declines(a: str, b: str, c: str, depth: int) -> str | None:
    """Why there is no product of (M, depth) bytes ``a`` and (depth, N) bytes ``b`` in ``c``."""
    if c == "uint32" and "int8" in (a, b):
        return "products of signed bytes are added up in int32"
    if a == b == "uint8" and depth > _DEEPEST:
        return f"sums of more than {_DEEPEST} products of unsigned bytes do not fit into int32"
    return None


def products(work: Work, left: View, right: View) -> Iterator[tuple[View, View, bool]]:
    """(left, right, whether it is subtracted) of the products that make up left @ right."""
    if left.dtype == right.dtype:
        yield left, right, False
        return
    for mask, minus in ((127, False), (128, True)):
        if left.dtype == "uint8":
            yield _masked(work, left, mask), right, minus
        else:
            yield left, _masked(work, right, mask), minus


def _masked(work: Work, value: View, mask: int) -> View:
    masked = work.room(known_shape(value), "int8", f"{value.buffer.name}_bits")
    work.emit("and", masked, value, const(mask, "uint8"))
    return masked
