#include "tilecore_opencl.h"

kernel __attribute__((reqd_work_group_size(128, 1, 1))) void vector_add_kernel(global const float* restrict A, global const float* restrict B, global float* restrict C, global int* tc_failed, local int* tc_votes) {
  const int bx = get_group_id(0);
  const int tx = get_local_id(0);
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // vector_add.py:20
    C[bx * 1024 + tx * 8 + s0] = A[bx * 1024 + tx * 8 + s0] + B[bx * 1024 + tx * 8 + s0];  // vector_add.py:21
  }
}
