#include "tilecore_opencl.h"

kernel __attribute__((reqd_work_group_size(128, 1, 1))) void matmul_kernel(global const float* A, global const float* B, global float* C, global int* tc_failed, local int* tc_votes) {
  const int bx = get_group_id(0), by = get_group_id(1);
  const int tx = get_local_id(0);
  local uchar shared[69632] __attribute__((aligned(1024)));
  local tc_any_float* A_shared = (local tc_any_float*)(shared + 0);  // matmul.py:23
  local tc_any_float* B_shared = (local tc_any_float*)(shared + 36864);  // matmul.py:24
  alignas(16) float C_local[128];  // matmul.py:25
  #pragma unroll
  for (int s0 = 0; s0 < 16; ++s0) {  // matmul.py:26
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      #pragma unroll
      for (int s2 = 0; s2 < 4; ++s2) {
        C_local[s0 * 8 + s1 * 4 + s2] = 0.0f;
      }
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // matmul.py:28
    tc_move_16(A_shared + s0 * 576 + tx / 8 * 36 + tx % 8 * 4, A + by * 32768 + s0 * 4096 + tx / 8 * 256 + tx % 8 * 4);
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // matmul.py:29
    tc_move_16(B_shared + s0 * 512 + tx * 4, B + s0 * 1024 + tx / 32 * 256 + bx * 128 + tx % 32 * 4);
  }
  for (int k = 0; k < 8; ++k) {  // matmul.py:27
    tc_barrier();
    if (k < 7) {
      #pragma unroll
      for (int s0 = 0; s0 < 8; ++s0) {  // matmul.py:28
        tc_move_16(A_shared + (k + 1) % 2 * 4608 + s0 * 576 + tx / 8 * 36 + tx % 8 * 4, A + by * 32768 + s0 * 4096 + tx / 8 * 256 + k * 32 + tx % 8 * 4 + 32);
      }
      #pragma unroll
      for (int s0 = 0; s0 < 8; ++s0) {  // matmul.py:29
        tc_move_16(B_shared + (k + 1) % 2 * 4096 + s0 * 512 + tx * 4, B + k * 8192 + s0 * 1024 + tx / 32 * 256 + bx * 128 + tx % 32 * 4 + 8192);
      }
    }
    alignas(16) float a[64];
    alignas(16) float b[32];
    for (int k_1 = 0; k_1 < 8; ++k_1) {
      #pragma unroll
      for (int i = 0; i < 16; ++i) {
        tc_move_16(a + i * 4, A_shared + k % 2 * 4608 + i * 288 + tx / 64 * 144 + tx % 32 / 8 * 36 + k_1 * 4);  // matmul.py:30
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int i_1 = 0; i_1 < 2; ++i_1) {
          tc_move_16(b + i * 8 + i_1 * 4, B_shared + k % 2 * 4096 + k_1 * 512 + i * 128 + i_1 * 64 + tx % 64 / 32 * 32 + tx % 8 * 4);
        }
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int i_1 = 0; i_1 < 16; ++i_1) {
          #pragma unroll
          for (int i_2 = 0; i_2 < 8; ++i_2) {
            C_local[i_1 * 8 + i_2] = tc_fma(a[i_1 * 4 + i], b[i * 8 + i_2], C_local[i_1 * 8 + i_2]);
          }
        }
      }
    }
  }
  tc_barrier();
  #pragma unroll
  for (int s0 = 0; s0 < 16; ++s0) {  // matmul.py:31
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      tc_move_16(C + by * 32768 + s0 * 2048 + tx / 64 * 1024 + tx % 32 / 8 * 256 + bx * 128 + s1 * 64 + tx % 64 / 32 * 32 + tx % 8 * 4, C_local + s0 * 8 + s1 * 4);
    }
  }
}
