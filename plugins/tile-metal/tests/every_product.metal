#include "tilecore_metal.h"

// The matrix unit, which MSL has from 4.0 on.
[[kernel, max_total_threads_per_threadgroup(64)]] void products(device float* x [[buffer(0)]], uint3 tc_block [[threadgroup_position_in_grid]], uint3 tc_thread [[thread_position_in_threadgroup]]) {
  half a[8] = {};
  half b[16] = {};
  float d[16] = {};
  tc_matmul2d<half, false, true>(d, a, b);
  tc_matmul2d<float, true, false>(d, d, d);
  x[tc_thread.x] = d[0];
}
