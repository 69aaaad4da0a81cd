#include "tilecore_cuda.h"

extern "C" __global__ void __launch_bounds__(128) gemm_kernel(const tc_half* __restrict__ A, const tc_half* __restrict__ B, tc_half* __restrict__ C) {
  const int block_x = blockIdx.x, block_y = blockIdx.y;
  const int tx = threadIdx.x;
  TC_SHARED(shared);  // 98304 bytes
  const int block = block_y * 3 + block_x;
  const int step = block / 2;
  const int bx = step;
  const int by = block - step * 2;
  float C_local[128];  // gemm.py:76
  tc_half* A_shared = (tc_half*)(shared + 0);  // gemm.py:54
  tc_half* B_shared = (tc_half*)(shared + 49152);  // gemm.py:55
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // gemm.py:60
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      #pragma unroll
      for (int s2 = 0; s2 < 2; ++s2) {
        #pragma unroll
        for (int s3 = 0; s3 < 2; ++s3) {
          C_local[s0 * 32 + s1 * 4 + s2 * 2 + s3] = 0.0f;
        }
      }
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // gemm.py:66
    tc_copy_async<16>(A_shared + s0 * 1024 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8, A + by * 17408 + s0 * 2176 + tx / 8 * 136 + tx % 8 * 8, by * 128 + (tx / 8 + s0 * 16) < 200);
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // gemm.py:70
    tc_copy_async<16>(B_shared + s0 * 1024 + tx / 16 * 128 + ((tx % 16) ^ (tx % 128 / 16)) * 8, B + s0 * 2112 + tx / 16 * 264 + bx * 128 + tx % 16 * 8, bx * 128 + (0 + tx % 16 * 8) < 264);
  }
  tc_commit_async();
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // gemm.py:66
    tc_copy_async<16>(A_shared + s0 * 1024 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8 + 8192, A + by * 17408 + s0 * 2176 + tx / 8 * 136 + tx % 8 * 8 + 64, by * 128 + (tx / 8 + s0 * 16) < 200);
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // gemm.py:70
    tc_copy_async<16>(B_shared + s0 * 1024 + tx / 16 * 128 + ((tx % 16) ^ (tx % 128 / 16)) * 8 + 8192, B + s0 * 2112 + tx / 16 * 264 + bx * 128 + tx % 16 * 8 + 16896, bx * 128 + (0 + tx % 16 * 8) < 264);
  }
  tc_commit_async();
  alignas(4) tc_half a[64];
  alignas(4) tc_half b[64];
  tc_wait_async<1>();
  tc_barrier();
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    tc_ldmatrix_x4(a + i * 8, A_shared + tx % 64 / 32 * 4096 + i * 1024 + tx % 16 * 64 + ((tx % 32 / 16) ^ (tx % 8)) * 8);  // gemm.py:71
  }
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    tc_ldmatrix_x4_trans(b + j * 8, B_shared + tx % 16 * 128 + ((tx / 64 * 8 + j * 2 + tx % 32 / 16) ^ (tx % 8)) * 8);
  }
  for (int step_1 = 0; step_1 < 3; ++step_1) {  // gemm.py:61
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      tc_ldmatrix_x4(a + i * 8 + 32, A_shared + step_1 * 8192 + tx % 64 / 32 * 4096 + i * 1024 + tx % 16 * 64 + ((tx % 32 / 16 + 2) ^ (tx % 8)) * 8);  // gemm.py:71
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      tc_ldmatrix_x4_trans(b + j * 8 + 32, B_shared + step_1 * 8192 + tx % 16 * 128 + ((tx / 64 * 8 + j * 2 + tx % 32 / 16) ^ (tx % 8)) * 8 + 2048);
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // gemm.py:66
      tc_copy_async<16>(A_shared + (step_1 + 2) % 3 * 8192 + s0 * 1024 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8, A + by * 17408 + s0 * 2176 + tx / 8 * 136 + step_1 * 64 + tx % 8 * 8 + 128, step_1 < 1 && (by * 128 + (tx / 8 + s0 * 16) < 200 && (step_1 + 2) * 64 + (0 + tx % 8 * 8) < 136));
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // gemm.py:70
      tc_copy_async<16>(B_shared + (step_1 + 2) % 3 * 8192 + s0 * 1024 + tx / 16 * 128 + ((tx % 16) ^ (tx % 128 / 16)) * 8, B + step_1 * 16896 + s0 * 2112 + tx / 16 * 264 + bx * 128 + tx % 16 * 8 + 33792, step_1 < 1 && ((step_1 + 2) * 64 + (tx / 16 + s0 * 8) < 136 && bx * 128 + (0 + tx % 16 * 8) < 264));
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        tc_mma_m16n8k16_f16_f32(C_local + i * 32 + j * 4, a + i * 8, b + j * 4);  // gemm.py:71
      }
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      tc_ldmatrix_x4(a + i * 8, A_shared + step_1 * 8192 + tx % 64 / 32 * 4096 + i * 1024 + tx % 16 * 64 + ((tx % 32 / 16 + 4) ^ (tx % 8)) * 8);
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      tc_ldmatrix_x4_trans(b + j * 8, B_shared + step_1 * 8192 + tx % 16 * 128 + ((tx / 64 * 8 + j * 2 + tx % 32 / 16) ^ (tx % 8)) * 8 + 4096);
    }
    #pragma unroll
    for (int s0 = 2; s0 < 5; ++s0) {  // gemm.py:66
      tc_copy_async<16>(A_shared + (step_1 + 2) % 3 * 8192 + s0 * 1024 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8, A + by * 17408 + s0 * 2176 + tx / 8 * 136 + step_1 * 64 + tx % 8 * 8 + 128, step_1 < 1 && (by * 128 + (tx / 8 + s0 * 16) < 200 && (step_1 + 2) * 64 + (0 + tx % 8 * 8) < 136));
    }
    #pragma unroll
    for (int s0 = 2; s0 < 5; ++s0) {  // gemm.py:70
      tc_copy_async<16>(B_shared + (step_1 + 2) % 3 * 8192 + s0 * 1024 + tx / 16 * 128 + ((tx % 16) ^ (tx % 128 / 16)) * 8, B + step_1 * 16896 + s0 * 2112 + tx / 16 * 264 + bx * 128 + tx % 16 * 8 + 33792, step_1 < 1 && ((step_1 + 2) * 64 + (tx / 16 + s0 * 8) < 136 && bx * 128 + (0 + tx % 16 * 8) < 264));
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        tc_mma_m16n8k16_f16_f32(C_local + i * 32 + j * 4, a + i * 8 + 32, b + j * 4 + 32);  // gemm.py:71
      }
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      tc_ldmatrix_x4(a + i * 8 + 32, A_shared + step_1 * 8192 + tx % 64 / 32 * 4096 + i * 1024 + tx % 16 * 64 + ((tx % 32 / 16 + 6) ^ (tx % 8)) * 8);
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      tc_ldmatrix_x4_trans(b + j * 8 + 32, B_shared + step_1 * 8192 + tx % 16 * 128 + ((tx / 64 * 8 + j * 2 + tx % 32 / 16) ^ (tx % 8)) * 8 + 6144);
    }
    #pragma unroll
    for (int s0 = 5; s0 < 8; ++s0) {  // gemm.py:66
      tc_copy_async<16>(A_shared + (step_1 + 2) % 3 * 8192 + s0 * 1024 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8, A + by * 17408 + s0 * 2176 + tx / 8 * 136 + step_1 * 64 + tx % 8 * 8 + 128, step_1 < 1 && (by * 128 + (tx / 8 + s0 * 16) < 200 && (step_1 + 2) * 64 + (0 + tx % 8 * 8) < 136));
    }
    #pragma unroll
    for (int s0 = 5; s0 < 8; ++s0) {  // gemm.py:70
      tc_copy_async<16>(B_shared + (step_1 + 2) % 3 * 8192 + s0 * 1024 + tx / 16 * 128 + ((tx % 16) ^ (tx % 128 / 16)) * 8, B + step_1 * 16896 + s0 * 2112 + tx / 16 * 264 + bx * 128 + tx % 16 * 8 + 33792, step_1 < 1 && ((step_1 + 2) * 64 + (tx / 16 + s0 * 8) < 136 && bx * 128 + (0 + tx % 16 * 8) < 264));
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        tc_mma_m16n8k16_f16_f32(C_local + i * 32 + j * 4, a + i * 8, b + j * 4);  // gemm.py:71
      }
    }
    tc_commit_async();
    tc_wait_async<1>();
    tc_barrier();
    if (step_1 + 1 < 3) {
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        tc_ldmatrix_x4(a + i * 8, A_shared + step_1 * 8192 + tx % 64 / 32 * 4096 + i * 1024 + tx % 16 * 64 + ((tx % 32 / 16) ^ (tx % 8)) * 8 + 8192);
      }
      #pragma unroll
      for (int j = 0; j < 4; ++j) {
        tc_ldmatrix_x4_trans(b + j * 8, B_shared + step_1 * 8192 + tx % 16 * 128 + ((tx / 64 * 8 + j * 2 + tx % 32 / 16) ^ (tx % 8)) * 8 + 8192);
      }
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        tc_mma_m16n8k16_f16_f32(C_local + i * 32 + j * 4, a + i * 8 + 32, b + j * 4 + 32);
      }
    }
  }
  tc_wait_async<0>();
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // gemm.py:79
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      #pragma unroll
      for (int s2 = 0; s2 < 2; ++s2) {
        if (by * 128 + (tx % 32 / 4 + s2 * 8 + s0 * 16 + tx % 64 / 32 * 64) < 200 && bx * 128 + (0 + tx % 4 * 2 + s1 * 8 + tx / 64 * 64) < 264) {
          alignas(4) tc_half out_v[2];
          #pragma unroll
          for (int s3 = 0; s3 < 2; ++s3) {
            out_v[s3] = (tc_half)C_local[s0 * 32 + s1 * 4 + s2 * 2 + s3];
          }
          tc_move<4>(C + by * 33792 + tx % 64 / 32 * 16896 + s0 * 4224 + s2 * 2112 + tx % 32 / 4 * 264 + bx * 128 + tx / 64 * 64 + s1 * 8 + tx % 4 * 2, out_v);
        }
      }
    }
  }
}
