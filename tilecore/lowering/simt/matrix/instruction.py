"""What T.gemm must know of a matrix instruction: its sizes, element types and fragment layouts."""

from __future__ import annotations

from typing import Protocol

from tilecore.ir.fragments import FragmentLayout


class MatrixInstruction(Protocol):
    """One instruction of a warp: C of ``rows`` x ``columns`` += A of ``rows`` x ``depth`` times B of ``depth`` x
    ``columns``.

    name: in the header's functions. a, b, c: the element types of the registers. word: the number of elements of A or B
    that are contiguous along K in a lane. operand_a (rows x depth), operand_b (depth x columns), accumulator (rows x
    columns): which lane has an element, and in which register.
    """

    @property
    def name(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def a(self) -> str: ...
    @property
    def b(self) -> str: ...
    @property
    def c(self) -> str: ...
    @property
    def word(self) -> int: ...
    @property
    def operand_a(self) -> FragmentLayout: ...
    @property
    def operand_b(self) -> FragmentLayout: ...
    @property
    def accumulator(self) -> FragmentLayout: ...
