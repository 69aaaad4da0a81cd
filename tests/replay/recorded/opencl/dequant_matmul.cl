#include "tilecore_opencl.h"

kernel __attribute__((reqd_work_group_size(128, 1, 1))) void dequant_matmul_split_kernel_0(global const tc_half* restrict A, global const uchar* restrict W, global const tc_half* restrict Scale, global const tc_half* restrict Zero, global const tc_half* restrict C, global float* restrict Part, global int* tc_failed, local int* tc_votes) {
  const int bx = get_group_id(0), by = get_group_id(1), split = get_group_id(2);
  const int tx = get_local_id(0);
  local uchar shared[50688] __attribute__((aligned(1024)));
  float C_local[8];  // dequant_matmul.py:92
  local tc_half* A_shared = (local tc_half*)(shared + 0);  // dequant_matmul.py:45
  local uchar* W_packed = (local uchar*)(shared + 33792);  // dequant_matmul.py:46
  local tc_half* Scale_shared = (local tc_half*)(shared + 50176);  // dequant_matmul.py:47
  local tc_half* Zero_shared = (local tc_half*)(shared + 50432);  // dequant_matmul.py:48
  local tc_half* W_local = (local tc_half*)(shared + 16896);  // dequant_matmul.py:49
  Scale_shared[tx] = Scale[bx * 256 + tx / 2 * 4 + split * 2 + tx % 2];  // dequant_matmul.py:50
  Zero_shared[tx] = Zero[bx * 256 + tx / 2 * 4 + split * 2 + tx % 2];  // dequant_matmul.py:51
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // dequant_matmul.py:52
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      C_local[s0 * 2 + s1] = 0.0f;
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:55
    tc_move_16(W_packed + s0 * 2048 + tx * 16, W + bx * 8192 + s0 * 4096 + tx / 4 * 128 + split * 64 + tx % 4 * 16);
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:56
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      A_shared[s0 * 1056 + tx / 16 * 132 + tx % 16 * 8 + s1] = A[by * 4096 + s0 * 2048 + tx / 16 * 256 + split * 128 + tx % 16 * 8 + s1];
    }
  }
  if (false) {
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:55
      if (split * 64 + 64 + (0 + tx % 4 * 16) < 128) {
        tc_move_16(W_packed + s0 * 2048 + tx * 16 + 4096, W + bx * 8192 + s0 * 4096 + tx / 4 * 128 + split * 64 + tx % 4 * 16 + 64);
      } else {
        W_packed[s0 * 2048 + tx * 16 + 4096] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 1] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 2] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 3] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 4] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 5] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 6] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 7] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 8] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 9] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 10] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 11] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 12] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 13] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 14] = 0;
        W_packed[s0 * 2048 + tx * 16 + 4096 + 15] = 0;
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:56
      #pragma unroll
      for (int s1 = 0; s1 < 8; ++s1) {
        A_shared[s0 * 1056 + tx / 16 * 132 + tx % 16 * 8 + s1 + 2112] = split * 128 + 1 * 128 + (s1 + tx % 16 * 8) < 256 ? A[by * 4096 + s0 * 2048 + tx / 16 * 256 + split * 128 + tx % 16 * 8 + s1 + 128] : tc_half_bits(0x0000 /* 0 */);
      }
    }
  }
  if (false) {
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:55
      if (split * 64 + 128 + (0 + tx % 4 * 16) < 128) {
        tc_move_16(W_packed + s0 * 2048 + tx * 16 + 8192, W + bx * 8192 + s0 * 4096 + tx / 4 * 128 + split * 64 + tx % 4 * 16 + 128);
      } else {
        W_packed[s0 * 2048 + tx * 16 + 8192] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 1] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 2] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 3] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 4] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 5] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 6] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 7] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 8] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 9] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 10] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 11] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 12] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 13] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 14] = 0;
        W_packed[s0 * 2048 + tx * 16 + 8192 + 15] = 0;
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:56
      #pragma unroll
      for (int s1 = 0; s1 < 8; ++s1) {
        A_shared[s0 * 1056 + tx / 16 * 132 + tx % 16 * 8 + s1 + 4224] = split * 128 + 2 * 128 + (s1 + tx % 16 * 8) < 256 ? A[by * 4096 + s0 * 2048 + tx / 16 * 256 + split * 128 + tx % 16 * 8 + s1 + 256] : tc_half_bits(0x0000 /* 0 */);
      }
    }
  }
  for (int step_ = 0; step_ < 1; ++step_) {  // dequant_matmul.py:53
    tc_barrier();
    if (step_ < -2) {
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:55
        if (split * 64 + step_ * 64 + 192 + (0 + tx % 4 * 16) < 128) {
          tc_move_16(W_packed + s0 * 2048 + tx * 16 + 12288, W + bx * 8192 + s0 * 4096 + tx / 4 * 128 + split * 64 + tx % 4 * 16 + 192);
        } else {
          W_packed[s0 * 2048 + tx * 16 + 12288] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 1] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 2] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 3] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 4] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 5] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 6] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 7] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 8] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 9] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 10] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 11] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 12] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 13] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 14] = 0;
          W_packed[s0 * 2048 + tx * 16 + 12288 + 15] = 0;
        }
      }
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:56
        #pragma unroll
        for (int s1 = 0; s1 < 8; ++s1) {
          A_shared[s0 * 1056 + tx / 16 * 132 + tx % 16 * 8 + s1 + 6336] = split * 128 + (step_ + 3) * 128 + (s1 + tx % 16 * 8) < 256 ? A[by * 4096 + s0 * 2048 + tx / 16 * 256 + split * 128 + tx % 16 * 8 + s1 + 384] : tc_half_bits(0x0000 /* 0 */);
        }
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 64; ++s0) {  // dequant_matmul.py:57
      const int q = ((int)W_packed[s0 * 64 + tx / 2] >> (tx % 2 * 4)) & 15;  // dequant_matmul.py:58
      const tc_half number = tc_bits_float16((ushort)(ushort)(q | 25600));  // dequant_matmul.py:59
      W_local[s0 * 132 + tx] = tc_half_from(tc_single(tc_half_from(tc_single(number) - tc_single(tc_half_from(tc_single(Zero_shared[s0 * 2 + tx / 64]) + tc_single(tc_half_bits(0x6400 /* 1024 */)))))) * tc_single(Scale_shared[s0 * 2 + tx / 64]));  // dequant_matmul.py:61
    }
    alignas(8) tc_half a[16];
    alignas(8) tc_half b[8];
    tc_barrier();
    #pragma unroll
    for (int k = 0; k < 32; ++k) {
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        tc_move_8(a + i * 4, W_local + i * 2112 + tx / 8 * 132 + k * 4);  // dequant_matmul.py:62
      }
      #pragma unroll
      for (int i = 0; i < 2; ++i) {
        tc_move_8(b + i * 4, A_shared + i * 1056 + tx % 8 * 132 + k * 4);
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int i_1 = 0; i_1 < 4; ++i_1) {
          #pragma unroll
          for (int i_2 = 0; i_2 < 2; ++i_2) {
            C_local[i_1 * 2 + i_2] = tc_fma(tc_single(a[i_1 * 4 + i]), tc_single(b[i_2 * 4 + i]), C_local[i_1 * 2 + i_2]);
          }
        }
      }
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // dequant_matmul.py:94
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      Part[split * 4096 + by * 4096 + s1 * 2048 + tx % 8 * 256 + bx * 64 + s0 * 16 + tx / 8] = C_local[s0 * 2 + s1];  // dequant_matmul.py:95
    }
  }
}

kernel __attribute__((reqd_work_group_size(128, 1, 1))) void dequant_matmul_split_kernel_1(global const tc_half* restrict A, global const uchar* restrict W, global const tc_half* restrict Scale, global const tc_half* restrict Zero, global tc_half* restrict C, global const float* restrict Part, global int* tc_failed, local int* tc_votes) {
  const int bx_1 = get_group_id(0), row = get_group_id(1);
  const int tx_1 = get_local_id(0);
  float total[2];  // dequant_matmul.py:97
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:98
    total[s0] = 0.0f;
  }
  #pragma unroll
  for (int split_1 = 0; split_1 < 2; ++split_1) {  // dequant_matmul.py:99
    alignas(8) float Part_v[2];  // dequant_matmul.py:100
    tc_move_8(Part_v, Part + split_1 * 4096 + row * 256 + bx_1 * 256 + tx_1 * 2);
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {
      total[s0] += Part_v[s0];  // dequant_matmul.py:101
    }
  }
  alignas(4) tc_half out_v[2];  // dequant_matmul.py:102
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {
    out_v[s0] = tc_half_from(total[s0]);
  }
  tc_move_4(C + row * 256 + bx_1 * 256 + tx_1 * 2, out_v);
}
