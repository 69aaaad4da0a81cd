"""Emitted CUDA C++: its text, and that the compilers take it for every architecture."""

from __future__ import annotations

import json

import pytest
import thread_kernels as kernels
from test_header import compiler
from tile_cuda import architectures, codegen, nvcc, nvrtc, toolchain
from tile_cuda.target import DTYPES

MADE = {
    "vector_add": kernels.vector_add,
    "block_sum": kernels.block_sum,
    "pipelined_copy": kernels.pipelined_copy,
    "mma_tile": kernels.mma_tile,
    "expressions": lambda: kernels.expressions(
        [t for t in DTYPES if "int4" not in t and t not in ("tfloat32", "float4_e2m1fn", "float8_e8m0fnu")]
    ),
}
LEAST = {"mma_tile": 80}


def emitted(name: str) -> str:
    return codegen.build(MADE[name](), "cuda -arch=sm_90a")["source"]


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", MADE)
def test_kernels_compile_with_nvcc(name, arch):
    architecture = architectures.parse(arch)
    if architecture.capability < LEAST.get(name, 0):
        pytest.skip(f"{name} needs sm_{LEAST[name]}")
    options = [f"-gencode=arch={architecture.virtual},code={architecture.name}", "-std=c++17", "-Werror=all-warnings"]
    binary, messages = compiler(nvcc, arch).compile(emitted(name), toolchain.INCLUDE, options, name)
    assert binary is not None, messages[:3000]


@pytest.mark.parametrize("name", MADE)
def test_kernels_compile_with_nvrtc(name):
    tool = compiler(nvrtc, "sm_90a")
    options = ["--gpu-architecture=sm_90a", "--std=c++17"]
    binary, messages = tool.compile(emitted(name), toolchain.headers(), options)
    assert binary is not None, messages[:3000]


def test_vector_add_as_it_is():
    assert emitted("vector_add") == (
        '#include "tilecore_cuda.h"\n\n'
        'extern "C" __global__ void __launch_bounds__(256) add_kernel(const float* __restrict__ A, '
        "const float* __restrict__ B, float* __restrict__ C, int n) {\n"
        "  const int bx = blockIdx.x;\n"
        "  const int tx = threadIdx.x;\n"
        "  if ((bx * 256 + tx) * 4 + 3 < n) {\n"
        "    alignas(16) float a[4];\n"
        "    alignas(16) float b[4];\n"
        "    tc_move<16>(a, A + (bx * 256 + tx) * 4);\n"
        "    tc_move<16>(b, B + (bx * 256 + tx) * 4);\n"
        "    #pragma unroll\n"
        "    for (int i = 0; i < 4; ++i) {\n"
        "      a[i] += b[i];\n"
        "    }\n"
        "    tc_move<16>(C + (bx * 256 + tx) * 4, a);\n"
        "  }\n"
        "}\n"
    )


def test_matrix_instructions_are_calls():
    text = emitted("mma_tile")
    assert "tc_ldmatrix_x4(a, A_shared + tx % 16 * 64 + kk * 16 + tx / 16 * 8);" in text
    assert "tc_ldmatrix_x2_trans(b, B_shared + (kk * 16 + tx % 16) * 8);" in text
    assert "tc_mma_m16n8k16_f16_f32(c, a, b);" in text
    assert "TC_SHARED(shared);  // 3072 bytes" in text
    facts = json.loads(codegen.build(kernels.mma_tile(), "cuda")["entries"])
    assert facts["mma_kernel"]["shared_bytes"] == 3072


def test_heads():
    from tilecore.codegen.dialect import KernelHead

    plain = KernelHead("k", [("int", "n")], (128, 2, 1))
    assert codegen.head(plain) == 'extern "C" __global__ void __launch_bounds__(256) k(int n)'
    full = KernelHead("k", [("int", "n")], (384, 1, 1), 2, (2, 1, 1))
    assert codegen.head(full).startswith(
        'extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 2)'
    )
