"""The layout of each fragment, as the PTX ISA defines it (9.7.14.5, "Matrix Fragments for mma.<shape>").

Functions of the lane and of the element's number in the fragment give (row, column) in A, B or D. They are written
from the manual's formulas one by one, not from the rule behind them that headers and lowering use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

Place = Callable[[int, int], tuple[int, int]]


class Fragments(NamedTuple):
    """The number of elements of A, B and D in a lane, and the place of each."""

    a: int
    place_a: Place
    b: int
    place_b: Place
    d: int
    place_d: Place


def _accumulator_of_8_rows(lane: int, i: int) -> tuple[int, int]:
    return lane >> 2, lane % 4 * 2 + i


def _accumulator_of_16_rows(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (8 if i >= 2 else 0), lane % 4 * 2 + (i & 1)


def _halves(depth: int) -> Fragments:
    """m16n8k8 and m16n8k16 with .f16 and .bf16."""

    def a(lane: int, i: int) -> tuple[int, int]:
        row = lane >> 2 if i < 2 or 4 <= i < 6 else (lane >> 2) + 8
        return row, lane % 4 * 2 + (i & 1) + (8 if i >= 4 else 0)

    def b(lane: int, i: int) -> tuple[int, int]:
        return lane % 4 * 2 + (i & 1) + (8 if i >= 2 else 0), lane >> 2

    return Fragments(depth // 2, a, depth // 4, b, 4, _accumulator_of_16_rows)


def _words(depth: int) -> Fragments:
    """m16n8k4 and m16n8k8 with .tf32 and .f64, m16n8k16 with .f64."""

    def a(lane: int, i: int) -> tuple[int, int]:
        if i % 2 == 0:
            return lane >> 2, i * 2 + lane % 4
        return (lane >> 2) + 8, i * 2 - 2 + lane % 4

    return Fragments(
        depth // 2, a, depth // 4, lambda lane, i: (lane % 4 + i * 4, lane >> 2), 4, _accumulator_of_16_rows
    )


def _bytes(depth: int) -> Fragments:
    """m16n8k16 and m16n8k32 with types of 8 bits."""

    def a(lane: int, i: int) -> tuple[int, int]:
        row = lane >> 2 if i < 4 or 8 <= i < 12 else (lane >> 2) + 8
        return row, lane % 4 * 4 + (i & 3) + (16 if i >= 8 else 0)

    def b(lane: int, i: int) -> tuple[int, int]:
        return lane % 4 * 4 + (i & 3) + (16 if i >= 4 else 0), lane >> 2

    return Fragments(depth // 2, a, depth // 4, b, 4, _accumulator_of_16_rows)


def _quads(lane: int) -> int:
    """Rows or columns from 4 on belong to lanes from 16 on."""
    return lane % 4 + (0 if lane < 16 else 4)


def _accumulator_of_quads(lane: int, i: int) -> tuple[int, int]:
    row = (lane & 1) + (i & 2)
    return row + (0 if lane < 16 else 4), (i & 4) + (lane & 2) + (i & 1)


FRAGMENTS: dict[str, Fragments] = {
    "m8n8k4_f16_f16": Fragments(
        4, lambda lane, i: (_quads(lane), i), 4, lambda lane, i: (i, _quads(lane)), 8, lambda lane, i: (_quads(lane), i)
    ),
    "m8n8k4_f16_f32": Fragments(
        4, lambda lane, i: (_quads(lane), i), 4, lambda lane, i: (i, _quads(lane)), 8, _accumulator_of_quads
    ),
    "m8n8k4_f64_f64": Fragments(
        1, lambda lane, i: (lane >> 2, lane % 4), 1, lambda lane, i: (lane % 4, lane >> 2), 2, _accumulator_of_8_rows
    ),
    **{
        f"m8n8k16_{types}_s32": Fragments(
            4, lambda lane, i: (lane >> 2, lane % 4 * 4 + i), 4, lambda lane, i: (lane % 4 * 4 + i, lane >> 2), 2,
            _accumulator_of_8_rows,
        )
        for types in ("s8", "s8_u8", "u8_s8", "u8")
    },
    **{f"m16n8k{depth}_{types}": _halves(depth) for depth in (8, 16) for types in ("f16_f32", "f16_f16", "bf16_f32")},
    **{f"m16n8k{depth}_tf32_f32": _words(depth) for depth in (4, 8)},
    **{f"m16n8k{depth}_f64_f64": _words(depth) for depth in (4, 8, 16)},
    **{f"m16n8k{depth}_{types}_s32": _bytes(depth) for depth in (16, 32) for types in ("s8", "s8_u8", "u8_s8", "u8")},
    **{
        f"m16n8k{depth}_{types}_{result}": _bytes(depth)
        for depth in (16, 32)
        for types in ("e4m3", "e4m3_e5m2", "e5m2_e4m3", "e5m2")
        for result in ("f32", "f16")
    },
}  # fmt: skip


def problem(lane: int, name: str) -> int:
    """The index of the product in which a lane takes part: m8n8k4 with .f16 computes four."""
    return lane % 16 // 4 if name.startswith("m8n8k4_f16") else 0
