"""Products of 8-bit integers. The matrix unit takes two signed or two unsigned operands.

For a signed and an unsigned operand, the unsigned one is split into its lower seven bits and its highest bit, both as
signed bytes: u = (u & 127) - int8(u & 128), where int8(128) is -128.
"""

from __future__ import annotations

from collections.abc import Iterator

from tile_tpu.ir.views import View
from tile_tpu.lowering.tile_ops.emitter import Work, constant_shape_of
from tilecore.ir.build import const

_DEEPEST = (2**31 - 1) // 255**2  # the largest depth for unsigned operands: the unit accumulates in int32


RESULTS = ("int32", "uint32")


def declines(a: str, b: str, c: str, depth: int) -> str | None:
    """The reason why a product of (M, depth) bytes ``a`` and (depth, N) bytes ``b`` cannot be stored as ``c``; None
    where it can."""
    if c == "uint32" and "int8" in (a, b):
        return "products of signed bytes are accumulated in int32 only"
    if a == b == "uint8" and depth > _DEEPEST:
        return f"sums of more than {_DEEPEST} products of unsigned bytes do not fit into int32"
    return None


def products(work: Work, left: View, right: View) -> Iterator[tuple[View, View, bool]]:
    """The products whose sum is left @ right: (left, right, whether it is subtracted)."""
    if left.dtype == right.dtype:
        yield left, right, False
        return
    for mask, minus in ((127, False), (128, True)):
        if left.dtype == "uint8":
            yield _masked(work, left, mask), right, minus
        else:
            yield left, _masked(work, right, mask), minus


def _masked(work: Work, value: View, mask: int) -> View:
    masked = work.room(constant_shape_of(value), "int8", f"{value.buffer.name}_bits")
    work.emit("and", masked, value, const(mask, "uint8"))
    return masked
