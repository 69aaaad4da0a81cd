"""Every matrix instruction of the header, element by element, on the simulated device against numpy."""

from __future__ import annotations

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from matrix_layouts import FRAGMENTS, problem
from tile_cuda.toolchain import INCLUDE

from tilecore.errors import ToolchainError
from tilecore.simulate.arguments import Tensor
from tilecore.simulate.compilers import find_compiler
from tilecore.simulate.device import SimulatedDevice

TYPES = {  # of the instruction's name: in the source, in numpy
    "f16": ("tc_half", np.float16),
    "bf16": ("tc_bfloat16", ml_dtypes.bfloat16),
    "tf32": ("float", np.float32),
    "f32": ("float", np.float32),
    "f64": ("double", np.float64),
    "s8": ("signed char", np.int8),
    "u8": ("unsigned char", np.uint8),
    "s32": ("int", np.int32),
    "e4m3": ("tc_fp8_e4m3", ml_dtypes.float8_e4m3fn),
    "e5m2": ("tc_fp8_e5m2", ml_dtypes.float8_e5m2),
}
HEADER = Path(INCLUDE[0]) / "tilecore_cuda"


def types_of(name: str) -> tuple[str, str, str]:
    """Of a, b and d."""
    _, *kinds = name.split("_")
    return (kinds[0], kinds[-2], kinds[-1]) if len(kinds) > 1 else (kinds[0], kinds[0], kinds[0])


def kernel(name: str) -> str:
    """One instruction; where each element of a lane lies comes from outside."""
    a, b, d = (TYPES[kind][0] for kind in types_of(name))
    f = FRAGMENTS[name]
    return f"""extern "C" __global__ void __launch_bounds__(32) k_{name}(
    const {a}* A, const int* at_a, const {b}* B, const int* at_b, {d}* D, const int* at_d) {{
  const int lane = threadIdx.x;
  alignas(16) {a} a[{f.a}];
  alignas(16) {b} b[{f.b}];
  alignas(16) {d} d[{f.d}];
  for (int i = 0; i < {f.a}; ++i) a[i] = A[at_a[lane * {f.a} + i]];
  for (int i = 0; i < {f.b}; ++i) b[i] = B[at_b[lane * {f.b} + i]];
  for (int i = 0; i < {f.d}; ++i) d[i] = D[at_d[lane * {f.d} + i]];
  tc_mma_{name}(d, a, b);
  for (int i = 0; i < {f.d}; ++i) D[at_d[lane * {f.d} + i]] = d[i];
}}
"""


@pytest.fixture(scope="module")
def library():
    try:
        find_compiler()
    except ToolchainError as error:
        pytest.skip(error.message)
    text = '#include "tilecore_cuda.h"\n\n' + "\n".join(map(kernel, FRAGMENTS))
    return SimulatedDevice().compile(text, [f"k_{name}" for name in FRAGMENTS], INCLUDE)


def offsets(name: str, count: int, place, shape: tuple[int, int]) -> np.ndarray:
    found = np.zeros((32, count), np.int32)
    for lane in range(32):
        for i in range(count):
            row, column = place(lane, i)
            found[lane, i] = (problem(lane, name) * shape[0] + row) * shape[1] + column
    return found


def operand(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    low = 0 if kind == "u8" else -4
    high = 256 if kind == "u8" else 5
    made = rng.integers(low, high, shape)
    return np.where(rng.integers(0, 4, shape) > 0, made, 1).astype(TYPES[kind][1])


@pytest.mark.parametrize("name", FRAGMENTS)
def test_every_element_is_in_its_place(library, name):
    f, (a_kind, b_kind, d_kind) = FRAGMENTS[name], types_of(name)
    m, n, k = map(int, re.match(r"m(\d+)n(\d+)k(\d+)", name).groups())
    problems = 1 + max(problem(lane, name) for lane in range(32))
    rng = np.random.default_rng(len(name))
    a, b = operand(rng, a_kind, (problems, m, k)), operand(rng, b_kind, (problems, k, n))
    d = rng.integers(-9, 10, (problems, m, n)).astype(TYPES[d_kind][1])
    wanted = (a.astype(np.float64) @ b.astype(np.float64) + d.astype(np.float64)).astype(d.dtype)
    at_a, at_b = offsets(name, f.a, f.place_a, (m, k)), offsets(name, f.b, f.place_b, (k, n))
    at_d = offsets(name, f.d, f.place_d, (m, n))
    # the layout is a bijection: no element is left out
    assert sorted({*at_d.ravel()}) == list(range(d.size))
    assert {*at_a.ravel()} == set(range(a.size))
    assert {*at_b.ravel()} == set(range(b.size))
    given = [
        ("A", a, "r"),
        ("at_a", at_a, "r"),
        ("B", b, "r"),
        ("at_b", at_b, "r"),
        ("D", d, "rw"),
        ("at_d", at_d, "r"),
    ]
    SimulatedDevice().run(library, f"k_{name}", (1,), (32,), [Tensor.of(*one) for one in given])
    np.testing.assert_array_equal(d, wanted)


def test_all_of_the_header_are_here():
    """With the names that macros of the header make from others."""
    types = {"INTEGER": "s8 s8_u8 u8_s8 u8".split(), "FP8": "e4m3 e4m3_e5m2 e5m2_e4m3 e5m2".split()}
    made = set()
    for line in (HEADER / "matrix.h").read_text().splitlines():
        for name in re.findall(r"tc_mma_(m[\w#]+)[(,]", line):
            kinds = types["INTEGER" if "s32" in name else "FP8"] if "##" in name else [""]
            made |= {name.replace("##NAME##", kind) for kind in kinds}
    assert made == set(FRAGMENTS)


def test_products_that_floats_do_not_hold(library):
    """tf32 drops the lower 13 bits of an operand."""
    name = "m16n8k8_tf32_f32"
    f = FRAGMENTS[name]
    a, b = np.zeros((16, 8), np.float32), np.zeros((8, 8), np.float32)
    a[3, 2], b[2, 5] = np.float32(1 + 2.0**-10 + 2.0**-12), 1
    d = np.zeros((16, 8), np.float32)
    at = [offsets(name, c, p, s) for c, p, s in
          [(f.a, f.place_a, (16, 8)), (f.b, f.place_b, (8, 8)), (f.d, f.place_d, (16, 8))]]  # fmt: skip
    given = [
        ("A", a, "r"),
        ("at_a", at[0], "r"),
        ("B", b, "r"),
        ("at_b", at[1], "r"),
        ("D", d, "rw"),
        ("at_d", at[2], "r"),
    ]
    SimulatedDevice().run(library, f"k_{name}", (1,), (32,), [Tensor.of(*one) for one in given])
    assert d[3, 5] == np.float32(1 + 2.0**-10)
    assert np.count_nonzero(d) == 1
