#include "tilecore_opencl.h"

kernel __attribute__((reqd_work_group_size(128, 1, 1))) void rms_norm_kernel(global const tc_half* X, global const tc_half* restrict W, global tc_half* Y, global int* tc_failed, local int* tc_votes) {
  const int bx = get_group_id(0);
  const int tx = get_local_id(0);
  local uchar shared[512] __attribute__((aligned(1024)));
  float row[16];  // rms_norm.py:49
  float squares[16];  // rms_norm.py:50
  float scale[2];  // rms_norm.py:51
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // rms_norm.py:52
    alignas(16) tc_half X_v[8];
    tc_move_16(X_v, X + bx * 2048 + s0 * 1024 + tx * 8);
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      row[s0 * 8 + s1] = tc_single(X_v[s1]);
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
    local tc_any_float* joined_of_warps = (local tc_any_float*)(shared + 0);
    tc_barrier();
    joined_of_warps[tx] = joined;
    tc_barrier();
    joined = joined_of_warps[tx / 32 * 32];
    for (int w = 0; w < 31; ++w) {
      const float other = joined_of_warps[tx / 32 * 32 + w + 1];
      joined += other;
    }
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
    tc_move_16(W_v, W + tx % 32 * 8);
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      row[s0 * 8 + s1] = row[s0 * 8 + s1] * scale[s0] * tc_single(W_v[s1]);  // rms_norm.py:59
    }
  }
  tc_barrier();
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // rms_norm.py:60
    alignas(16) tc_half out_v[8];
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      out_v[s1] = tc_half_from(row[s0 * 8 + s1]);
    }
    tc_move_16(Y + bx * 2048 + s0 * 1024 + tx * 8, out_v);
  }
}
