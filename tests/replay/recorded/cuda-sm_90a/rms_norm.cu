#include "tilecore_cuda.h"

extern "C" __global__ void __launch_bounds__(128) rms_norm_kernel(const tc_half* X, const tc_half* __restrict__ W, tc_half* Y) {
  const int bx = blockIdx.x;
  const int tx = threadIdx.x;
  float row[16];  // rms_norm.py:49
  float squares[16];  // rms_norm.py:50
  float scale[2];  // rms_norm.py:51
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // rms_norm.py:52
    alignas(16) tc_half X_v[8];
    tc_move<16>(X_v, X + bx * 2048 + s0 * 1024 + tx * 8);
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      row[s0 * 8 + s1] = (float)X_v[s1];
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // rms_norm.py:53
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      squares[s0 * 8 + s1] = row[s0 * 8 + s1] * row[s0 * 8 + s1];  // rms_norm.py:54
    }
  }
  #pragma unroll
  for (int r0 = 0; r0 < 2; ++r0) {  // rms_norm.py:55
    float total;
    total = 0.0f;
    #pragma unroll
    for (int r1 = 0; r1 < 8; ++r1) {
      total += squares[r0 * 8 + r1];
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
    scale[r0] = total;
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // rms_norm.py:56
    scale[s0] = tc_rsqrt(scale[s0] / 256.0f + 1e-06f);  // rms_norm.py:57
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // rms_norm.py:58
    alignas(16) tc_half W_v[8];
    tc_move<16>(W_v, W + tx % 32 * 8);
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      row[s0 * 8 + s1] = row[s0 * 8 + s1] * scale[s0] * (float)W_v[s1];  // rms_norm.py:59
    }
  }
  tc_barrier();
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // rms_norm.py:60
    alignas(16) tc_half out_v[8];
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      out_v[s1] = (tc_half)row[s0 * 8 + s1];
    }
    tc_move<16>(Y + bx * 2048 + s0 * 1024 + tx * 8, out_v);
  }
}
