#include "tilecore_cuda.h"

extern "C" __global__ void __launch_bounds__(128) matmul_kernel(const float* A, const float* B, float* C) {
  const int bx = blockIdx.x, by = blockIdx.y;
  const int tx = threadIdx.x;
  TC_SHARED(shared);  // 69632 bytes
  float* A_shared = (float*)(shared + 0);  // matmul.py:23
  float* B_shared = (float*)(shared + 36864);  // matmul.py:24
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
    tc_copy_async<16>(A_shared + s0 * 576 + tx / 8 * 36 + tx % 8 * 4, A + by * 32768 + s0 * 4096 + tx / 8 * 256 + tx % 8 * 4, true);
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // matmul.py:29
    tc_copy_async<16>(B_shared + s0 * 512 + tx * 4, B + s0 * 1024 + tx / 32 * 256 + bx * 128 + tx % 32 * 4, true);
  }
  tc_commit_async();
  for (int k = 0; k < 8; ++k) {  // matmul.py:27
    tc_wait_async<0>();
    tc_barrier();
    if (k < 7) {
      #pragma unroll
      for (int s0 = 0; s0 < 8; ++s0) {  // matmul.py:28
        tc_copy_async<16>(A_shared + (k + 1) % 2 * 4608 + s0 * 576 + tx / 8 * 36 + tx % 8 * 4, A + by * 32768 + s0 * 4096 + tx / 8 * 256 + k * 32 + tx % 8 * 4 + 32, true);
      }
      #pragma unroll
      for (int s0 = 0; s0 < 8; ++s0) {  // matmul.py:29
        tc_copy_async<16>(B_shared + (k + 1) % 2 * 4096 + s0 * 512 + tx * 4, B + k * 8192 + s0 * 1024 + tx / 32 * 256 + bx * 128 + tx % 32 * 4 + 8192, true);
      }
    }
    tc_commit_async();
    alignas(16) float a[64];
    alignas(16) float b[32];
    for (int k_group = 0; k_group < 2; ++k_group) {
      #pragma unroll
      for (int k_1 = 0; k_1 < 4; ++k_1) {
        #pragma unroll
        for (int i = 0; i < 16; ++i) {
          tc_move<16>(a + i * 4, A_shared + k % 2 * 4608 + i * 288 + tx % 64 / 16 * 72 + tx % 2 * 36 + k_group * 16 + k_1 * 4);  // matmul.py:30
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          #pragma unroll
          for (int i_1 = 0; i_1 < 2; ++i_1) {
            tc_move<16>(b + i * 8 + i_1 * 4, B_shared + k % 2 * 4096 + k_group * 2048 + k_1 * 512 + i * 128 + i_1 * 64 + tx / 64 * 32 + tx % 16 / 2 * 4);
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
  }
  tc_wait_async<0>();
  tc_barrier();
  #pragma unroll
  for (int s0 = 0; s0 < 16; ++s0) {  // matmul.py:31
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      tc_move<16>(C + by * 32768 + s0 * 2048 + tx % 64 / 16 * 512 + tx % 2 * 256 + bx * 128 + s1 * 64 + tx / 64 * 32 + tx % 16 / 2 * 4, C_local + s0 * 8 + s1 * 4);
    }
  }
}
