#include "tilecore_cuda.h"

extern "C" __global__ void __launch_bounds__(128) rms_norm_kernel(const tc_half* X, const tc_half* __restrict__ W, tc_half* Y) {
  const int bx = blockIdx.x;
  const int tx = threadIdx.x;
  float row[8];  // rms_norm.py:18
  float squares[8];  // rms_norm.py:19
  float scale;  // rms_norm.py:20
  alignas(16) tc_half X_v[8];  // rms_norm.py:21
  tc_move<16>(X_v, X + bx * 1024 + tx * 8);
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {
    row[s0] = (float)X_v[s0];
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // rms_norm.py:22
    squares[s0] = row[s0] * row[s0];  // rms_norm.py:23
  }
  float total;
  total = 0.0f;  // rms_norm.py:24
  #pragma unroll
  for (int r0 = 0; r0 < 8; ++r0) {
    total += squares[r0];
  }
  float joined;
  joined = total;
  const float other = tc_shuffle_xor(joined, 16, 32);
  joined += other;
  const float other_1 = tc_shuffle_xor(joined, 8, 32);
  joined += other_1;
  const float other_2 = tc_shuffle_xor(joined, 4, 32);
  joined += other_2;
  const float other_3 = tc_shuffle_xor(joined, 2, 32);
  joined += other_3;
  const float other_4 = tc_shuffle_xor(joined, 1, 32);
  joined += other_4;
  total = joined;
  scale = total;
  scale = tc_rsqrt(scale / 256.0f + 1e-06f);  // rms_norm.py:26
  alignas(16) tc_half W_v[8];  // rms_norm.py:27
  tc_move<16>(W_v, W + tx % 32 * 8);
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {
    row[s0] = row[s0] * scale * (float)W_v[s0];  // rms_norm.py:28
  }
  tc_barrier();
  alignas(16) tc_half out_v[8];  // rms_norm.py:29
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {
    out_v[s0] = (tc_half)row[s0];
  }
  tc_move<16>(Y + bx * 1024 + tx * 8, out_v);
}
