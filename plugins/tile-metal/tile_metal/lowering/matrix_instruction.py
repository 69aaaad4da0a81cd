"""The matrix product of a simdgroup: 8 x 8 x 8, of half, bfloat or float, with sums in float32.

The Metal Shading Language Specification (6.7, "SIMD-Group Matrix Functions") leaves open which lane holds which element
of a ``simdgroup_matrix``. There is one assignment on all chips so far, the same for all operands and element types, on
which MLX, PyTorch and metal-flash-attention rely. With

    r = 4 (lane / 16) + lane / 2 % 4        c = 2 (lane / 8 % 2) + lane % 2
    row = r                                 column = 2 c + e

for the element e of the two in a lane. So a row lies in the four lanes that differ in the bits 0 and 3. The order of k
is free as long as A and B agree, and so is the assignment of the tile's rows and columns to the products of one lane. So
that lanes load more than two elements at once, an instruction here is up to two products along M, N and K
(``along_m``, ``along_n``, ``along_k``), whose elements are neighbours. For the products i, j and p:

    A: row along_m r + i, k = along_k (2 c + e) + p        B: k = along_k r + p, column along_n 2 c + 2 j + e
    C: row along_m r + i, column along_n 2 c + 2 j + e

A lane has 2 along_n neighbours of a row of C and 2 along_k neighbours of a row of A, so where the two are equal a
result is an operand A of the next product as it is: attention keeps its weights in registers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout

SIZE = 8  # rows, columns and depth of one product
LANES = 32
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
    """C of ``rows`` x ``columns`` += A of ``rows`` x ``depth`` times B of ``depth`` x ``columns``, by one simdgroup.

    a, b: the element types of the operands in registers. factor: the type in which both are multiplied. along_m,
    along_n, along_k: the products along M, N and K. b_along_k: neighbours along K of B follow one another in registers,
    else neighbours along N do. c: the type of the sums.
    """

    a: str
    b: str
    factor: str
    along_m: int = 1
    along_n: int = 1
    along_k: int = 1
    b_along_k: bool = False
    c: str = "float32"

    @property
    def name(self) -> str:
        return f"{self.rows}x{self.columns}x{self.depth}_{self.factor}"

    @property
    def rows(self) -> int:
        return SIZE * self.along_m

    @property
    def columns(self) -> int:
        return SIZE * self.along_n

    @property
    def depth(self) -> int:
        return SIZE * self.along_k

    @property
    def word(self) -> int:
        """The elements of A in a lane that are contiguous along K."""
        return 2 * self.along_k

    @property
    def products(self) -> tuple[int, int, int]:
        return self.along_m, self.along_n, self.along_k

    @cached_property
    def accumulator(self) -> FragmentLayout:
        rows = _row_digits(0, self.along_m, 2 * self.along_n)
        return FragmentLayout((self.rows, self.columns), LANES, rows + _column_digits(1, 2 * self.along_n, 1))

    @cached_property
    def operand_a(self) -> FragmentLayout:
        digits = _row_digits(0, self.along_m, 1) + _column_digits(1, 2 * self.along_k, self.along_m)
        return FragmentLayout((self.rows, self.depth), LANES, digits)

    @cached_property
    def operand_b(self) -> FragmentLayout:
        strides = (1, self.along_k) if self.b_along_k else (2 * self.along_n, 1)
        digits = _row_digits(0, self.along_k, strides[0]) + _column_digits(1, 2 * self.along_n, strides[1])
        return FragmentLayout((self.depth, self.columns), LANES, digits)

    def widened(self, along_m: int, along_n: int, along_k: int) -> SimdgroupInstruction:
        """So many products along M, N and K, of neighbouring elements."""
        return replace(self, along_m=along_m, along_n=along_n, along_k=along_k)


def _row_digits(axis: int, each: int, stride: int) -> tuple[Digit, ...]:
    """The index of an axis of which a lane has ``each`` neighbours by its r. stride: of these in registers."""
    return (
        Digit(axis, 1, each, REGISTER, stride),
        Digit(axis, each, 4, THREAD, 2),
        Digit(axis, 4 * each, 2, THREAD, 16),
    )


def _column_digits(axis: int, each: int, stride: int) -> tuple[Digit, ...]:
    """The index of an axis of which a lane has ``each`` neighbours by its c. stride: of these in registers."""
    return (
        Digit(axis, 1, each, REGISTER, stride),
        Digit(axis, each, 2, THREAD, 1),
        Digit(axis, 2 * each, 2, THREAD, 8),
    )


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
