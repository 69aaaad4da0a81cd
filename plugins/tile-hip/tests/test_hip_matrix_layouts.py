"""The lane layouts of the matrix instructions, against the formulas of AMD's documents, written down one by one."""

from __future__ import annotations

import pytest
from tile_hip.lowering.matrix_instructions import CDNA, INSTRUCTIONS, RDNA3, RDNA4, WaveInstruction

IDS = [f"{i.name}-word{i.word}-{min(i.architectures)}" for i in INSTRUCTIONS]


def row_of_result(instruction: WaveInstruction, lane: int, e: int) -> int:
    """The row of D in the ISA documents, which is the column of C, because the operands are exchanged."""
    if instruction.architectures <= RDNA3:
        return 2 * e + lane // 16
    if instruction.architectures <= RDNA4:
        return 8 * (lane // 16) + e
    if instruction.c == "float64":
        return 4 * e + lane // 16
    if instruction.size == 32:
        return 8 * (e // 4) + 4 * (lane // 32) + e % 4
    return 4 * (lane // 16) + e


@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=IDS)
def test_results(instruction):
    layout = instruction.accumulator
    lanes = 64 if instruction.architectures & CDNA else 32
    assert (layout.threads, layout.registers) == (lanes, instruction.size**2 // lanes)
    for lane in range(lanes):
        for e in range(layout.registers):
            expected = [lane % instruction.size, row_of_result(instruction, lane, e)]
            assert layout.indices(lane, e) == expected


@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=IDS)
def test_operands(instruction):
    """A lane has its row or column; A and B agree on k; the lanes of a row have each k, on RDNA 3 twice."""
    a, b = instruction.operand_a, instruction.operand_b
    seen: dict[int, list[int]] = {}
    for lane in range(a.threads):
        for e in range(a.registers):
            row, k = a.indices(lane, e)
            assert row == lane % instruction.size
            assert b.indices(lane, e) == [k, row]
            seen.setdefault(row, []).append(k)
    copies = 2 if instruction.architectures <= RDNA3 else 1
    for ks in seen.values():
        assert sorted(ks) == sorted([*range(instruction.depth)] * copies)


@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=IDS)
def test_words_are_contiguous_along_k(instruction):
    a = instruction.operand_a
    for lane in (0, a.threads - 1):
        for first in range(0, a.registers, instruction.word):
            ks = [a.indices(lane, first + e)[1] for e in range(instruction.word)]
            assert ks == [*range(ks[0], ks[0] + instruction.word)]


@pytest.mark.parametrize("instruction", [i for i in INSTRUCTIONS if i.architectures & CDNA and i.word <= 4])
def test_results_are_operands_of_the_next_product(instruction):
    """With words of four, element e of A is element e of a result: attention keeps its weights in registers."""
    result, a = instruction.accumulator, instruction.operand_a
    if a.registers > result.registers or (instruction.word < 4 and instruction.c != "float64"):
        pytest.skip("one operand needs several results, or the form is for a small K")
    if instruction.c == "float64" and instruction.word == 2:
        pytest.skip("the form that is loaded from memory")
    for lane in range(a.threads):
        for e in range(a.registers):
            assert a.indices(lane, e) == result.indices(lane, e)


@pytest.mark.parametrize(("along_m", "along_n"), [(1, 2), (2, 1), (4, 4)])
def test_neighbouring_rows_and_columns_of_a_lane(along_m, along_n):
    for instruction in INSTRUCTIONS:
        wide = instruction.widened(along_m, along_n)
        each = instruction.accumulator.registers
        for lane in (0, 5, wide.accumulator.threads - 1):
            for i in range(along_m):
                for j in range(along_n):
                    for e in (0, each - 1):
                        row, column = instruction.accumulator.indices(lane, e)
                        register = (i * along_n + j) * each + e
                        place = wide.accumulator.indices(lane, register)
                        assert place == [row * along_m + i, column * along_n + j]
