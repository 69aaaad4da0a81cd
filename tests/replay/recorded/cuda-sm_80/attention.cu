#include "tilecore_cuda.h"

extern "C" __global__ void __launch_bounds__(256) attention_kernel(const tc_half* __restrict__ Q, const tc_half* __restrict__ K, const tc_half* __restrict__ V, tc_half* __restrict__ Out) {
  const int head = blockIdx.x, bx = blockIdx.y;
  const int tx = threadIdx.x;
  TC_SHARED(shared);  // 98304 bytes
  float out[32];  // attention.py:111
  float largest[2];  // attention.py:112
  float total[2];  // attention.py:113
  float share[2];  // attention.py:114
  tc_half* Q_shared = (tc_half*)(shared + 0);  // attention.py:65
  alignas(4) tc_half Q_local[32];  // attention.py:67
  tc_half* K_shared = (tc_half*)(shared + 0);  // attention.py:68
  tc_half* V_shared = (tc_half*)(shared + 49152);  // attention.py:69
  float scores[64];  // attention.py:70
  alignas(4) tc_half weights[64];  // attention.py:71
  float largest_before[2];  // attention.py:72
  float rescale[2];  // attention.py:73
  float tile_total[2];  // attention.py:74
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:76
    tc_move<16>(Q_shared + s0 * 2048 + tx * 8, Q + head / 4 * 65536 + s0 * 8192 + tx / 8 * 256 + head % 4 * 64 + tx % 8 * 8 + 32768 - bx * 32768);
  }
  tc_barrier();
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:78
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      tc_move<4>(Q_local + s0 * 4 + s1 * 2, Q_shared + tx / 32 * 1024 + s1 * 512 + tx % 32 / 4 * 64 + s0 * 8 + tx % 4 * 2);
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:79
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      #pragma unroll
      for (int s2 = 0; s2 < 2; ++s2) {
        out[s0 * 4 + s1 * 2 + s2] = 0.0f;
      }
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // attention.py:80
    total[s0] = 0.0f;
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // attention.py:81
    largest[s0] = -0x1.fffffep+127f;
  }
  tc_barrier();
  if (bx < 2) {
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:84
      tc_copy_async<16>(K_shared + s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8, K + head / 4 * 32768 + s0 * 4096 + tx / 8 * 128 + head % 4 / 2 * 64 + tx % 8 * 8 + 16384 - bx * 16384, true);
    }
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:106
      tc_copy_async<16>(V_shared + s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8, V + head / 4 * 32768 + s0 * 4096 + tx / 8 * 128 + head % 4 / 2 * 64 + tx % 8 * 8 + 16384 - bx * 16384, true);
    }
  }
  tc_commit_async();
  if (bx < 1) {
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:84
      tc_copy_async<16>(K_shared + s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8 + 8192, K + head / 4 * 32768 + s0 * 4096 + tx / 8 * 128 + head % 4 / 2 * 64 + tx % 8 * 8 - bx * 16384, true);
    }
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:106
      tc_copy_async<16>(V_shared + s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8 + 8192, V + head / 4 * 32768 + s0 * 4096 + tx / 8 * 128 + head % 4 / 2 * 64 + tx % 8 * 8 - bx * 16384, true);
    }
  }
  tc_commit_async();
  for (int k = 0; k < ((1 - bx) * 128 + 128 - 1) / 128 + 1; ++k) {  // attention.py:82
    tc_wait_async<1>();
    tc_barrier();
    if (k + bx < 0) {
      #pragma unroll
      for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:84
        tc_copy_async<16>(K_shared + (k + 2) % 3 * 8192 + s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8, K + head / 4 * 32768 + s0 * 4096 + tx / 8 * 128 + head % 4 / 2 * 64 + tx % 8 * 8 - bx * 16384 - k * 16384 - 16384, (1 - bx - (k + 2)) * 128 + (tx / 8 + s0 * 32) >= 0);
      }
      #pragma unroll
      for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:106
        tc_copy_async<16>(V_shared + (k + 2) % 3 * 8192 + s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8, V + head / 4 * 32768 + s0 * 4096 + tx / 8 * 128 + head % 4 / 2 * 64 + tx % 8 * 8 - bx * 16384 - k * 16384 - 16384, (1 - bx - (k + 2)) * 128 + (tx / 8 + s0 * 32) >= 0);
      }
    }
    tc_commit_async();
    alignas(4) tc_half b[128];
    #pragma unroll
    for (int i = 0; i < 64; ++i) {
      scores[i] = 0.0f;
    }
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
      tc_ldmatrix_x4(b + j * 8, K_shared + tx / 256 * 8192 + k % 3 * 8192 + j * 1024 + tx % 32 / 16 * 512 + tx % 8 * 64 + ((tx % 16 / 8) ^ (tx % 8)) * 8);  // attention.py:86
    }
    #pragma unroll
    for (int step = 0; step < 3; ++step) {
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        tc_ldmatrix_x4(b + (step + 1) % 2 * 64 + j * 8, K_shared + tx / 256 * 8192 + k % 3 * 8192 + j * 1024 + tx % 32 / 16 * 512 + tx % 8 * 64 + ((step * 2 + tx % 16 / 8 + 2) ^ (tx % 8)) * 8);
      }
      #pragma unroll
      for (int j = 0; j < 16; ++j) {
        tc_mma_m16n8k16_f16_f32(scores + j * 4, Q_local + step * 8, b + step % 2 * 64 + j * 4);
      }
    }
    #pragma unroll
    for (int j = 0; j < 16; ++j) {
      tc_mma_m16n8k16_f16_f32(scores + j * 4, Q_local + 24, b + j * 4 + 64);
    }
    if (k < 1) {  // attention.py:87
      #pragma unroll
      for (int s0 = 0; s0 < 16; ++s0) {  // attention.py:88
        #pragma unroll
        for (int s1 = 0; s1 < 2; ++s1) {
          #pragma unroll
          for (int s2 = 0; s2 < 2; ++s2) {
            const bool seen = (1 - bx - k) * 128 + (s2 + tx % 4 * 2 + s0 * 8) <= (1 - bx) * 128 + (tx % 32 / 4 + s1 * 8 + tx / 32 * 16);  // attention.py:89
            scores[s0 * 4 + s1 * 2 + s2] = seen ? scores[s0 * 4 + s1 * 2 + s2] : -TC_INFINITY;  // attention.py:90
          }
        }
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // attention.py:92
      largest_before[s0] = largest[s0];
    }
    float total_1[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      total_1[i] = -TC_INFINITY;
    }
    #pragma unroll
    for (int r0 = 0; r0 < 16; ++r0) {  // attention.py:93
      #pragma unroll
      for (int r2 = 0; r2 < 2; ++r2) {
        #pragma unroll
        for (int r1 = 0; r1 < 2; ++r1) {
          total_1[r1 * 2 + r2] = tc_max(total_1[r1 * 2 + r2], scores[r0 * 4 + r1 * 2 + r2]);
        }
      }
    }
    #pragma unroll
    for (int r1 = 0; r1 < 2; ++r1) {
      total_1[r1 * 2] = tc_max(total_1[r1 * 2], total_1[r1 * 2 + 1]);
      float joined;
      joined = total_1[r1 * 2];
      const float other = tc_shuffle_xor(joined, 2, 32);
      joined = tc_max(joined, other);
      const float other_1 = tc_shuffle_xor(joined, 1, 32);
      joined = tc_max(joined, other_1);
      total_1[r1 * 2] = joined;
      largest[r1] = tc_max(total_1[r1 * 2], largest[r1]);
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // attention.py:94
      rescale[s0] = tc_exp2(largest_before[s0] * 0x1.715476p-3f - largest[s0] * 0x1.715476p-3f);  // attention.py:95
    }
    #pragma unroll
    for (int s0 = 0; s0 < 16; ++s0) {  // attention.py:96
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        #pragma unroll
        for (int s2 = 0; s2 < 2; ++s2) {
          const float offset = largest[s1] * 0x1.715476p-3f;  // attention.py:97
          scores[s0 * 4 + s1 * 2 + s2] = tc_exp2(tc_fma(scores[s0 * 4 + s1 * 2 + s2], 0x1.715476p-3f, -offset));  // attention.py:98
        }
      }
    }
    float total_2[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      total_2[i] = 0.0f;
    }
    #pragma unroll
    for (int r0 = 0; r0 < 16; ++r0) {  // attention.py:99
      #pragma unroll
      for (int r2 = 0; r2 < 2; ++r2) {
        #pragma unroll
        for (int r1 = 0; r1 < 2; ++r1) {
          total_2[r1 * 2 + r2] += scores[r0 * 4 + r1 * 2 + r2];
        }
      }
    }
    #pragma unroll
    for (int r1 = 0; r1 < 2; ++r1) {
      total_2[r1 * 2] += total_2[r1 * 2 + 1];
      tile_total[r1] = total_2[r1 * 2];
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // attention.py:100
      total[s0] = tc_fma(total[s0], rescale[s0], tile_total[s0]);  // attention.py:101
    }
    #pragma unroll
    for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:102
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        #pragma unroll
        for (int s2 = 0; s2 < 2; ++s2) {
          out[s0 * 4 + s1 * 2 + s2] *= rescale[s1];  // attention.py:103
        }
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 16; ++s0) {  // attention.py:105
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        #pragma unroll
        for (int s2 = 0; s2 < 2; ++s2) {
          weights[s0 * 4 + s1 * 2 + s2] = (tc_half)scores[s0 * 4 + s1 * 2 + s2];
        }
      }
    }
    alignas(4) tc_half b_1[64];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      tc_ldmatrix_x4_trans(b_1 + j * 8, V_shared + k % 3 * 8192 + tx % 16 * 64 + ((tx / 256 * 8 + j * 2 + tx % 32 / 16) ^ (tx % 8)) * 8);  // attention.py:107
    }
    #pragma unroll
    for (int step = 0; step < 7; ++step) {
      #pragma unroll
      for (int j = 0; j < 4; ++j) {
        tc_ldmatrix_x4_trans(b_1 + (step + 1) % 2 * 32 + j * 8, V_shared + k % 3 * 8192 + step * 1024 + tx % 16 * 64 + ((tx / 256 * 8 + j * 2 + tx % 32 / 16) ^ (tx % 8)) * 8 + 1024);
      }
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        tc_mma_m16n8k16_f16_f32(out + j * 4, weights + step * 8, b_1 + step % 2 * 32 + j * 4);
      }
    }
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
      tc_mma_m16n8k16_f16_f32(out + j * 4, weights + 56, b_1 + j * 4 + 32);
    }
  }
  tc_wait_async<0>();
  #pragma unroll
  for (int r0 = 0; r0 < 2; ++r0) {  // attention.py:82
    float joined_1;
    joined_1 = total[r0];
    const float other_2 = tc_shuffle_xor(joined_1, 2, 32);
    joined_1 += other_2;
    const float other_3 = tc_shuffle_xor(joined_1, 1, 32);
    joined_1 += other_3;
    total[r0] = joined_1;
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // attention.py:119
    share[s0] = 1.0f / total[s0];  // attention.py:120
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:121
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      #pragma unroll
      for (int s2 = 0; s2 < 2; ++s2) {
        out[s0 * 4 + s1 * 2 + s2] *= share[s1];  // attention.py:122
      }
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:123
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      alignas(4) tc_half out_v[2];
      #pragma unroll
      for (int s2 = 0; s2 < 2; ++s2) {
        out_v[s2] = (tc_half)out[s0 * 4 + s1 * 2 + s2];
      }
      tc_move<4>(Out + head / 4 * 65536 + tx / 32 * 4096 + s1 * 2048 + tx % 32 / 4 * 256 + head % 4 * 64 + s0 * 8 + tx % 4 * 2 + 32768 - bx * 32768, out_v);
    }
  }
}
