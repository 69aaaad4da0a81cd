#include "tile_acme.h"

ACME_KERNEL dequant_matmul_split_kernel_0(const tc_half* __restrict__ A, const unsigned char* __restrict__ W, const tc_half* __restrict__ Scale, const tc_half* __restrict__ Zero, const tc_half* __restrict__ C, float* __restrict__ Part) {
  const int bx = acme_block.x, by = acme_block.y, split = acme_block.z;
  const int tx = acme_thread.x;
  TC_SHARED(shared);  // 42368 bytes
  float C_local[8];  // dequant_matmul.py:92
  tc_half* A_shared = (tc_half*)(shared + 16896);  // dequant_matmul.py:45
  unsigned char* W_packed = (unsigned char*)(shared + 29568);  // dequant_matmul.py:46
  tc_half* Scale_shared = (tc_half*)(shared + 41856);  // dequant_matmul.py:47
  tc_half* Zero_shared = (tc_half*)(shared + 42112);  // dequant_matmul.py:48
  tc_half* W_local = (tc_half*)(shared + 0);  // dequant_matmul.py:49
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
    tc_move<16>(W_packed + s0 * 2048 + tx * 16, W + bx * 8192 + s0 * 4096 + tx / 4 * 128 + split * 64 + tx % 4 * 16);
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:56
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      A_shared[s0 * 1056 + tx / 16 * 132 + tx % 16 * 8 + s1] = A[by * 4096 + s0 * 2048 + tx / 16 * 256 + split * 128 + tx % 16 * 8 + s1];
    }
  }
  tc_commit_async();
  if (false) {
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:55
      if (split * 64 + 64 + (0 + tx % 4 * 16) < 128) {
        tc_move<16>(W_packed + s0 * 2048 + tx * 16 + 4096, W + bx * 8192 + s0 * 4096 + tx / 4 * 128 + split * 64 + tx % 4 * 16 + 64);
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
        A_shared[s0 * 1056 + tx / 16 * 132 + tx % 16 * 8 + s1 + 2112] = split * 128 + 1 * 128 + (s1 + tx % 16 * 8) < 256 ? A[by * 4096 + s0 * 2048 + tx / 16 * 256 + split * 128 + tx % 16 * 8 + s1 + 128] : tc_half::from_bits(0x0000 /* 0 */);
      }
    }
  }
  tc_commit_async();
  for (int step = 0; step < 1; ++step) {  // dequant_matmul.py:53
    tc_wait_async<1>();
    tc_barrier();
    if (step < -1) {
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:55
        if (split * 64 + step * 64 + 128 + (0 + tx % 4 * 16) < 128) {
          tc_move<16>(W_packed + s0 * 2048 + tx * 16 + 8192, W + bx * 8192 + s0 * 4096 + tx / 4 * 128 + split * 64 + tx % 4 * 16 + 128);
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
          A_shared[s0 * 1056 + tx / 16 * 132 + tx % 16 * 8 + s1 + 4224] = split * 128 + (step + 2) * 128 + (s1 + tx % 16 * 8) < 256 ? A[by * 4096 + s0 * 2048 + tx / 16 * 256 + split * 128 + tx % 16 * 8 + s1 + 256] : tc_half::from_bits(0x0000 /* 0 */);
        }
      }
    }
    tc_commit_async();
    #pragma unroll
    for (int s0 = 0; s0 < 64; ++s0) {  // dequant_matmul.py:57
      const int q = ((int)W_packed[s0 * 64 + tx / 2] >> (tx % 2 * 4)) & 15;  // dequant_matmul.py:58
      const tc_half number = tc_bits<tc_half>((unsigned short)(unsigned short)(q | 25600));  // dequant_matmul.py:59
      W_local[s0 * 132 + tx] = (number - (Zero_shared[s0 * 2 + tx / 64] + tc_half::from_bits(0x6400 /* 1024 */))) * Scale_shared[s0 * 2 + tx / 64];  // dequant_matmul.py:61
    }
    alignas(8) tc_half a[16];
    alignas(8) tc_half b[8];
    tc_barrier();
    #pragma unroll
    for (int k = 0; k < 32; ++k) {
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        tc_move<8>(a + i * 4, W_local + i * 2112 + tx / 8 * 132 + k * 4);  // dequant_matmul.py:62
      }
      #pragma unroll
      for (int i = 0; i < 2; ++i) {
        tc_move<8>(b + i * 4, A_shared + i * 1056 + tx % 8 * 132 + k * 4);
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int i_1 = 0; i_1 < 4; ++i_1) {
          #pragma unroll
          for (int i_2 = 0; i_2 < 2; ++i_2) {
            C_local[i_1 * 2 + i_2] = tc_fma((float)a[i_1 * 4 + i], (float)b[i_2 * 4 + i], C_local[i_1 * 2 + i_2]);
          }
        }
      }
    }
  }
  tc_wait_async<0>();
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // dequant_matmul.py:94
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      Part[split * 4096 + by * 4096 + s1 * 2048 + tx % 8 * 256 + bx * 64 + s0 * 16 + tx / 8] = C_local[s0 * 2 + s1];  // dequant_matmul.py:95
    }
  }
}

ACME_KERNEL dequant_matmul_split_kernel_1(const tc_half* __restrict__ A, const unsigned char* __restrict__ W, const tc_half* __restrict__ Scale, const tc_half* __restrict__ Zero, tc_half* __restrict__ C, const float* __restrict__ Part) {
  const int bx_1 = acme_block.x, row = acme_block.y;
  const int tx_1 = acme_thread.x;
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
