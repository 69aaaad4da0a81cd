"""Every mma.sync of the header, element by element, on the simulated device, compared with numpy."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matrix_cases import arrays, exact_result, kernel, sizes
from matrix_layouts import FRAGMENTS
from tile_cuda.headers import INCLUDE

from tilecore.errors import ToolchainError
from tilecore.simulate.arguments import Tensor
from tilecore.simulate.compilers import find_compiler
from tilecore.simulate.device import SimulatedDevice

HEADER = Path(INCLUDE[0]) / "tilecore_cuda" / "matrix.h"


@pytest.fixture(scope="module")
def library():
    try:
        find_compiler()
    except ToolchainError as error:
        pytest.skip(error.message)
    text = '#include "tilecore_cuda.h"\n\n' + "\n".join(map(kernel, FRAGMENTS))
    return SimulatedDevice().compile(text, [f"k_{name}" for name in FRAGMENTS], INCLUDE)


def run(library, name: str, operands: dict[str, np.ndarray]) -> np.ndarray:
    tensors = [Tensor.of(key, array, "r" if key.isupper() else "w") for key, array in operands.items()]
    SimulatedDevice().run(library, f"k_{name}", (1,), (32,), tensors)
    return operands["d_out"]


@pytest.mark.parametrize("name", FRAGMENTS)
def test_every_element_is_in_its_place(library, name):
    operands = arrays(name)
    assert sorted(operands["AT_D"].ravel()) == list(range(operands["C"].size))
    for at, operand in (("AT_A", "A"), ("AT_B", "B")):
        assert {*operands[at].ravel()} == set(range(operands[operand].size))
    np.testing.assert_array_equal(run(library, name, operands), exact_result(operands))


def test_all_of_the_header_are_here():
    """It includes the names that macros of the header form."""
    types = {"INTEGER": "s8 s8_u8 u8_s8 u8".split(), "FP8": "e4m3 e4m3_e5m2 e5m2_e4m3 e5m2".split()}
    header_names = set()
    for name in re.findall(r"tc_mma_(m[\w#]+)[(,]", HEADER.read_text()):
        kinds = types["INTEGER" if "s32" in name else "FP8"] if "##" in name else [""]
        header_names |= {name.replace("##NAME##", kind) for kind in kinds}
    assert header_names == set(FRAGMENTS)


def test_tf32_reads_the_upper_bits_of_an_operand(library):
    name = "m16n8k8_tf32_f32"
    m, n, k = sizes(name)
    a, b = np.zeros((1, m, k), np.float32), np.zeros((1, k, n), np.float32)
    a[0, 3, 2], b[0, 2, 5] = np.float32(1 + 2.0**-10 + 2.0**-12), 1
    operands = arrays(name, a, b)
    difference = run(library, name, operands) - operands["C"]
    assert np.count_nonzero(difference) == 1
    operands = arrays(name, a, b)
    operands["C"][:] = 0
    assert run(library, name, operands)[0, 3, 5] == np.float32(1 + 2.0**-10)
