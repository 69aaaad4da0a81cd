"""Every matrix product of a warpgroup compiles for sm_90a, to the instruction that its name says."""

from __future__ import annotations

import re

import pytest
from test_header import compiler
from tile_cuda import nvcc, nvrtc, toolchain
from warpgroup_products import Product, compiled_kernel, sizes_of, types


def source_of(products: list[Product]) -> str:
    return '#include "tilecore_cuda.h"\n' + "\n".join(map(compiled_kernel, products))


@pytest.mark.parametrize("kind", [*types()], ids="_".join)
def test_every_size_compiles(kind):
    a, b, c = kind
    products = [Product(n, a, b, c) for n in sizes_of(c)]
    binary, said = compiler(nvrtc, "sm_90a").compile(
        source_of(products), toolchain.headers(), ["--gpu-architecture=sm_90a", "--std=c++17"]
    )
    assert binary is not None, said[:3000]


def test_nothing_serializes_a_plain_loop():
    text = """#include "tilecore_cuda.h"
TC_WGMMA(128, 16, f16, f16, f32)
extern "C" __global__ void __launch_bounds__(128) loop(float* out, int steps) {
  TC_SHARED(shared);
  float d[64];
  for (int step = 0; step < steps; ++step) {
    tc_warpgroup_begin();
    for (int part = 0; part < 4; ++part)
      tc_wgmma_n128k16_f16_f16_f32<false, true>(d, tc_operand(shared + part * 32, 16, 1024, 1),
                                                tc_operand(shared + 8192 + part * 2048, 8192, 1024, 1), step | part);
    tc_warpgroup_commit();
    tc_warpgroup_wait<1>();
  }
  tc_warpgroup_wait<0>();
  tc_warpgroup_settle<64>(d);
  for (int i = 0; i < 64; ++i) out[i * 128 + threadIdx.x] = d[i];
}
"""
    options = ["-gencode=arch=compute_90a,code=sm_90a", "-std=c++17", "-Xptxas", "-v"]
    binary, said = compiler(nvcc, "sm_90a").compile(text, toolchain.INCLUDE, options, "loop")
    assert binary is not None, said[:3000]
    assert "C75" not in said, said
    assert "serialized" not in said
    assert re.search(r"0 bytes spill stores", said) or "spill" not in said


@pytest.mark.parametrize("call", ["tc_wgmma_n8k32_e4m3_e4m3_f32<true, false>(d, 0, 0, true)",
                                  "tc_wgmma_held_n8k32_e4m3_e4m3_f32<true>(d, 0, 0, true)"])  # fmt: skip
def test_only_16_bit_tiles_turn(call):
    text = f"""#include "tilecore_cuda.h"
TC_WGMMA(8, 32, e4m3, e4m3, f32)
extern "C" __global__ void k(float* d) {{ {call}; }}
"""
    tool = compiler(nvrtc, "sm_90a")
    binary, said = tool.compile(text, toolchain.headers(), ["--gpu-architecture=sm_90a", "--std=c++17"])
    assert binary is None
    assert "16-bit elements" in said
