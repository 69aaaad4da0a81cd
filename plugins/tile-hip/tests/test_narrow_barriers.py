"""Barriers that order LDS alone: where the pass puts them, and that loads of global memory stay in flight there.

Which barriers these are is tested in tests/unit/lowering/simt/test_shared_barriers.py.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from assembly import assembly, kernels

import tilecore
import tilecore.language as T

BARRIERS = """
#include "tilecore_hip.h"
extern "C" __global__ void __launch_bounds__(256) loop(const float* __restrict__ x, float* __restrict__ y, int n) {
  TC_SHARED(shared);
  float* tile = (float*)shared;
  float value = x[threadIdx.x], total = 0;
  for (int i = 1; i < n; ++i) {
    tile[threadIdx.x] = value;
    value = x[i * 256 + threadIdx.x];  // for the next turn
    tc_shared_barrier();
    total += tile[threadIdx.x ^ 33];
    tc_shared_barrier();
  }
  y[threadIdx.x] = total;
}
"""


def test_loads_stay_in_flight_across_barriers_of_shared_memory(arch, tmp_path):
    (body,) = kernels(assembly(BARRIERS, arch, tmp_path)).values()
    loads = [index for index, text in enumerate(body) if text.startswith("global_load")]
    names = [text.split()[0] for text in body]
    last = loads[-1]  # that of the loop
    barrier = next(index for index in range(last, len(body)) if names[index].startswith("s_barrier"))
    waits = [text for text in body[last:barrier] if text.startswith("s_wait")]
    assert waits
    assert not any("vmcnt" in text or "loadcnt" in text for text in waits)
    assert any("lgkmcnt(0)" in text or "dscnt" in text for text in waits)
    assert not any("_inv" in name for name in names), "the caches of global memory are kept"


SUNK = """
#include "tilecore_hip.h"
extern "C" __global__ void __launch_bounds__(256) branch(const float* __restrict__ x, float* __restrict__ y, int n) {
  TC_SHARED(shared);
  float* tile = (float*)shared;
  tile[threadIdx.x] = x[threadIdx.x];
  tc_shared_barrier();
  const float value = tile[255 - threadIdx.x];
  BARRIER
  if (n > 0) tile[threadIdx.x] = value * 2;
  y[threadIdx.x] = tile[threadIdx.x];
}
"""


@pytest.mark.parametrize("barrier", ["tc_barrier", "tc_shared_barrier", "tc_warp_barrier", "tc_fence_block"])
def test_no_load_is_moved_across_a_barrier(arch, barrier, tmp_path):
    """A value that only a branch behind the barrier uses is read before it: there another thread writes the element."""
    (body,) = kernels(assembly(SUNK.replace("BARRIER", f"{barrier}();"), arch, tmp_path)).values()
    names = [text.split()[0] for text in body]
    branch = next(index for index, name in enumerate(names) if name.startswith("s_cbranch"))
    assert any(re.match("ds_(read|load)", name) for name in names[:branch])


def test_barriers_of_products_order_lds_alone_where_that_is_cheaper():
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=64):
            a, c = T.alloc_shared((64, 16), "float32"), T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[0, k * 16], a)
                T.gemm(a, a, c, transpose_B=True)
            T.copy(c, C)

    rdna, cdna = (
        tilecore.compile(kernel, target=f"hip -arch={arch}", execution_backend="sim") for arch in ("gfx1100", "gfx942")
    )
    loop, _, after = rdna.get_kernel_source().partition("tc_barrier()")
    assert "tc_shared_barrier()" in loop
    assert after.count("barrier()") == 0, "the last one is before C, which may be the tensor A"
    assert "tc_shared_barrier()" not in cdna.get_kernel_source()
    a = np.random.default_rng(0).integers(-3, 4, (64, 64)).astype(np.float32)
    for built in (rdna, cdna):
        c = np.zeros((64, 64), np.float32)
        built(a, c)
        np.testing.assert_array_equal(c, a @ a.T)
