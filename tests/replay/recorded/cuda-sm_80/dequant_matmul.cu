#include "tilecore_cuda.h"

extern "C" __global__ void __launch_bounds__(128) dequant_matmul_split_kernel_0(const tc_half* __restrict__ A, const unsigned char* __restrict__ W, const tc_half* __restrict__ Scale, const tc_half* __restrict__ Zero, const tc_half* __restrict__ C, float* __restrict__ Part) {
  const int bx = blockIdx.x, by = blockIdx.y, split = blockIdx.z;
  const int tx = threadIdx.x;
  TC_SHARED(shared);  // 33280 bytes
  float C_local[8];  // dequant_matmul.py:92
  tc_half* A_shared = (tc_half*)(shared + 16384);  // dequant_matmul.py:45
  unsigned char* W_packed = (unsigned char*)(shared + 0);  // dequant_matmul.py:46
  tc_half* Scale_shared = (tc_half*)(shared + 32768);  // dequant_matmul.py:47
  tc_half* Zero_shared = (tc_half*)(shared + 33024);  // dequant_matmul.py:48
  alignas(4) tc_half W_local[64];  // dequant_matmul.py:49
  Scale_shared[tx] = Scale[bx * 256 + tx / 2 * 4 + split * 2 + tx % 2];  // dequant_matmul.py:50
  Zero_shared[tx] = Zero[bx * 256 + tx / 2 * 4 + split * 2 + tx % 2];  // dequant_matmul.py:51
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:52
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      #pragma unroll
      for (int s2 = 0; s2 < 2; ++s2) {
        C_local[s0 * 4 + s1 * 2 + s2] = 0.0f;
      }
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:55
    tc_copy_async<16>(W_packed + s0 * 2048 + tx * 16, W + bx * 8192 + s0 * 4096 + tx / 4 * 128 + split * 64 + tx % 4 * 16, true);
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:56
    tc_copy_async<16>(A_shared + s0 * 1024 + tx / 16 * 128 + ((tx % 16) ^ (tx % 128 / 16)) * 8, A + by * 4096 + s0 * 2048 + tx / 16 * 256 + split * 128 + tx % 16 * 8, true);
  }
  tc_commit_async();
  if (false) {
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:55
      tc_copy_async<16>(W_packed + s0 * 2048 + tx * 16 + 4096, W + bx * 8192 + s0 * 4096 + tx / 4 * 128 + split * 64 + tx % 4 * 16 + 64, split * 64 + 64 + (0 + tx % 4 * 16) < 128);
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:56
      tc_copy_async<16>(A_shared + s0 * 1024 + tx / 16 * 128 + ((tx % 16) ^ (tx % 128 / 16)) * 8 + 2048, A + by * 4096 + s0 * 2048 + tx / 16 * 256 + split * 128 + tx % 16 * 8 + 128, split * 128 + 1 * 128 + (0 + tx % 16 * 8) < 256);
    }
  }
  tc_commit_async();
  if (false) {
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:55
      tc_copy_async<16>(W_packed + s0 * 2048 + tx * 16 + 8192, W + bx * 8192 + s0 * 4096 + tx / 4 * 128 + split * 64 + tx % 4 * 16 + 128, split * 64 + 128 + (0 + tx % 4 * 16) < 128);
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:56
      tc_copy_async<16>(A_shared + s0 * 1024 + tx / 16 * 128 + ((tx % 16) ^ (tx % 128 / 16)) * 8 + 4096, A + by * 4096 + s0 * 2048 + tx / 16 * 256 + split * 128 + tx % 16 * 8 + 256, split * 128 + 2 * 128 + (0 + tx % 16 * 8) < 256);
    }
  }
  tc_commit_async();
  for (int step = 0; step < 1; ++step) {  // dequant_matmul.py:53
    tc_wait_async<2>();
    tc_barrier();
    if (step < -2) {
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:55
        tc_copy_async<16>(W_packed + s0 * 2048 + tx * 16 + 12288, W + bx * 8192 + s0 * 4096 + tx / 4 * 128 + split * 64 + tx % 4 * 16 + 192, split * 64 + step * 64 + 192 + (0 + tx % 4 * 16) < 128);
      }
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:56
        tc_copy_async<16>(A_shared + s0 * 1024 + tx / 16 * 128 + ((tx % 16) ^ (tx % 128 / 16)) * 8 + 6144, A + by * 4096 + s0 * 2048 + tx / 16 * 256 + split * 128 + tx % 16 * 8 + 384, split * 128 + (step + 3) * 128 + (0 + tx % 16 * 8) < 256);
      }
    }
    tc_commit_async();
    #pragma unroll
    for (int s0 = 0; s0 < 16; ++s0) {  // dequant_matmul.py:57
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        const unsigned pair = tc_bit_pair<4, 0xf, 0x6400>((unsigned)(int)W_packed[tx / 32 * 1024 + s1 * 512 + tx % 32 / 4 * 64 + s0 * 4 + tx % 4]);
        #pragma unroll
        for (int s2 = 0; s2 < 2; ++s2) {
          const tc_half number = tc_bits<tc_half>((unsigned short)tc_half_of_pair(pair, s2));  // dequant_matmul.py:59
          W_local[s0 * 4 + s1 * 2 + s2] = (number - (Zero_shared[tx / 32 * 32 + s1 * 16 + tx % 32 / 4 * 2 + s0 / 8] + tc_half::from_bits(0x6400 /* 1024 */))) * Scale_shared[tx / 32 * 32 + s1 * 16 + tx % 32 / 4 * 2 + s0 / 8];  // dequant_matmul.py:61
        }
      }
    }
    alignas(4) tc_half b[16];
    tc_ldmatrix_x4(b, A_shared + tx / 128 * 2048 + tx % 32 / 16 * 1024 + tx % 8 * 128 + ((tx % 16 / 8) ^ (tx % 8)) * 8);  // dequant_matmul.py:62
    #pragma unroll
    for (int step_1 = 0; step_1 < 7; ++step_1) {
      tc_ldmatrix_x4(b + (step_1 + 1) % 2 * 8, A_shared + tx / 128 * 2048 + tx % 32 / 16 * 1024 + tx % 8 * 128 + ((step_1 * 2 + tx % 16 / 8 + 2) ^ (tx % 8)) * 8);
      #pragma unroll
      for (int j = 0; j < 2; ++j) {
        tc_mma_m16n8k16_f16_f32(C_local + j * 4, W_local + step_1 * 8, b + step_1 % 2 * 8 + j * 4);
      }
    }
    #pragma unroll
    for (int j = 0; j < 2; ++j) {
      tc_mma_m16n8k16_f16_f32(C_local + j * 4, W_local + 56, b + j * 4 + 8);
    }
  }
  tc_wait_async<0>();
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:94
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      #pragma unroll
      for (int s2 = 0; s2 < 2; ++s2) {
        Part[split * 4096 + by * 4096 + s0 * 2048 + tx % 4 * 512 + s2 * 256 + bx * 64 + tx / 32 * 16 + s1 * 8 + tx % 32 / 4] = C_local[s0 * 4 + s1 * 2 + s2];  // dequant_matmul.py:95
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(128) dequant_matmul_split_kernel_1(const tc_half* __restrict__ A, const unsigned char* __restrict__ W, const tc_half* __restrict__ Scale, const tc_half* __restrict__ Zero, tc_half* __restrict__ C, const float* __restrict__ Part) {
  const int bx_1 = blockIdx.x, row = blockIdx.y;
  const int tx_1 = threadIdx.x;
  float total[2];  // dequant_matmul.py:97
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:98
    total[s0] = 0.0f;
  }
  #pragma unroll
  for (int split_1 = 0; split_1 < 2; ++split_1) {  // dequant_matmul.py:99
    alignas(8) float Part_v[2];  // dequant_matmul.py:100
    tc_move<8>(Part_v, Part + split_1 * 4096 + row * 256 + bx_1 * 256 + tx_1 * 2);
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {
      total[s0] += Part_v[s0];  // dequant_matmul.py:101
    }
  }
  alignas(4) tc_half out_v[2];  // dequant_matmul.py:102
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {
    out_v[s0] = (tc_half)total[s0];
  }
  tc_move<4>(C + row * 256 + bx_1 * 256 + tx_1 * 2, out_v);
}
