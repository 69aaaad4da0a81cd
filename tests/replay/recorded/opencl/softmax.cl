#include "tilecore_opencl.h"

kernel __attribute__((reqd_work_group_size(128, 1, 1))) void softmax_kernel(global const float* X, global float* Y, global int* tc_failed, local int* tc_votes) {
  const int bx = get_group_id(0);
  const int tx = get_local_id(0);
  local uchar shared[512] __attribute__((aligned(1024)));
  alignas(16) float row[16];  // softmax.py:64
  float largest[4];  // softmax.py:65
  float scale[4];  // softmax.py:66
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // softmax.py:67
    tc_move_16(row + s0 * 4, X + bx * 2048 + s0 * 512 + tx * 4);
  }
  #pragma unroll
  for (int r0 = 0; r0 < 4; ++r0) {  // softmax.py:68
    float total;
    total = -TC_INFINITY;
    #pragma unroll
    for (int r1 = 0; r1 < 4; ++r1) {
      total = tc_max(total, row[r0 * 4 + r1]);
    }
    float joined;
    joined = total;
    local tc_any_float* joined_of_warps = (local tc_any_float*)(shared + 0);
    tc_barrier();
    joined_of_warps[tx] = joined;
    tc_barrier();
    joined = joined_of_warps[tx / 64 * 64];
    for (int w = 0; w < 63; ++w) {
      const float other = joined_of_warps[tx / 64 * 64 + w + 1];
      joined = tc_max(joined, other);
    }
    total = joined;
    largest[r0] = total;
  }
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // softmax.py:69
    #pragma unroll
    for (int s1 = 0; s1 < 4; ++s1) {
      row[s0 * 4 + s1] = tc_exp2((row[s0 * 4 + s1] - largest[s0]) * 0x1.715476p+0f);  // softmax.py:70
    }
  }
  #pragma unroll
  for (int r0 = 0; r0 < 4; ++r0) {  // softmax.py:71
    float total_1;
    total_1 = 0.0f;
    #pragma unroll
    for (int r1 = 0; r1 < 4; ++r1) {
      total_1 += row[r0 * 4 + r1];
    }
    float joined_1;
    joined_1 = total_1;
    local tc_any_float* joined_of_warps_1 = (local tc_any_float*)(shared + 0);
    tc_barrier();
    joined_of_warps_1[tx] = joined_1;
    tc_barrier();
    joined_1 = joined_of_warps_1[tx / 64 * 64];
    for (int w = 0; w < 63; ++w) {
      const float other_1 = joined_of_warps_1[tx / 64 * 64 + w + 1];
      joined_1 += other_1;
    }
    total_1 = joined_1;
    scale[r0] = total_1;
  }
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // softmax.py:72
    scale[s0] = 1.0f / scale[s0];  // softmax.py:73
  }
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // softmax.py:74
    #pragma unroll
    for (int s1 = 0; s1 < 4; ++s1) {
      row[s0 * 4 + s1] *= scale[s0];  // softmax.py:75
    }
  }
  tc_barrier();
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // softmax.py:76
    tc_move_16(Y + bx * 2048 + s0 * 512 + tx * 4, row + s0 * 4);
  }
}
