"""Emitted kernels on the simulated device, with its checks; matrix instructions against numpy."""

from __future__ import annotations

import importlib.util

import ml_dtypes
import numpy as np
import pytest
import thread_kernels as kernels
from cuda_artifacts import artifact
from tile_cuda import codegen
from tile_cuda.simulated import simulated_adapter
from tile_cuda.toolchain import INCLUDE

from tilecore.runtime.artifact import Entry, TensorParam
from tilecore.runtime.launcher import Launcher
from tilecore.target import Target

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tilecore.simulate") is None, reason="this tilecore has no simulated device"
)


@pytest.fixture(scope="module")
def adapter():
    made = simulated_adapter()
    present = made.available(Target("cuda", {}))
    if not present.present:
        pytest.skip(present.detail)
    return made


def run(adapter, source: str, symbol: str, grid, threads, shared: int, **arrays) -> None:
    """``arrays``: by name; a name in capitals is only read, others only written."""
    params = tuple(
        TensorParam(name, str(a.dtype), a.shape, access="r" if name.isupper() else "w") for name, a in arrays.items()
    )
    made = artifact(
        params=params, entries=(Entry(symbol, grid, threads, shared),), source=source, binary=b"",
        binary_format="simulation", adapter="sim",
    )  # fmt: skip
    Launcher(made, adapter.load(made), adapter, 1)(*arrays.values())


def source_of(module) -> str:
    return codegen.build(module, "cuda")["source"]


def test_block_sum(adapter):
    a = np.random.default_rng(0).standard_normal(64 * 1024).astype(np.float32)
    s = np.zeros(64, np.float32)
    run(adapter, source_of(kernels.block_sum()), "sum_kernel", (64, 1, 1), (128, 1, 1), 16, A=a, s=s)
    np.testing.assert_allclose(s, a.reshape(64, -1).sum(1), rtol=1e-4, atol=1e-4)


def test_pipelined_copy(adapter):
    a = np.random.default_rng(0).standard_normal(2048).astype(np.float32)
    b = np.zeros(2048, np.float32)
    run(adapter, source_of(kernels.pipelined_copy()), "copy_kernel", (1, 1, 1), (64, 1, 1), 2048, A=a, b=b)
    np.testing.assert_array_equal(b, 2 * a)


@pytest.mark.parametrize(
    ("dropped", "kind"),
    [("    tc_barrier();\n    B[", "race|missing_wait|uninitialised"), ("    tc_wait_async<1>();\n", "missing_wait")],
)
def test_what_is_dropped_is_missed(adapter, dropped, kind):
    from tilecore.simulate.errors import SimulationError

    text = source_of(kernels.pipelined_copy())
    kept = "    B[" if dropped.endswith("B[") else ""
    assert dropped in text
    a, b = np.zeros(2048, np.float32), np.zeros(2048, np.float32)
    with pytest.raises(SimulationError) as caught:
        run(adapter, text.replace(dropped, kept), "copy_kernel", (1, 1, 1), (64, 1, 1), 2048, A=a, b=b)
    assert caught.value.kind in kind.split("|")


def test_ldmatrix_and_mma(adapter):
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in (16 * 64, 64 * 8))
    c = np.zeros(128, np.float32)
    run(adapter, source_of(kernels.mma_tile()), "mma_kernel", (1, 1, 1), (32, 1, 1), 3072, A=a, B=b, c=c)
    wanted = a.reshape(16, 64).astype(np.float32) @ b.reshape(64, 8).astype(np.float32)
    np.testing.assert_allclose(c.reshape(16, 8), wanted, rtol=1e-3, atol=1e-3)


# instruction: elements of a 32-bit word (1 for float64), K, words of a, types of a, b, d in C, numpy's of the three
INSTRUCTIONS = {
    "m16n8k8_f16_f32": (2, 8, "tc_half", "tc_half", "float", np.float16, np.float16, np.float32),
    "m16n8k16_f16_f32": (2, 16, "tc_half", "tc_half", "float", np.float16, np.float16, np.float32),
    "m16n8k8_bf16_f32": (2, 8, "tc_bfloat16", "tc_bfloat16", "float", *[ml_dtypes.bfloat16] * 2, np.float32),
    "m16n8k16_bf16_f32": (2, 16, "tc_bfloat16", "tc_bfloat16", "float", *[ml_dtypes.bfloat16] * 2, np.float32),
    "m16n8k8_tf32_f32": (1, 8, "float", "float", "float", np.float32, np.float32, np.float32),
    "m16n8k16_s8_s8_s32": (4, 16, "signed char", "signed char", "int", np.int8, np.int8, np.int32),
    "m16n8k32_s8_u8_s32": (4, 32, "signed char", "unsigned char", "int", np.int8, np.uint8, np.int32),
    "m16n8k32_e4m3_e5m2_f32": (
        4, 32, "tc_fp8_e4m3", "tc_fp8_e5m2", "float", ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.float32,
    ),
    "m16n8k8_f64_f64": (1, 8, "double", "double", "double", np.float64, np.float64, np.float64),
}  # fmt: skip


def matrix_source(name: str) -> str:
    """One instruction on row-major A (16 x K), B (K x 8) and D (16 x 8), by the layouts of the instruction set."""
    each, k, a, b, d, *_ = INSTRUCTIONS[name]
    words = k // (4 * each)
    return f"""#include "tilecore_cuda.h"

extern "C" __global__ void __launch_bounds__(32) k(const {a}* A, const {b}* B, {d}* D) {{
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  alignas(8) {a} a[{2 * words * each}];
  alignas(8) {b} b[{words * each}];
  {d} d[4];
  for (int i = 0; i < {2 * words}; ++i)
    for (int j = 0; j < {each}; ++j) a[i * {each} + j] = A[(g + i % 2 * 8) * {k} + i / 2 * {4 * each} + t * {each} + j];
  for (int i = 0; i < {words}; ++i)
    for (int j = 0; j < {each}; ++j) b[i * {each} + j] = B[(i * {4 * each} + t * {each} + j) * 8 + g];
  for (int i = 0; i < 4; ++i) d[i] = ({d})1;
  tc_mma_{name}(d, a, b);
  for (int i = 0; i < 4; ++i) D[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
}}
"""


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_matrix_instructions(adapter, name):
    _, k, _, _, _, first, second, third = INSTRUCTIONS[name]
    rng = np.random.default_rng(3)
    a, b = rng.integers(-4, 5, (16, k)).astype(first), rng.integers(0, 5, (k, 8)).astype(second)
    d = np.zeros((16, 8), third)
    run(adapter, matrix_source(name), "k", (1, 1, 1), (32, 1, 1), 0, A=a, B=b, d=d)
    np.testing.assert_array_equal(d, (a.astype(np.float64) @ b.astype(np.float64) + 1).astype(third))


def test_every_function_has_a_simulated_form(adapter):
    from pathlib import Path

    from tilecore.simulate.library import compile_kernels

    text = Path(__file__).with_name("every_function.cu").read_text()
    text = "\n".join(line for line in text.splitlines() if "tc_cluster" not in line)  # clusters are not simulated
    assert compile_kernels(text, ["plain", "together", "from_75", "from_80", "from_89", "from_90"], INCLUDE, ())
