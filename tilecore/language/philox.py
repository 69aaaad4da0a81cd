"""The random number generator Philox4x32-10.

J. K. Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

The number at position p of a sequence is word p % 4 of the block whose counter is (p // 4 as 64 bits, sequence as 64
bits) and whose key is the seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.ir.nodes import Cast, Expr, tirx
from tilecore.language.values import as_expr

if TYPE_CHECKING:
    from tilecore.tracing.builder import Builder

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_MASK = 0xFFFFFFFF


def halves(value: Expr) -> tuple[Expr, Expr]:
    """The low and the high 32 bits of an int64, as uint32."""
    low = Cast("uint32", value & tirx.const(_MASK, "int64"))
    return low, Cast("uint32", (value >> tirx.const(32, "int64")) & tirx.const(_MASK, "int64"))


def word(builder: Builder, key: tuple[Expr, Expr], position: Expr, sequence: Expr) -> Expr:
    """The number at a position of a sequence: word ``position % 4`` of block ``position // 4``."""
    block = position >> tirx.const(2, "int64")
    words = philox(builder, (*halves(block), *halves(sequence)), key)
    which = Cast("int32", position & tirx.const(3, "int64"))
    chosen: Any = words[3]
    for index in (2, 1, 0):
        chosen = tirx.Select(as_expr(which == index), words[index], chosen)
    return builder.bind("random", chosen)


def philox(builder: Builder, counter: tuple[Expr, ...], key: tuple[Expr, Expr]) -> list[Expr]:
    """The four uint32 that Philox4x32-10 gives for a counter of four and a key of two uint32."""
    c0, c1, c2, c3 = (builder.bind("c", lane) for lane in counter)
    for round_index in range(_ROUNDS):
        k0, k1 = (k + tirx.const(w * round_index & _MASK, "uint32") for k, w in zip(key, _WEYL, strict=True))
        high0, low0 = _product(builder, c0, _MULTIPLIERS[0])
        high1, low1 = _product(builder, c2, _MULTIPLIERS[1])
        c0, c1 = builder.bind("c", tirx.BitwiseXor(tirx.BitwiseXor(high1, c1), k0)), low1
        c2, c3 = builder.bind("c", tirx.BitwiseXor(tirx.BitwiseXor(high0, c3), k1)), low0
    return [c0, c1, c2, c3]


def _product(builder: Builder, value: Expr, factor: int) -> tuple[Expr, Expr]:
    """High and low half of a product of two uint32."""
    product = builder.bind("product", Cast("uint64", value) * tirx.const(factor, "uint64"))
    high = builder.bind("high", Cast("uint32", product >> tirx.const(32, "uint64")))
    return high, builder.bind("low", Cast("uint32", product))
