"""The instructions ``mma.sync``: their element types, sizes, first architectures and fragment layouts.

PTX ISA, "Matrix multiply-accumulate operation using mma instruction": the fragments from "mma.m8n8k4 with .f64" to
"mma.m16n8k32" have one layout when they are counted in words of 32 bits. With g = lane / 4, t = lane % 4, E elements
in a word (one of 64 bits for float64) and H = rows / 8:

    A, word w, element e: row g + 8 (w % H), column 4 E (w / H) + E t + e
    B, word w, element e: row 4 E w + E t + e, column g
    C, register i:        row g + 8 (i / 2), column 2 t + i % 2

"Matrix Fragments for mma.m8n8k4 with .f16" (the instruction of sm_70) does four products at once, one for each value of
the lane's bits 2 and 3. Here it is one product with a 16 x 16 result: bit 2 selects the second 8 rows, bit 3 the second
8 columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tile_cuda.architectures import WARP
from tilecore.dtypes import dtype as DType
from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout

# element type -> its name in the header's functions
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


@dataclass(frozen=True)
class Shape:
    """One instruction: C of ``rows`` x ``columns`` += A of ``rows`` x ``depth`` times B of ``depth`` x ``columns``.

    a, b, c: element types (float32 operands are read as tf32). least: the first architecture with the instruction.
    """

    rows: int
    columns: int
    depth: int
    a: str
    b: str
    c: str
    least: int

    @cached_property
    def name(self) -> str:
        """The name in the header, such as m16n8k16_f16_f32."""
        shape = "m8n8k4" if self.is_quartered else f"m{self.rows}n{self.columns}k{self.depth}"
        operands = dict.fromkeys("tf32" if kind == "float32" else SHORT[kind] for kind in (self.a, self.b))
        return "_".join([shape, *operands, SHORT[self.c]])

    @property
    def is_quartered(self) -> bool:
        """Whether it is the instruction of sm_70, which does four products at once."""
        return self.columns == 16

    @cached_property
    def word(self) -> int:
        """E: the number of elements of A or B that are contiguous along K in a lane."""
        return self.depth if self.is_quartered else max(1, 32 // DType(self.a).bits)

    @cached_property
    def accumulator(self) -> FragmentLayout:
        if self.is_quartered:
            return _layout((16, 16), _QUARTERED_HALF if self.c == "float16" else _QUARTERED)
        digits = [Digit(0, 1, 8, THREAD, 4), Digit(1, 1, 2, REGISTER, 1), Digit(1, 2, 4, THREAD, 1)]
        return _layout((self.rows, 8), [*digits, Digit(0, 8, self.rows // 8, REGISTER, 2)])

    @cached_property
    def operand_a(self) -> FragmentLayout:
        if self.is_quartered:
            return _layout((16, 4), [*_eight_of_four_lanes(0), Digit(0, 8, 2, THREAD, 4), Digit(1, 1, 4, REGISTER, 1)])
        word, halves = self.word, self.rows // 8
        digits = [
            Digit(0, 1, 8, THREAD, 4),
            Digit(0, 8, halves, REGISTER, word),
            *_along_k(1, word, self.depth, halves),
        ]
        return _layout((self.rows, self.depth), digits)

    @cached_property
    def operand_b(self) -> FragmentLayout:
        if self.is_quartered:
            return _layout((4, 16), [*_eight_of_four_lanes(1), Digit(1, 8, 2, THREAD, 8), Digit(0, 1, 4, REGISTER, 1)])
        return _layout((self.depth, 8), [Digit(1, 1, 8, THREAD, 4), *_along_k(0, self.word, self.depth, 1)])


def _layout(shape: tuple[int, int], digits: list[Digit]) -> FragmentLayout:
    return FragmentLayout(shape, WARP, tuple(digits))


def _along_k(axis: int, word: int, depth: int, halves: int) -> list[Digit]:
    return [
        Digit(axis, 1, word, REGISTER, 1),
        Digit(axis, word, 4, THREAD, 1),
        Digit(axis, 4 * word, depth // (4 * word), REGISTER, word * halves),
    ]


def _eight_of_four_lanes(axis: int) -> list[Digit]:
    """Eight rows or columns: lanes 0 to 3 hold the first four, lanes 16 to 19 the second four."""
    return [Digit(axis, 1, 4, THREAD, 1), Digit(axis, 4, 2, THREAD, 16)]


_QUARTERS = [Digit(0, 8, 2, THREAD, 4), Digit(1, 8, 2, THREAD, 8)]
_QUARTERED = [
    Digit(0, 1, 2, THREAD, 1),
    Digit(0, 2, 2, REGISTER, 2),
    Digit(0, 4, 2, THREAD, 16),
    Digit(1, 1, 2, REGISTER, 1),
    Digit(1, 2, 2, THREAD, 2),
    Digit(1, 4, 2, REGISTER, 4),
    *_QUARTERS,
]
_QUARTERED_HALF = [*_eight_of_four_lanes(0), Digit(1, 1, 8, REGISTER, 1), *_QUARTERS]


def _all_shapes() -> Iterator[Shape]:
    """All instructions; of each combination of types, the deepest (largest K) comes first."""
    for c in ("float32", "float16"):
        yield Shape(16, 8, 16, "float16", "float16", c, 80)
        yield Shape(16, 8, 8, "float16", "float16", c, 75)
        yield Shape(16, 16, 4, "float16", "float16", c, 70)
    for depth in (16, 8):
        yield Shape(16, 8, depth, "bfloat16", "bfloat16", "float32", 80)
    for depth in (8, 4):
        yield Shape(16, 8, depth, "float32", "float32", "float32", 80)
    for a in ("int8", "uint8"):
        for b in ("int8", "uint8"):
            yield Shape(16, 8, 32, a, b, "int32", 80)
            yield Shape(16, 8, 16, a, b, "int32", 80)
            yield Shape(8, 8, 16, a, b, "int32", 75)
    for a in ("float8_e4m3fn", "float8_e5m2"):
        for b in ("float8_e4m3fn", "float8_e5m2"):
            for c in ("float32", "float16"):
                yield Shape(16, 8, 32, a, b, c, 89)
                yield Shape(16, 8, 16, a, b, c, 89)
    for depth in (16, 8, 4):
        yield Shape(16, 8, depth, "float64", "float64", "float64", 90)
    yield Shape(8, 8, 4, "float64", "float64", "float64", 80)


SHAPES = tuple(_all_shapes())


def shape_of(a: str, b: str, c: str, k: int, arch: int) -> Shape | None:
    """The instruction for these element types on an architecture; None for none.

    It is the one with the largest depth that divides ``k``; if no depth does, the one with the smallest depth.
    """
    fits = [s for s in SHAPES if (s.a, s.b, s.c) == (a, b, c) and s.least <= arch]
    if arch >= 75:
        fits = [s for s in fits if not s.is_quartered]  # emulated from sm_75 on
    newest = [s for s in fits if s.rows == max(f.rows for f in fits)]
    return next((s for s in newest if k % s.depth == 0), newest[-1] if newest else None)
