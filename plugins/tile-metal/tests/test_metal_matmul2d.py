"""T.gemm by matmul2d on apple10: the assignment of elements to lanes, products, and what targets refuse it."""

from __future__ import annotations

import re

import compiler
import numpy as np
import pytest
from test_metal_attention import attention, expected
from test_metal_products import check, product
from tile_metal.header import needed_parts, whole_program
from tile_metal.lowering.matmul2d import Matmul2dInstruction

import tilecore
from tilecore.errors import TargetError

ON = {"metal.matmul2d": True}


def compiled(func, target="metal -family=apple10 -msl=4.0", **configs):
    return tilecore.compile(func, target=target, execution_backend="sim", pass_configs={**ON, **configs})


def place(lane: int, e: int) -> tuple[int, int]:
    """The row and the column of element e of a lane in a part, as MLX's ``BaseNAXFrag::get_coord`` has it."""
    qid = lane >> 2
    return ((qid & 4) | ((lane >> 1) & 3)) + (e >> 2) * 8, ((qid & 2) | (lane & 1)) * 4 + e % 4


def test_elements_of_lanes():
    plain = Matmul2dInstruction("float16", "float16", "float16")
    transposed = Matmul2dInstruction("float16", "float16", "float16", True, True)
    for lane in range(32):
        for e in range(16):
            row, column = place(lane, e % 8)
            second = e // 8 * 16
            assert plain.accumulator.indices(lane, e) == [row, column + second]
            assert plain.operand_b.indices(lane, e) == [row, column + second]
            assert transposed.operand_b.indices(lane, e) == [column, row + second]
            if e < 8:
                assert plain.operand_a.indices(lane, e) == [row, column]
                assert transposed.operand_a.indices(lane, e) == [column, row]
    assert plain.accumulator == transposed.accumulator


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
def test_products(transposed):
    flags = ", ".join(str(flag).lower() for flag in transposed)
    for sizes, tiles, types, factor in (
        ((64, 72, 40), (32, 64, 32), ("float16", "float16"), "half"),
        ((32, 64, 32), (32, 64, 16), ("bfloat16", "float32"), "float"),
    ):
        kernel = compiled(product(sizes, tiles, types, transposed))
        check(kernel, sizes, types, transposed)
        source = kernel.get_kernel_source()
        assert f"tc_matmul2d<{factor}, {flags}>(" in source
        assert "tilecore_metal/matmul2d.h" in needed_parts(source)
        assert "tc_multiply_add" not in source


def test_attention_keeps_its_weights_in_registers():
    length, dim = 64, 32
    kernel = compiled(attention(length, dim, 32, 32, 64, "float16"))
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((length, dim)).astype(np.float16) for _ in range(3))
    out = np.zeros((length, dim), np.float32)
    kernel(q, k, v, out)
    np.testing.assert_allclose(out, expected(q, k, v), rtol=2e-2, atol=4e-3)
    assert re.search(r"tc_matmul2d<half, false, false>\(out[^,]*, weights", kernel.get_kernel_source())


@pytest.mark.parametrize("target", ["metal -family=apple9 -msl=4.0", "metal -family=apple10 -msl=3.2"])
def test_targets_without_it_refuse(target):
    with pytest.raises(TargetError, match="which this target does not have") as error:
        compiled(product((32, 32, 32), (32, 32, 32)), target)
    assert "macOS 26.2" in str(error.value)


def test_clang_takes_the_program():
    program = whole_program(compiled(product((64, 64, 64), (32, 32, 32), transposed=(True, True))).get_kernel_source())
    assert "tc_matmul2d<half, true, true>" in program
    assert compiler.errors_as_cpp(program, 400) == []
    assert compiler.errors_as_cpp(program, 320) != []
