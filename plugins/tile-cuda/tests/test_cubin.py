"""What cubins say of their kernels is what ptxas reports when it makes them."""

from __future__ import annotations

import re

import pytest
from test_header import ARCHITECTURES, compiler
from tile_cuda import architectures, cubin, nvcc

SOURCE = """
extern "C" __global__ void plain_kernel(float* a) { a[threadIdx.x] *= 2; }
extern "C" __global__ void __launch_bounds__(1024, 2) crowded_kernel(float* a, int n) {
  float v[64];
#pragma unroll
  for (int i = 0; i < 64; i++) v[i] = a[i * 1024 + threadIdx.x];
  __syncthreads();
  for (int k = 0; k < n; k++) {
#pragma unroll
    for (int i = 0; i < 64; i++) v[i] = v[i] * v[(i * 7 + 3) % 64] + a[k];
  }
#pragma unroll
  for (int i = 0; i < 64; i++) a[i * 1024 + threadIdx.x] = v[i];
}
"""
REPORT = re.compile(r"entry function '(\w+)'.*?(\d+) bytes stack frame.*?Used (\d+) registers", re.DOTALL)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_registers_and_stack_are_those_of_ptxas(name):
    arch = architectures.parse(name)
    options = [f"-gencode=arch={arch.virtual},code={arch.name}", "-Xptxas", "-v"]
    binary, messages = compiler(nvcc, name).compile(SOURCE, (), options, "kernel")
    reported = {m[1]: {"registers": int(m[3]), "stack_bytes": int(m[2])} for m in REPORT.finditer(messages)}
    assert set(reported) == {"plain_kernel", "crowded_kernel"}
    assert cubin.describe(binary) == reported
    assert reported["crowded_kernel"]["stack_bytes"] > 0


@pytest.mark.parametrize("binary", [b"", b"\x07cubin", b"\x7fELF", b"\x7fELF" + bytes(100), bytes(300)])
def test_bytes_that_are_not_a_cubin(binary):
    assert cubin.describe(binary) == {}
