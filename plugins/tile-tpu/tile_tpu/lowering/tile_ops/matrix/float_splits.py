"""Splits float32 matrices into sums of bfloat16 matrices, whose products the matrix unit accumulates in float32.

bfloat16 has the exponents of float32 and 8 bits of its 24-bit significand, so three parts represent a number exactly
(except for bits below the smallest subnormal). Of the nine products of parts the three smallest are left out; they are
of the size of a float32 rounding error. Two parts and three products keep 16 bits, more than the 11 of tf32. (G. Henry,
P. T. P. Tang, A. Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
Computations", ARITH 2019.)

The unit also multiplies float32 matrices directly, but in another layout and, by the shape of its cube, at 1/32 of the
rate for bfloat16. An infinite operand becomes the largest bfloat16, as in every conversion to a narrower float on these
chips.
"""

from __future__ import annotations

from tile_tpu.ir.views import View
from tile_tpu.lowering.tile_ops.emitter import Work, constant_shape_of


def split(work: Work, value: View, parts: int) -> list[View]:
    """Aligned bfloat16 matrices whose sum is the float32 matrix ``value``, the largest first."""
    shape = constant_shape_of(value)
    rest = value
    matrices = []
    for number in range(parts):
        part = work.room(shape, "bfloat16", f"part{number}")
        work.emit("cast", part, rest, "even")
        matrices.append(part)
        if number < parts - 1:
            wide = work.room(shape, "float32", "rest")
            work.emit("cast", wide, part, "even")
            work.emit("sub", wide, rest, wide)
            rest = wide
    return matrices


def pairs(left: list[View], right: list[View]) -> list[tuple[View, View]]:
    """The products that are kept, the smallest first: parts i and j with i + j less than the number of parts."""
    count = len(left)
    ranked = [(i + j, i, j) for i in range(count) for j in range(count) if i + j < count]
    return [(left[i], right[j]) for _, i, j in sorted(ranked, reverse=True)]
