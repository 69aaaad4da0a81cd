#include "tilecore_opencl.h"

kernel __attribute__((reqd_work_group_size(128, 1, 1))) void softmax_kernel(global const float* X, global float* Y, global int* tc_failed, local int* tc_votes) {
  const int bx = get_group_id(0);
  const int tx = get_local_id(0);
  local uchar shared[512] __attribute__((aligned(1024)));
  alignas(16) float row[8];  // softmax.py:20
  float largest[2];  // softmax.py:21
  float total[2];  // softmax.py:22
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // softmax.py:23
    tc_move_16(row + s0 * 4, X + bx * 1024 + s0 * 512 + tx * 4);
  }
  #pragma unroll
  for (int r0 = 0; r0 < 2; ++r0) {  // softmax.py:24
    float total_1;
    total_1 = -TC_INFINITY;
    #pragma unroll
    for (int r1 = 0; r1 < 4; ++r1) {
      total_1 = tc_max(total_1, row[r0 * 4 + r1]);
    }
    float joined;
    joined = total_1;
    local tc_any_float* joined_of_warps = (local tc_any_float*)(shared + 0);
    tc_barrier();
    joined_of_warps[tx] = joined;
    tc_barrier();
    joined = joined_of_warps[tx / 64 * 64];
    for (int w = 0; w < 63; ++w) {
      const float other = joined_of_warps[tx / 64 * 64 + w + 1];
      joined = tc_max(joined, other);
    }
    total_1 = joined;
    largest[r0] = total_1;
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // softmax.py:25
    #pragma unroll
    for (int s1 = 0; s1 < 4; ++s1) {
      row[s0 * 4 + s1] = tc_exp(row[s0 * 4 + s1] - largest[s0]);  // softmax.py:26
    }
  }
  #pragma unroll
  for (int r0 = 0; r0 < 2; ++r0) {  // softmax.py:27
    float total_2;
    total_2 = 0.0f;
    #pragma unroll
    for (int r1 = 0; r1 < 4; ++r1) {
      total_2 += row[r0 * 4 + r1];
    }
    float joined_1;
    joined_1 = total_2;
    local tc_any_float* joined_of_warps_1 = (local tc_any_float*)(shared + 0);
    tc_barrier();
    joined_of_warps_1[tx] = joined_1;
    tc_barrier();
    joined_1 = joined_of_warps_1[tx / 64 * 64];
    for (int w = 0; w < 63; ++w) {
      const float other_1 = joined_of_warps_1[tx / 64 * 64 + w + 1];
      joined_1 += other_1;
    }
    total_2 = joined_1;
    total[r0] = total_2;
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // softmax.py:28
    #pragma unroll
    for (int s1 = 0; s1 < 4; ++s1) {
      row[s0 * 4 + s1] = tc_quotient(row[s0 * 4 + s1], total[s0]);  // softmax.py:29
    }
  }
  tc_barrier();
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // softmax.py:30
    tc_move_16(Y + bx * 1024 + s0 * 512 + tx * 4, row + s0 * 4);
  }
}
