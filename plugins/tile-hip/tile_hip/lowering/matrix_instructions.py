"""The matrix instructions: MFMA of CDNA, WMMA of RDNA; their element types, sizes, chips and fragment layouts.

Sources: AMD's ISA documents "CDNA 2", "CDNA 3", "CDNA 4" (chapter "Matrix Arithmetic Instructions"), "RDNA 3" and
"RDNA 4" (section "Wave Matrix Multiply Accumulate"), and AMD's matrix instruction calculator, whose tables agree with
these formulas. With S = rows of the instruction's result, G = lanes / S and n = elements of A or B in a lane:

    MFMA         A: row lane % S, k = n (lane / S) + e        D: column lane % S, row 4 G (e / 4) + 4 (lane / S) + e % 4
    MFMA float64 A: row lane % 16, k = lane / 16              D: column lane % 16, row 4 e + lane / 16
    WMMA gfx11   A: row lane % 16, k = e; lanes from 16 on    D: column lane % 16, row 2 e + lane / 16
                 hold copies
    WMMA gfx12   A: row lane % 16, k = 8 (lane / 16) + e      D: column lane % 16, row 8 (lane / 16) + e

B has the layout of A, with columns for rows. The header passes T.gemm's B as the instruction's A and the other way
round, so that the result is transposed: a lane then holds one row of C, and registers run along its columns. The order
of k is free as long as A and B agree, and so is the assignment of the tile's columns to the products of one lane:

* A lane reads ``word`` elements that are contiguous along k. A word of 16 bytes is one load. A word of four elements
  orders k as D's rows, so that the result of one product is the operand A of the next one, register by register.
* Where B is stored by rows of k, a lane reads ``along_n`` neighbouring columns, which go to as many products; so does
  ``along_m`` for A that is stored by columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout

CDNA = frozenset({"gfx90a", "gfx942", "gfx950"})
RDNA3 = frozenset("gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152".split())
RDNA4 = frozenset({"gfx1200", "gfx1201"})
# element type -> its name in the header's functions
SHORT = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "int8": "s8",
    "uint8": "u8",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float8_e4m3fnuz": "e4m3fnuz",
    "float8_e5m2fnuz": "e5m2fnuz",
}
# the rows of D for a column (lane % S), lowest place first: (extent, where, stride)
_D_OF_MFMA_32 = ((4, REGISTER, 1), (2, THREAD, 32), (4, REGISTER, 4))
_D_OF_MFMA_16 = ((4, REGISTER, 1), (4, THREAD, 16))
_D_OF_FLOAT64 = ((4, THREAD, 16), (4, REGISTER, 1))
_D_OF_GFX11 = ((2, THREAD, 16), (8, REGISTER, 1))
_D_OF_GFX12 = ((8, REGISTER, 1), (2, THREAD, 16))


@dataclass(frozen=True)
class WaveInstruction:
    """C of ``rows`` x ``columns`` += A of ``rows`` x ``depth`` times B of ``depth`` x ``columns``, by one wave.

    size: the rows and columns of one product. a, b, c: element types. word: the number of elements of A or B that are
    contiguous along K in a lane. groups: of lanes that hold different k. wave: the lanes. architectures: those with the
    instruction. digits: of the columns of C. along_m, along_n: the products along M and N, whose rows or columns
    alternate.
    """

    size: int
    depth: int
    a: str
    b: str
    c: str
    word: int
    groups: int
    wave: int
    architectures: frozenset[str]
    digits: tuple[tuple[int, str, int], ...]
    along_m: int = 1
    along_n: int = 1

    @cached_property
    def name(self) -> str:
        """The name in the header, such as 32x32x16_f16 or 16x16x32_e4m3_e5m2."""
        types = dict.fromkeys(SHORT[kind] for kind in (self.a, self.b))
        return "_".join([f"{self.size}x{self.size}x{self.depth}", *types])

    @property
    def rows(self) -> int:
        return self.size * self.along_m

    @property
    def columns(self) -> int:
        return self.size * self.along_n

    @cached_property
    def accumulator(self) -> FragmentLayout:
        of_product = self.size * self.size // self.wave  # registers
        digits = [Digit(0, 1, self.along_m, REGISTER, of_product * self.along_n)]
        digits += [Digit(0, self.along_m, self.size, THREAD, 1), Digit(1, 1, self.along_n, REGISTER, of_product)]
        place = self.along_n
        for extent, where, stride in self.digits:
            digits.append(Digit(1, place, extent, where, stride))
            place *= extent
        return FragmentLayout((self.rows, self.columns), self.wave, tuple(digits))

    @cached_property
    def operand_a(self) -> FragmentLayout:
        digits = self._operand_digits(0, self.along_m)
        return FragmentLayout((self.rows, self.depth), self.wave, digits)

    @cached_property
    def operand_b(self) -> FragmentLayout:
        digits = self._operand_digits(1, self.along_n)
        return FragmentLayout((self.depth, self.columns), self.wave, digits)

    def _operand_digits(self, across: int, products: int) -> tuple[Digit, ...]:
        """across: the axis of rows of A or columns of B. products: those whose rows or columns alternate."""
        along, of_group = 1 - across, self.word * self.groups
        return (
            Digit(across, 1, products, REGISTER, 1),
            Digit(across, products, self.size, THREAD, 1),
            Digit(along, 1, self.word, REGISTER, products),
            Digit(along, self.word, self.groups, THREAD, self.size),
            Digit(along, of_group, self.depth // of_group, REGISTER, self.word * products),
        )

    def widened(self, along_m: int, along_n: int) -> WaveInstruction:
        """The instruction repeated along M and N, with alternating rows and columns."""
        return replace(self, along_m=along_m, along_n=along_n)


def _mfma(kinds: tuple[str, str, str], elements: tuple[int, ...], chips: frozenset[str]) -> Iterator[WaveInstruction]:
    """kinds: of A, B and C. elements: of A in a lane, for each depth; the header combines several instructions."""
    for size, digits in ((32, _D_OF_MFMA_32), (16, _D_OF_MFMA_16)):
        groups = 64 // size
        for count in elements:
            for word in sorted({min(count, 16), min(count, 4)}, reverse=True):
                yield WaveInstruction(size, count * groups, *kinds, word, groups, 64, chips, digits)


def _all_instructions() -> Iterator[WaveInstruction]:
    """Of equal types and sizes the deepest (largest K) comes first."""
    for kind in ("float16", "bfloat16"):
        yield from _mfma((kind, kind, "float32"), (8, 4), CDNA)
        yield WaveInstruction(16, 16, kind, kind, "float32", 8, 1, 32, RDNA3, _D_OF_GFX11)
        yield WaveInstruction(16, 16, kind, kind, "float32", 8, 2, 32, RDNA4, _D_OF_GFX12)
    yield from _mfma(("int8", "int8", "int32"), (16, 8), CDNA)
    yield from _mfma(("float32", "float32", "float32"), (4, 1), CDNA)
    for count in (2, 1):
        for word in {count, 1}:
            kinds = ("float64", "float64", "float64")
            yield WaveInstruction(16, 4 * count, *kinds, word, 4, 64, CDNA, _D_OF_FLOAT64)
    for a in ("int8", "uint8"):
        for b in ("int8", "uint8"):
            yield WaveInstruction(16, 16, a, b, "int32", 16, 1, 32, RDNA3, _D_OF_GFX11)
            yield WaveInstruction(16, 32, a, b, "int32", 16, 2, 32, RDNA4, _D_OF_GFX12)
            yield WaveInstruction(16, 32, a, b, "int32", 8, 2, 32, RDNA4, _D_OF_GFX12)
            yield WaveInstruction(16, 16, a, b, "int32", 8, 2, 32, RDNA4, _D_OF_GFX12)
    for a in ("float8_e4m3fn", "float8_e5m2"):
        for b in ("float8_e4m3fn", "float8_e5m2"):
            yield from _mfma((a, b, "float32"), (32, 16, 8), frozenset({"gfx950"}))
            yield WaveInstruction(16, 32, a, b, "float32", 16, 2, 32, RDNA4, _D_OF_GFX12)
            yield WaveInstruction(16, 32, a, b, "float32", 8, 2, 32, RDNA4, _D_OF_GFX12)
            yield WaveInstruction(16, 16, a, b, "float32", 8, 2, 32, RDNA4, _D_OF_GFX12)
    for a in ("float8_e4m3fnuz", "float8_e5m2fnuz"):
        for b in ("float8_e4m3fnuz", "float8_e5m2fnuz"):
            yield from _mfma((a, b, "float32"), (16, 8), frozenset({"gfx942"}))


INSTRUCTIONS = tuple(_all_instructions())


def instructions_for(
    kinds: tuple[str, str, str], k: int, architecture: str, a_in_registers: bool
) -> list[WaveInstruction]:
    """The instructions for these element types of A, B and C, at most one for each size.

    Of a size it is the one with the largest depth that divides ``k``; if no depth does, the one with the smallest.
    a_in_registers: A is a fragment, so its layout should be that of results.
    """
    fitting = [i for i in INSTRUCTIONS if (i.a, i.b, i.c) == kinds and architecture in i.architectures]
    chosen = []
    for size in sorted({i.size for i in fitting}, reverse=True):
        of_size = [i for i in fitting if i.size == size]
        depths = sorted({i.depth for i in of_size}, reverse=True)
        depth = next((d for d in depths if k % d == 0), depths[-1])
        words = sorted((i for i in of_size if i.depth == depth), key=lambda i: i.word)
        chosen.append(words[0] if a_in_registers else words[-1])
    return chosen
