#include "tilecore_opencl.h"

kernel __attribute__((reqd_work_group_size(128, 1, 1))) void rms_norm_kernel(global const tc_half* restrict X, global const tc_half* restrict W, global tc_half* restrict Y, global int* tc_failed, local int* tc_votes) {
  const int bx = get_group_id(0);
  const int tx = get_local_id(0);
  local uchar shared[512] __attribute__((aligned(1024)));
  float row[8];  // rms_norm.py:18
  float squares[8];  // rms_norm.py:19
  float scale;  // rms_norm.py:20
  alignas(16) tc_half X_v[8];  // rms_norm.py:21
  tc_move_16(X_v, X + bx * 1024 + tx * 8);
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {
    row[s0] = tc_single(X_v[s0]);
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
  local tc_any_float* joined_of_warps = (local tc_any_float*)(shared + 0);
  joined_of_warps[tx] = joined;
  tc_barrier();
  joined = joined_of_warps[tx / 32 * 32];
  for (int w = 0; w < 31; ++w) {
    const float other = joined_of_warps[tx / 32 * 32 + w + 1];
    joined += other;
  }
  total = joined;
  scale = total;
  scale = tc_rsqrt(scale / 256.0f + 1e-06f);  // rms_norm.py:26
  alignas(16) tc_half W_v[8];  // rms_norm.py:27
  tc_move_16(W_v, W + tx % 32 * 8);
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {
    row[s0] = row[s0] * scale * tc_single(W_v[s0]);  // rms_norm.py:28
  }
  alignas(16) tc_half out_v[8];  // rms_norm.py:29
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {
    out_v[s0] = tc_half_from(row[s0]);
  }
  tc_move_16(Y + bx * 1024 + tx * 8, out_v);
}
