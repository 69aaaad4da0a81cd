"""The matrix product of apple10's matrix unit: ``mpp::tensor_ops::matmul2d`` of MSL 4, 16 x 32 x 16 by one simdgroup.

Operands and sums are cooperative tensors, of which each lane sets and reads the elements that it has. Apple lets a
program ask which these are (``get_multidimensional_index``), and no document fixes them. MLX relies on the assignment
below for apple10 with macOS 26.2 and later (``BaseNAXFrag``, of August 2026); earlier systems and families have another
one, with which sums would be wrong. With r = 4 (lane / 16) + lane / 2 % 4, c = 2 (lane / 8 % 2) + lane % 2:

    part of 16 x 16, element e of 8: row r + 8 (e / 4), column 4 c + e % 4

An operand has the assignment of its rows as they are stored: of a transposed B, a row is a column of B. B and the sums
are two parts, which follow one another along N. So a result is an operand A of the next product as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tile_metal import families
from tile_metal.lowering.matrix_instruction import LANES
from tile_metal.options import MATMUL2D
from tile_metal.target import family_of, msl_of
from tilecore.contract.passes import PassEnv
from tilecore.errors import TargetError
from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout

PART = 16  # rows and columns of a part
_MSL = 400


@dataclass(frozen=True)
class Matmul2dInstruction:
    """C of 16 x 32 += A of 16 x 16 times B of 16 x 32, by one simdgroup.

    a, b: the element types of the operands in registers. factor: the type in which both are multiplied. transposed_a,
    transposed_b: the operand is stored by columns. c: the type of the sums.
    """

    a: str
    b: str
    factor: str
    transposed_a: bool = False
    transposed_b: bool = False
    c: str = "float32"

    rows, columns, depth = PART, 2 * PART, PART
    word = 4

    @property
    def name(self) -> str:
        return f"{self.rows}x{self.columns}x{self.depth}_{self.factor}"

    @cached_property
    def accumulator(self) -> FragmentLayout:
        return FragmentLayout((self.rows, self.columns), LANES, (*_part(0, 1), _second_part(1)))

    @cached_property
    def operand_a(self) -> FragmentLayout:
        return FragmentLayout((self.rows, self.depth), LANES, _part(1, 0) if self.transposed_a else _part(0, 1))

    @cached_property
    def operand_b(self) -> FragmentLayout:
        digits = _part(1, 0) if self.transposed_b else _part(0, 1)
        return FragmentLayout((self.depth, self.columns), LANES, (*digits, _second_part(1)))


def _part(rows: int, columns: int) -> tuple[Digit, ...]:
    """The digits of a part of 16 x 16. rows, columns: the axes of its rows and columns as they are stored."""
    return (
        Digit(rows, 1, 4, THREAD, 2),
        Digit(rows, 4, 2, THREAD, 16),
        Digit(rows, 8, 2, REGISTER, 4),
        Digit(columns, 1, 4, REGISTER, 1),
        Digit(columns, 4, 2, THREAD, 1),
        Digit(columns, 8, 2, THREAD, 8),
    )


def _second_part(axis: int) -> Digit:
    return Digit(axis, PART, 2, REGISTER, 8)


def is_asked_for(env: PassEnv) -> bool:
    """Whether the configuration asks for matmul2d. Raises TargetError where the target does not have it."""
    if not MATMUL2D.value_in(env.config):
        return False
    family, msl = family_of(env.target), msl_of(env.target)
    if not family.has_matrix_unit or msl < _MSL:
        raise TargetError(
            f"{MATMUL2D.name} asks for matmul2d, which this target does not have",
            found=f"family {family.name}, MSL {msl // 100}.{msl // 10 % 10}",
            expected=f"family {families.FAMILIES['apple10'].name} (M5, A19) and MSL 4.0, with macOS 26.2 or later",
            hint='target="metal -family=apple10 -msl=4.0"; without the option, T.gemm uses simdgroup matrices',
        )
    return True
