#include "tilecore_cuda.h"

extern "C" __global__ void __launch_bounds__(160) matmul_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, const __grid_constant__ tc_tensor_map A_map, const __grid_constant__ tc_tensor_map B_map) {
  const int bx = blockIdx.x, by = blockIdx.y;
  const int tx = threadIdx.x;
  TC_SHARED(shared);  // 65680 bytes
  float* A_shared = (float*)(shared + 0);
  float* B_shared = (float*)(shared + 32768);
  unsigned long long* A_shared_B_shared_full = (unsigned long long*)(shared + 65536);
  unsigned long long* A_shared_B_shared_empty = (unsigned long long*)(shared + 65664);
  if (tx == 0) {
    tc_transaction_init(A_shared_B_shared_full, 1);
    tc_transaction_init(A_shared_B_shared_empty, 4);
    tc_transaction_init(A_shared_B_shared_full + 1, 1);
    tc_transaction_init(A_shared_B_shared_empty + 1, 4);
    tc_transaction_fence_init();
  }
  tc_barrier();
  if (tx < 128) {
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
    for (int k = 0; k < 8; ++k) {  // matmul.py:27
      tc_transaction_wait(A_shared_B_shared_full + k % 2, k % 4 / 2);
      alignas(16) float a[64];
      alignas(16) float b[32];
      for (int k_group = 0; k_group < 2; ++k_group) {
        #pragma unroll
        for (int k_1 = 0; k_1 < 4; ++k_1) {
          #pragma unroll
          for (int i = 0; i < 16; ++i) {
            tc_move<16>(a + i * 4, A_shared + k % 2 * 4096 + i * 256 + tx % 64 / 16 * 64 + tx % 2 * 32 + ((k_group * 4 + k_1) ^ (tx % 64 / 16 * 2 + tx % 2)) * 4);  // matmul.py:30
          }
          #pragma unroll
          for (int i = 0; i < 4; ++i) {
            #pragma unroll
            for (int i_1 = 0; i_1 < 2; ++i_1) {
              tc_move<16>(b + i * 8 + i_1 * 4, B_shared + k % 2 * 4096 + i_1 * 2048 + tx / 64 * 1024 + k_group * 512 + k_1 * 128 + i * 32 + ((tx % 16 / 2) ^ (k_1 % 2 * 4 + i)) * 4);
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
      tc_fence_async();
      tc_warp_barrier();
      if (tx % 32 == 0) {
        tc_transaction_arrive(A_shared_B_shared_empty + k % 2);
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 16; ++s0) {  // matmul.py:31
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        tc_move<16>(C + by * 32768 + s0 * 2048 + tx % 64 / 16 * 512 + tx % 2 * 256 + bx * 128 + s1 * 64 + tx / 64 * 32 + tx % 16 / 2 * 4, C_local + s0 * 8 + s1 * 4);
      }
    }
  } else if (tx == 128) {
    for (int k = 0; k < 8; ++k) {  // matmul.py:27
      tc_transaction_wait(A_shared_B_shared_empty + k % 2, (k / 2 + 1) % 2);  // matmul.py:29
      tc_transaction_arrive_expect(A_shared_B_shared_full + k % 2, 32768);
      tc_tensor_load(A_shared + k % 2 * 4096 + (0 ^ 0) * 4, &A_map, A_shared_B_shared_full + k % 2, k * 32, by * 128);  // matmul.py:28
      tc_tensor_load(B_shared + k % 2 * 4096 + (0 ^ 0) * 4, &B_map, A_shared_B_shared_full + k % 2, 0, k * 32, bx * 4);  // matmul.py:29
    }
  }
}
