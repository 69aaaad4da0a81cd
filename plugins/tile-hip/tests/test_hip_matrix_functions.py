"""Every tc_mma of the header, element by element, on the simulated device, compared with numpy.

One wave loads its operands and results by index tables. The simulated device emulates AMD's instructions by their
documented layouts; the tables come from the layouts that T.gemm uses.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tile_hip import architectures
from tile_hip.compilers import INCLUDE
from tile_hip.lowering.matrix_instructions import INSTRUCTIONS, RDNA3, WaveInstruction

from tilecore.dtypes import FACTS
from tilecore.errors import ToolchainError
from tilecore.ir.fragments import FragmentLayout
from tilecore.simulate.arguments import Tensor
from tilecore.simulate.compilers import find_compiler
from tilecore.simulate.device import SimulatedDevice
from tilecore.simulate.errors import SimulationError

CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")


def of_chip(arch: str) -> list[WaveInstruction]:
    """Each form of each instruction; one is repeated along M and N, with alternating rows and columns."""
    forms = [i for i in INSTRUCTIONS if arch in i.architectures]
    return [*forms, *(form.widened(2, 4) for form in forms if form.a in ("float16", "int8"))]


def kernel(number: int, i: WaveInstruction) -> str:
    a, b, c = (FACTS[kind].c for kind in (i.a, i.b, i.c))
    counts = i.operand_a.registers, i.operand_b.registers, i.accumulator.registers
    template = f"<{i.along_m}, {i.along_n}>"
    return f"""extern "C" __global__ void __launch_bounds__({i.wave}) k{number}(
    const {a}* A, const int* AT_A, const {b}* B, const int* AT_B, const {c}* C, const int* AT_C, {c}* c_out) {{
  const int lane = threadIdx.x;
  {a} a[{counts[0]}];
  {b} b[{counts[1]}];
  {c} c[{counts[2]}];
  for (int e = 0; e < {counts[0]}; ++e) a[e] = A[AT_A[lane * {counts[0]} + e]];
  for (int e = 0; e < {counts[1]}; ++e) b[e] = B[AT_B[lane * {counts[1]} + e]];
  for (int e = 0; e < {counts[2]}; ++e) c[e] = C[AT_C[lane * {counts[2]} + e]];
  tc_mma_{i.name}{template}(c, a, b);
  for (int e = 0; e < {counts[2]}; ++e) c_out[AT_C[lane * {counts[2]} + e]] = c[e];
}}
"""


def places(layout: FragmentLayout) -> np.ndarray:
    """The offset of each element of each lane in a row-major matrix."""
    columns = layout.shape[1]
    elements = [layout.indices(lane, e) for lane in range(layout.threads) for e in range(layout.registers)]
    return np.array([row * columns + column for row, column in elements], np.int32)


def numbers(shape, dtype: str, seed: int) -> np.ndarray:
    low = 0 if dtype.startswith("u") else -4
    return np.random.default_rng(seed).integers(low, 5, shape).astype(getattr(ml_dtypes, dtype, dtype))


@pytest.mark.parametrize("arch", CHIPS)
def test_every_element_is_in_its_place(arch):
    try:
        find_compiler()
    except ToolchainError as error:
        pytest.skip(error.message)
    forms = of_chip(arch)
    text = '#include "tilecore_hip.h"\n\n' + "\n".join(kernel(n, i) for n, i in enumerate(forms))
    wave = forms[0].wave
    flags = [f"-DTC_WAVE={wave}", f"-DTC_ISA_VERSION={architectures.isa_version(arch)}"]
    device = SimulatedDevice(warp=wave, allow_same_value=True)
    library = device.compile(text, [f"k{n}" for n in range(len(forms))], INCLUDE, flags)
    for n, i in enumerate(forms):
        a, b = numbers((i.rows, i.depth), i.a, 1), numbers((i.depth, i.columns), i.b, 2)
        c = numbers((i.rows, i.columns), i.c, 3)
        at_c = places(i.accumulator)
        assert sorted(at_c) == [*range(c.size)]
        arguments = {"A": a, "AT_A": places(i.operand_a), "B": b, "AT_B": places(i.operand_b), "C": c, "AT_C": at_c}
        tensors = [Tensor.of(name, array, "r") for name, array in arguments.items()]
        result = np.zeros_like(c)
        device.run(library, f"k{n}", (1,), (wave,), [*tensors, Tensor.of("c_out", result, "w")])
        expected = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)
        np.testing.assert_array_equal(result, expected.astype(c.dtype), err_msg=f"{i.name} {i.word}")


def test_lanes_of_rdna3_with_other_copies_are_reported():
    """Lanes 16 to 31 hold what lanes 0 to 15 hold; the hardware's results are undefined otherwise."""
    form = next(i for i in INSTRUCTIONS if i.architectures == RDNA3 and i.a == "float16")
    device = SimulatedDevice(warp=32, allow_same_value=True)
    text = '#include "tilecore_hip.h"\n' + kernel(0, form)
    library = device.compile(text, ["k0"], INCLUDE, ["-DTC_WAVE=32", "-DTC_ISA_VERSION=11000"])
    a, b = np.ones((16, 16), np.float16), np.ones((16, 16), np.float16)
    a[0, 0] = 2
    at_a = places(form.operand_a)
    at_a[17 * 16] = 0  # lane 17 has row 1, whose first element this was
    arguments = {"A": a, "AT_A": at_a, "B": b, "AT_B": places(form.operand_b)}
    arguments |= {"C": np.zeros((16, 16), np.float32), "AT_C": places(form.accumulator)}
    tensors = [Tensor.of(name, array, "r") for name, array in arguments.items()]
    result = Tensor.of("c_out", np.zeros((16, 16), np.float32), "w")
    with pytest.raises(SimulationError, match="lanes from 16 on must hold what lanes 0 to 15 hold"):
        device.run(library, "k0", (1,), (32,), [*tensors, result])
