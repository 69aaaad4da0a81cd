#include "tilecore_opencl.h"

kernel __attribute__((reqd_work_group_size(128, 1, 1))) void vector_add_kernel(global const float* restrict A, global const float* restrict B, global float* restrict C, global int* tc_failed, local int* tc_votes) {
  const int bx = get_group_id(0);
  const int tx = get_local_id(0);
  #pragma unroll
  for (int move = 0; move < 2; ++move) {  // vector_add.py:20
    alignas(16) float A_v[4];
    tc_move_16(A_v, A + bx * 1024 + tx * 8 + move * 4);
    alignas(16) float B_v[4];
    tc_move_16(B_v, B + bx * 1024 + tx * 8 + move * 4);
    alignas(16) float out_v[4];
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {
      out_v[s0] = A_v[s0] + B_v[s0];  // vector_add.py:21
    }
    tc_move_16(C + bx * 1024 + tx * 8 + move * 4, out_v);
  }
}
