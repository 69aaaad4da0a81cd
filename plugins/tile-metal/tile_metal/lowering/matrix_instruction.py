"""The matrix product of a simdgroup: 8 x 8 x 8, of half, bfloat or float, with sums in float32.

The Metal Shading Language Specification (6.7, "SIMD-Group Matrix Functions") leaves open which lane holds which element
of a ``simdgroup_matrix``. There is one assignment on all chips so far, the same for all operands and element types, on
which MLX, PyTorch and metal-flash-attention rely:

    row = 4 (lane / 16) + lane / 2 % 4        column = 4 (lane / 8 % 2) + 2 (lane % 2) + e

for the element e of the two in a lane. So a result is an operand A of the next product as it is, and a row lies in
lanes that differ in the bits 0 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout

SIZE = 8  # rows, columns and depth
LAYOUT = FragmentLayout(
    (SIZE, SIZE),
    32,
    (
        Digit(0, 1, 4, THREAD, 2),
        Digit(0, 4, 2, THREAD, 16),
        Digit(1, 1, 2, REGISTER, 1),
        Digit(1, 2, 2, THREAD, 1),
        Digit(1, 4, 2, THREAD, 8),
    ),
)
# the largest product of two elements, for integers: so many of them sum up exactly in float32
_LARGEST = {"int8": 128, "uint8": 255}
_EXACT_IN_HALF = frozenset(
    {
        "float16", "int8", "uint8", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
        "float4_e2m1fn",
    }
)  # fmt: skip
_EXACT_IN_FLOAT = _EXACT_IN_HALF | {"bfloat16", "float32"}
_EXACT_SUMS = 1 << 24  # of float32


@dataclass(frozen=True)
class SimdgroupInstruction:
    """C of 8 x 8 += A of 8 x 8 times B of 8 x 8, by one simdgroup.

    a, b: the element types of the operands in registers. factor: the type in which both are multiplied. c: of the sums.
    """

    a: str
    b: str
    factor: str
    c: str = "float32"

    rows = columns = depth = SIZE
    word = 2
    operand_a = operand_b = accumulator = LAYOUT

    @property
    def name(self) -> str:
        return f"8x8x8_{self.factor}"


def factor_of(a: str, b: str, native_bfloat: bool) -> str | None:
    """The type in which elements of two types are multiplied, which holds each of them exactly; None where none does.

    native_bfloat: the GPU computes with bfloat16. Others emulate it, and a bfloat16 becomes a float32 by a shift.
    """
    if {a, b} <= _EXACT_IN_HALF:
        return "float16"
    if a == b == "bfloat16" and native_bfloat:
        return "bfloat16"
    return "float32" if {a, b} <= _EXACT_IN_FLOAT else None


def exact_depth(a: str, b: str) -> int:
    """The largest K for which float32 sums of products of integers are exact; 0 for other types."""
    if a not in _LARGEST or b not in _LARGEST:
        return 0
    return _EXACT_SUMS // (_LARGEST[a] * _LARGEST[b])
