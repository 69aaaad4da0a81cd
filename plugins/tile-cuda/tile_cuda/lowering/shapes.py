"""The matrix instructions ``mma.sync``: element types, sizes, architectures, and who holds which element.

PTX ISA, 9.7.15.5 "Matrix multiply-accumulate operation using mma instruction": the figures of "Matrix Fragments for
mma.m16n8k8" to "mma.m16n8k32" are one and the same when counted in words of 32 bits. With g = lane / 4, t = lane % 4
and E elements in a word (64 bits for float64):

    A, word w, element e: row g + 8 (w % 2), column 4 E (w / 2) + E t + e
    B, word w, element e: row 4 E w + E t + e, column g
    C, number i:          row g + 8 (i / 2), column 2 t + i % 2

The instructions of 8 rows have neither the second half of A's words nor that of C's numbers.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from tile_cuda.lowering.warps import WARP
from tilecore.dtypes import dtype as DType
from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout

# as the header spells element types
SHORT = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "int8": "s8",
    "uint8": "u8",
    "int32": "s32",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
}
COLUMNS = 8  # of B and C, in all of them


class _Fields(NamedTuple):
    rows: int
    depth: int
    a: str
    b: str
    c: str
    least: int


class Shape(_Fields):
    """One instruction: C of ``rows`` x 8 += A of ``rows`` x ``depth`` times B of ``depth`` x 8; its element types; the
    least architecture."""

    @property
    def name(self) -> str:
        """As the header calls it: m16n8k16_f16_f32."""
        kinds = (SHORT[self.a],) if self.a == self.b else (SHORT[self.a], SHORT[self.b])
        return "_".join([f"m{self.rows}n{COLUMNS}k{self.depth}", *kinds, SHORT[self.c]])

    @property
    def word(self) -> int:
        """E: elements of A or B in one word."""
        return max(1, 32 // DType(self.a).bits)

    @property
    def a_elements(self) -> int:
        """Elements of A that a thread holds."""
        return self.rows * self.depth // WARP

    @property
    def b_elements(self) -> int:
        return COLUMNS * self.depth // WARP

    @property
    def c_elements(self) -> int:
        return COLUMNS * self.rows // WARP

    @cached_property
    def accumulator(self) -> FragmentLayout:
        digits = [Digit(0, 1, 8, THREAD, 4), Digit(1, 1, 2, REGISTER, 1), Digit(1, 2, 4, THREAD, 1)]
        if self.rows > 8:
            digits.append(Digit(0, 8, 2, REGISTER, 2))
        return FragmentLayout((self.rows, COLUMNS), WARP, tuple(digits))

    @cached_property
    def operand_a(self) -> FragmentLayout:
        word, halves = self.word, self.rows // 8
        digits = (
            Digit(0, 1, 8, THREAD, 4),
            Digit(0, 8, halves, REGISTER, word),
            Digit(1, 1, word, REGISTER, 1),
            Digit(1, word, 4, THREAD, 1),
            Digit(1, 4 * word, self.depth // (4 * word), REGISTER, word * halves),
        )
        return FragmentLayout((self.rows, self.depth), WARP, digits)


SHAPES = (
    Shape(16, 16, "float16", "float16", "float32", 80),
    Shape(16, 16, "float16", "float16", "float16", 80),
    Shape(16, 16, "bfloat16", "bfloat16", "float32", 80),
)
