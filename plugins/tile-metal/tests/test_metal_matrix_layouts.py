"""The lane layout of simdgroup matrices, against the formula that MLX and PyTorch rely on, written down once more."""

from __future__ import annotations

import pytest
from tile_metal.lowering.matrix_instruction import SimdgroupInstruction, exact_depth, factor_of

FORMS = [(m, n, k) for m in (1, 2) for n in (1, 2) for k in (1, 2)]


def place(lane: int, e: int) -> tuple[int, int]:
    """The row and the column of element e of a lane, as MLX's ``BaseMMAFrag::get_coord`` computes them."""
    qid = lane // 4
    return (qid & 4) + (lane // 2) % 4, (qid & 2) * 2 + (lane % 2) * 2 + e


def instruction(products=(1, 1, 1), b_along_k=False) -> SimdgroupInstruction:
    return SimdgroupInstruction("float16", "float16", "float16", *products, b_along_k)


def test_one_product():
    """All operands have one layout; the lanes of a row differ in the bits 0 and 3, those of a column in 1, 2 and 4."""
    single = instruction()
    for layout in (single.accumulator, single.operand_a, single.operand_b):
        assert (layout.threads, layout.registers, layout.shape) == (32, 2, (8, 8))
        for lane in range(32):
            assert [tuple(layout.indices(lane, e)) for e in range(2)] == [place(lane, e) for e in range(2)]
    rows = {lane: place(lane, 0)[0] for lane in range(32)}
    assert all(rows[lane] == rows[lane ^ 1] == rows[lane ^ 8] for lane in rows)
    assert all(place(lane, 0)[1] == place(lane ^ mask, 0)[1] for lane in rows for mask in (2, 4, 16))


@pytest.mark.parametrize("products", FORMS)
@pytest.mark.parametrize("b_along_k", [False, True])
def test_elements_of_each_product(products, b_along_k):
    """The header takes a[e][p][i], b[p][j][e] or b[j][e][p], and d[i][j][e]: each product of the tile's elements is
    computed once, by a lane that the product's layout names."""
    m, n, k = products
    wide = instruction(products, b_along_k)
    a, b, c = (
        {(lane, r): tuple(layout.indices(lane, r)) for lane in range(32) for r in range(layout.registers)}
        for layout in (wide.operand_a, wide.operand_b, wide.accumulator)
    )
    computed = set()
    for p in range(k):
        for i in range(m):
            for j in range(n):
                left, right, result = {}, {}, {}
                for lane in range(32):
                    for e in range(2):
                        left[place(lane, e)] = a[lane, (e * k + p) * m + i]
                        right[place(lane, e)] = b[lane, (j * 2 + e) * k + p if b_along_k else (p * n + j) * 2 + e]
                        result[place(lane, e)] = c[lane, (i * n + j) * 2 + e]
                for row in range(8):
                    for column in range(8):
                        for depth in range(8):
                            (row_of_a, k_of_a), (k_of_b, column_of_b) = left[row, depth], right[depth, column]
                            assert k_of_a == k_of_b
                            assert (row_of_a, column_of_b) == result[row, column]
                            computed.add((row_of_a, column_of_b, k_of_a))
    assert len(computed) == wide.rows * wide.columns * wide.depth


@pytest.mark.parametrize("each", [1, 2])
def test_results_are_operands_of_the_next_product(each):
    result, operand = instruction((1, each, each)).accumulator, instruction((1, 1, each)).operand_a
    assert result == operand


def test_factors_hold_both_types():
    assert factor_of("float16", "float8_e5m2", True) == "float16"
    assert factor_of("int8", "uint8", False) == "float16"
    assert factor_of("bfloat16", "bfloat16", True) == "bfloat16"
    assert factor_of("bfloat16", "bfloat16", False) == "float32"
    assert factor_of("bfloat16", "float16", True) == "float32"
    assert factor_of("float32", "int8", True) == "float32"
    assert factor_of("int32", "int8", True) is None
    assert 128 * 128 * exact_depth("int8", "int8") == 1 << 24
    assert 255 * 255 * exact_depth("uint8", "uint8") <= 1 << 24
    assert exact_depth("float16", "int8") == 0
