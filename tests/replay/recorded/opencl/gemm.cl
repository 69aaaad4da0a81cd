#include "tilecore_opencl.h"

kernel __attribute__((reqd_work_group_size(128, 1, 1))) void gemm_kernel(global const tc_half* restrict A, global const tc_half* restrict B, global tc_half* restrict C, global int* tc_failed, local int* tc_votes) {
  const int block_x = get_group_id(0), block_y = get_group_id(1);
  const int tx = get_local_id(0);
  local uchar shared[101376] __attribute__((aligned(1024)));
  const int block = block_y * 3 + block_x;
  const int step_ = block / 2;
  const int bx = step_;
  const int by = block - step_ * 2;
  float C_local[128];  // gemm.py:76
  local tc_half* A_shared = (local tc_half*)(shared + 0);  // gemm.py:54
  local tc_half* B_shared = (local tc_half*)(shared + 52224);  // gemm.py:55
  #pragma unroll
  for (int s0 = 0; s0 < 16; ++s0) {  // gemm.py:60
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      #pragma unroll
      for (int s2 = 0; s2 < 4; ++s2) {
        C_local[s0 * 8 + s1 * 4 + s2] = 0.0f;
      }
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // gemm.py:66
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      A_shared[s0 * 1088 + tx / 8 * 68 + tx % 8 * 8 + s1] = by * 128 + (tx / 8 + s0 * 16) < 200 ? A[by * 17408 + s0 * 2176 + tx / 8 * 136 + tx % 8 * 8 + s1] : tc_half_bits(0x0000 /* 0 */);
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // gemm.py:70
    if (bx * 128 + (0 + tx % 16 * 8) < 264) {
      tc_move_16(B_shared + s0 * 1024 + tx * 8, B + s0 * 2112 + tx / 16 * 264 + bx * 128 + tx % 16 * 8);
    } else {
      B_shared[s0 * 1024 + tx * 8] = tc_half_bits(0x0000 /* 0 */);
      B_shared[s0 * 1024 + tx * 8 + 1] = tc_half_bits(0x0000 /* 0 */);
      B_shared[s0 * 1024 + tx * 8 + 2] = tc_half_bits(0x0000 /* 0 */);
      B_shared[s0 * 1024 + tx * 8 + 3] = tc_half_bits(0x0000 /* 0 */);
      B_shared[s0 * 1024 + tx * 8 + 4] = tc_half_bits(0x0000 /* 0 */);
      B_shared[s0 * 1024 + tx * 8 + 5] = tc_half_bits(0x0000 /* 0 */);
      B_shared[s0 * 1024 + tx * 8 + 6] = tc_half_bits(0x0000 /* 0 */);
      B_shared[s0 * 1024 + tx * 8 + 7] = tc_half_bits(0x0000 /* 0 */);
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // gemm.py:66
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      A_shared[s0 * 1088 + tx / 8 * 68 + tx % 8 * 8 + s1 + 8704] = by * 128 + (tx / 8 + s0 * 16) < 200 ? A[by * 17408 + s0 * 2176 + tx / 8 * 136 + tx % 8 * 8 + s1 + 64] : tc_half_bits(0x0000 /* 0 */);
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // gemm.py:70
    if (bx * 128 + (0 + tx % 16 * 8) < 264) {
      tc_move_16(B_shared + s0 * 1024 + tx * 8 + 8192, B + s0 * 2112 + tx / 16 * 264 + bx * 128 + tx % 16 * 8 + 16896);
    } else {
      B_shared[s0 * 1024 + tx * 8 + 8192] = tc_half_bits(0x0000 /* 0 */);
      B_shared[s0 * 1024 + tx * 8 + 8192 + 1] = tc_half_bits(0x0000 /* 0 */);
      B_shared[s0 * 1024 + tx * 8 + 8192 + 2] = tc_half_bits(0x0000 /* 0 */);
      B_shared[s0 * 1024 + tx * 8 + 8192 + 3] = tc_half_bits(0x0000 /* 0 */);
      B_shared[s0 * 1024 + tx * 8 + 8192 + 4] = tc_half_bits(0x0000 /* 0 */);
      B_shared[s0 * 1024 + tx * 8 + 8192 + 5] = tc_half_bits(0x0000 /* 0 */);
      B_shared[s0 * 1024 + tx * 8 + 8192 + 6] = tc_half_bits(0x0000 /* 0 */);
      B_shared[s0 * 1024 + tx * 8 + 8192 + 7] = tc_half_bits(0x0000 /* 0 */);
    }
  }
  for (int step__1 = 0; step__1 < 3; ++step__1) {  // gemm.py:61
    tc_barrier();
    if (step__1 < 1) {
      #pragma unroll
      for (int s0 = 0; s0 < 8; ++s0) {  // gemm.py:66
        #pragma unroll
        for (int s1 = 0; s1 < 8; ++s1) {
          A_shared[(step__1 + 2) % 3 * 8704 + s0 * 1088 + tx / 8 * 68 + tx % 8 * 8 + s1] = by * 128 + (tx / 8 + s0 * 16) < 200 && (step__1 + 2) * 64 + (s1 + tx % 8 * 8) < 136 ? A[by * 17408 + s0 * 2176 + tx / 8 * 136 + step__1 * 64 + tx % 8 * 8 + s1 + 128] : tc_half_bits(0x0000 /* 0 */);
        }
      }
      #pragma unroll
      for (int s0 = 0; s0 < 8; ++s0) {  // gemm.py:70
        if ((step__1 + 2) * 64 + (tx / 16 + s0 * 8) < 136 && bx * 128 + (0 + tx % 16 * 8) < 264) {
          tc_move_16(B_shared + (step__1 + 2) % 3 * 8192 + s0 * 1024 + tx * 8, B + step__1 * 16896 + s0 * 2112 + tx / 16 * 264 + bx * 128 + tx % 16 * 8 + 33792);
        } else {
          B_shared[(step__1 + 2) % 3 * 8192 + s0 * 1024 + tx * 8] = tc_half_bits(0x0000 /* 0 */);
          B_shared[(step__1 + 2) % 3 * 8192 + s0 * 1024 + tx * 8 + 1] = tc_half_bits(0x0000 /* 0 */);
          B_shared[(step__1 + 2) % 3 * 8192 + s0 * 1024 + tx * 8 + 2] = tc_half_bits(0x0000 /* 0 */);
          B_shared[(step__1 + 2) % 3 * 8192 + s0 * 1024 + tx * 8 + 3] = tc_half_bits(0x0000 /* 0 */);
          B_shared[(step__1 + 2) % 3 * 8192 + s0 * 1024 + tx * 8 + 4] = tc_half_bits(0x0000 /* 0 */);
          B_shared[(step__1 + 2) % 3 * 8192 + s0 * 1024 + tx * 8 + 5] = tc_half_bits(0x0000 /* 0 */);
          B_shared[(step__1 + 2) % 3 * 8192 + s0 * 1024 + tx * 8 + 6] = tc_half_bits(0x0000 /* 0 */);
          B_shared[(step__1 + 2) % 3 * 8192 + s0 * 1024 + tx * 8 + 7] = tc_half_bits(0x0000 /* 0 */);
        }
      }
    }
    alignas(8) tc_half a[64];
    alignas(8) tc_half b[32];
    for (int k = 0; k < 16; ++k) {
      #pragma unroll
      for (int i = 0; i < 16; ++i) {
        tc_move_8(a + i * 4, A_shared + step__1 * 8704 + i * 544 + tx / 64 * 272 + tx % 32 / 8 * 68 + k * 4);  // gemm.py:71
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int i_1 = 0; i_1 < 2; ++i_1) {
          tc_move_8(b + i * 8 + i_1 * 4, B_shared + step__1 * 8192 + k * 512 + i * 128 + i_1 * 64 + tx % 64 / 32 * 32 + tx % 8 * 4);
        }
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int i_1 = 0; i_1 < 16; ++i_1) {
          #pragma unroll
          for (int i_2 = 0; i_2 < 8; ++i_2) {
            C_local[i_1 * 8 + i_2] = tc_fma(tc_single(a[i_1 * 4 + i]), tc_single(b[i * 8 + i_2]), C_local[i_1 * 8 + i_2]);
          }
        }
      }
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 16; ++s0) {  // gemm.py:79
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      if (by * 128 + (tx % 32 / 8 + tx / 64 * 4 + s0 * 8) < 200 && bx * 128 + (0 + tx % 8 * 4 + tx % 64 / 32 * 32 + s1 * 64) < 264) {
        alignas(8) tc_half out_v[4];
        #pragma unroll
        for (int s2 = 0; s2 < 4; ++s2) {
          out_v[s2] = tc_half_from(C_local[s0 * 8 + s1 * 4 + s2]);
        }
        tc_move_8(C + by * 33792 + s0 * 2112 + tx / 64 * 1056 + tx % 32 / 8 * 264 + bx * 128 + s1 * 64 + tx % 64 / 32 * 32 + tx % 8 * 4, out_v);
      }
    }
  }
}
