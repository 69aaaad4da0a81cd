"""Matrix instructions as kernels whose fragments matrix_layouts.py fills, with operands and exact results."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
from matrix_layouts import FRAGMENTS, problem

TYPES: dict[str, tuple[str, Any]] = {  # of the instruction's name: in the source, in numpy
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


def types_of(name: str) -> tuple[str, str, str]:
    """The types of A, B and D."""
    _, *kinds = name.split("_")
    return kinds[0], kinds[-2], kinds[-1]


def least_architecture(name: str) -> int:
    """PTX ISA, "mma", target ISA notes: 70 to 90."""
    if name.startswith("m8n8k4_f16"):
        return 70
    if name.startswith(("m8n8k16", "m16n8k8_f16")):
        return 75
    if "f64" in name and name.startswith("m16"):
        return 90
    return 89 if "e4m3" in name or "e5m2" in name else 80


def kernel(name: str) -> str:
    """``k_<name>``: one instruction by one warp; arguments tell the place of each element of a lane."""
    a, b, d = (TYPES[kind][0] for kind in types_of(name))
    f = FRAGMENTS[name]
    return f"""extern "C" __global__ void __launch_bounds__(32) k_{name}(
    const {a}* A, const int* AT_A, const {b}* B, const int* AT_B, const {d}* C, const int* AT_D, {d}* d_out) {{
  const int lane = threadIdx.x;
  alignas(16) {a} a[{f.a}];
  alignas(16) {b} b[{f.b}];
  alignas(16) {d} d[{f.d}];
  for (int i = 0; i < {f.a}; ++i) a[i] = A[AT_A[lane * {f.a} + i]];
  for (int i = 0; i < {f.b}; ++i) b[i] = B[AT_B[lane * {f.b} + i]];
  for (int i = 0; i < {f.d}; ++i) d[i] = C[AT_D[lane * {f.d} + i]];
  tc_mma_{name}(d, a, b);
  for (int i = 0; i < {f.d}; ++i) d_out[AT_D[lane * {f.d} + i]] = d[i];
}}
"""


def arrays(name: str, a: Any = None, b: Any = None) -> dict[str, np.ndarray]:
    """The kernel's arguments in order; ``a`` and ``b`` in place of random operands, for instructions of one product."""
    f, (a_kind, b_kind, d_kind) = FRAGMENTS[name], types_of(name)
    m, n, k = sizes(name)
    problems = 1 + max(problem(lane, name) for lane in range(32))
    rng = np.random.default_rng(len(name))
    start = rng.integers(-9, 10, (problems, m, n)).astype(TYPES[d_kind][1])
    return {
        "A": _operand(rng, a_kind, (problems, m, k)) if a is None else a,
        "AT_A": _offsets(name, f.a, f.place_a, (m, k)),
        "B": _operand(rng, b_kind, (problems, k, n)) if b is None else b,
        "AT_B": _offsets(name, f.b, f.place_b, (k, n)),
        "C": start,
        "AT_D": _offsets(name, f.d, f.place_d, (m, n)),
        "d_out": np.zeros_like(start),
    }


def exact_result(operands: dict[str, np.ndarray]) -> np.ndarray:
    """``A @ B + C``, which the operands of :func:`arrays` make exact."""
    exact = operands["A"].astype(np.float64) @ operands["B"].astype(np.float64) + operands["C"].astype(np.float64)
    return exact.astype(operands["C"].dtype)


def sizes(name: str) -> tuple[int, int, int]:
    """The sizes M, N and K of an instruction."""
    m, n, k = re.findall(r"[mnk](\d+)", name.split("_")[0])
    return int(m), int(n), int(k)


def _offsets(name: str, count: int, place: Any, shape: tuple[int, int]) -> np.ndarray:
    offsets = np.zeros((32, count), np.int32)
    for lane in range(32):
        for i in range(count):
            row, column = place(lane, i)
            offsets[lane, i] = (problem(lane, name) * shape[0] + row) * shape[1] + column
    return offsets


def _operand(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    low, high = (0, 256) if kind == "u8" else (-4, 5)
    return rng.integers(low, high, shape).astype(TYPES[kind][1])
