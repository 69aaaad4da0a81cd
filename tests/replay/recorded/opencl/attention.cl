#include "tilecore_opencl.h"

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void attention_kernel(global const tc_half* restrict Q, global const tc_half* restrict K, global const tc_half* restrict V, global tc_half* restrict Out, global int* tc_failed, local int* tc_votes) {
  const int head = get_group_id(0), bx = get_group_id(1);
  const int tx = get_local_id(0);
  local uchar shared[153600] __attribute__((aligned(1024)));
  float out[32];  // attention.py:111
  float largest[8];  // attention.py:112
  float total[8];  // attention.py:113
  float share[8];  // attention.py:114
  local tc_half* Q_shared = (local tc_half*)(shared + 0);  // attention.py:65
  local tc_half* Q_local = (local tc_half*)(shared + 135168);  // attention.py:67
  local tc_half* K_shared = (local tc_half*)(shared + 0);  // attention.py:68
  local tc_half* V_shared = (local tc_half*)(shared + 52224);  // attention.py:69
  float scores[64];  // attention.py:70
  local tc_half* weights = (local tc_half*)(shared + 101376);  // attention.py:71
  float largest_before[8];  // attention.py:72
  float rescale[8];  // attention.py:73
  float tile_total[8];  // attention.py:74
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:76
    tc_move_16(Q_shared + s0 * 2048 + tx * 8, Q + head / 4 * 65536 + s0 * 8192 + tx / 8 * 256 + head % 4 * 64 + tx % 8 * 8 + 32768 - bx * 32768);
  }
  tc_barrier();
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:78
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      Q_local[s0 * 2176 + tx / 8 * 68 + tx % 8 * 8 + s1] = Q_shared[s0 * 2048 + tx * 8 + s1];
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:79
    #pragma unroll
    for (int s1 = 0; s1 < 4; ++s1) {
      out[s0 * 4 + s1] = 0.0f;
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:80
    total[s0] = 0.0f;
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:81
    largest[s0] = -0x1.fffffep+127f;
  }
  tc_barrier();
  if (bx < 2) {
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:84
      #pragma unroll
      for (int s1 = 0; s1 < 8; ++s1) {
        K_shared[s0 * 2176 + tx / 8 * 68 + tx % 8 * 8 + s1] = K[head / 4 * 32768 + s0 * 4096 + tx / 8 * 128 + head % 4 / 2 * 64 + tx % 8 * 8 + s1 + 16384 - bx * 16384];
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:106
      tc_move_16(V_shared + s0 * 2048 + tx * 8, V + head / 4 * 32768 + s0 * 4096 + tx / 8 * 128 + head % 4 / 2 * 64 + tx % 8 * 8 + 16384 - bx * 16384);
    }
  }
  if (bx < 1) {
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:84
      #pragma unroll
      for (int s1 = 0; s1 < 8; ++s1) {
        K_shared[s0 * 2176 + tx / 8 * 68 + tx % 8 * 8 + s1 + 8704] = K[head / 4 * 32768 + s0 * 4096 + tx / 8 * 128 + head % 4 / 2 * 64 + tx % 8 * 8 + s1 - bx * 16384];
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:106
      tc_move_16(V_shared + s0 * 2048 + tx * 8 + 8192, V + head / 4 * 32768 + s0 * 4096 + tx / 8 * 128 + head % 4 / 2 * 64 + tx % 8 * 8 - bx * 16384);
    }
  }
  for (int k = 0; k < ((1 - bx) * 128 + 128 - 1) / 128 + 1; ++k) {  // attention.py:82
    tc_barrier();
    if (k + bx < 0) {
      #pragma unroll
      for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:84
        #pragma unroll
        for (int s1 = 0; s1 < 8; ++s1) {
          K_shared[(k + 2) % 3 * 8704 + s0 * 2176 + tx / 8 * 68 + tx % 8 * 8 + s1] = (1 - bx - (k + 2)) * 128 + (tx / 8 + s0 * 32) >= 0 ? K[head / 4 * 32768 + s0 * 4096 + tx / 8 * 128 + head % 4 / 2 * 64 + tx % 8 * 8 + s1 - bx * 16384 - k * 16384 - 16384] : tc_half_bits(0x0000 /* 0 */);
        }
      }
      #pragma unroll
      for (int s0 = 0; s0 < 4; ++s0) {  // attention.py:106
        if ((1 - bx - (k + 2)) * 128 + (tx / 8 + s0 * 32) >= 0) {
          tc_move_16(V_shared + (k + 2) % 3 * 8192 + s0 * 2048 + tx * 8, V + head / 4 * 32768 + s0 * 4096 + tx / 8 * 128 + head % 4 / 2 * 64 + tx % 8 * 8 - bx * 16384 - k * 16384 - 16384);
        } else {
          V_shared[(k + 2) % 3 * 8192 + s0 * 2048 + tx * 8] = tc_half_bits(0x0000 /* 0 */);
          V_shared[(k + 2) % 3 * 8192 + s0 * 2048 + tx * 8 + 1] = tc_half_bits(0x0000 /* 0 */);
          V_shared[(k + 2) % 3 * 8192 + s0 * 2048 + tx * 8 + 2] = tc_half_bits(0x0000 /* 0 */);
          V_shared[(k + 2) % 3 * 8192 + s0 * 2048 + tx * 8 + 3] = tc_half_bits(0x0000 /* 0 */);
          V_shared[(k + 2) % 3 * 8192 + s0 * 2048 + tx * 8 + 4] = tc_half_bits(0x0000 /* 0 */);
          V_shared[(k + 2) % 3 * 8192 + s0 * 2048 + tx * 8 + 5] = tc_half_bits(0x0000 /* 0 */);
          V_shared[(k + 2) % 3 * 8192 + s0 * 2048 + tx * 8 + 6] = tc_half_bits(0x0000 /* 0 */);
          V_shared[(k + 2) % 3 * 8192 + s0 * 2048 + tx * 8 + 7] = tc_half_bits(0x0000 /* 0 */);
        }
      }
    }
    #pragma unroll
    for (int i = 0; i < 64; ++i) {
      scores[i] = 0.0f;
    }
    alignas(8) tc_half a[32];
    alignas(8) tc_half b[32];
    for (int k_1 = 0; k_1 < 16; ++k_1) {
      #pragma unroll
      for (int i = 0; i < 8; ++i) {
        tc_move_8(a + i * 4, Q_local + i * 1088 + tx / 64 * 272 + tx % 32 / 8 * 68 + k_1 * 4);  // attention.py:86
      }
      #pragma unroll
      for (int i = 0; i < 8; ++i) {
        tc_move_8(b + i * 4, K_shared + k % 3 * 8704 + i * 1088 + tx % 64 / 32 * 544 + tx % 8 * 68 + k_1 * 4);
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int i_1 = 0; i_1 < 8; ++i_1) {
          #pragma unroll
          for (int i_2 = 0; i_2 < 8; ++i_2) {
            scores[i_1 * 8 + i_2] = tc_fma(tc_single(a[i_1 * 4 + i]), tc_single(b[i_2 * 4 + i]), scores[i_1 * 8 + i_2]);
          }
        }
      }
    }
    if (k < 1) {  // attention.py:87
      #pragma unroll
      for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:88
        #pragma unroll
        for (int s1 = 0; s1 < 8; ++s1) {
          const uchar seen = (1 - bx - k) * 128 + (tx % 8 + tx % 64 / 32 * 8 + s1 * 16) <= (1 - bx) * 128 + (tx % 32 / 8 + tx / 64 * 4 + s0 * 16);  // attention.py:89
          scores[s0 * 8 + s1] = seen ? scores[s0 * 8 + s1] : -TC_INFINITY;  // attention.py:90
        }
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:92
      largest_before[s0] = largest[s0];
    }
    #pragma unroll
    for (int r0 = 0; r0 < 8; ++r0) {  // attention.py:93
      float total_1;
      total_1 = -TC_INFINITY;
      #pragma unroll
      for (int r1 = 0; r1 < 8; ++r1) {
        total_1 = tc_max(total_1, scores[r0 * 8 + r1]);
      }
      float joined;
      joined = total_1;
      local tc_any_float* joined_of_warps = (local tc_any_float*)(shared + 152576);
      tc_barrier();
      joined_of_warps[tx] = joined;
      tc_barrier();
      joined = joined_of_warps[tx / 8 * 8];
      for (int w = 0; w < 7; ++w) {
        const float other = joined_of_warps[tx / 8 * 8 + w + 1];
        joined = tc_max(joined, other);
      }
      total_1 = joined;
      float joined_1;
      joined_1 = total_1;
      local tc_any_float* joined_of_warps_1 = (local tc_any_float*)(shared + 152576);
      tc_barrier();
      joined_of_warps_1[tx] = joined_1;
      tc_barrier();
      joined_1 = joined_of_warps_1[tx / 64 * 64 + tx % 32];
      const float other_1 = joined_of_warps_1[tx / 64 * 64 + tx % 32 + 32];
      joined_1 = tc_max(joined_1, other_1);
      total_1 = joined_1;
      largest[r0] = tc_max(total_1, largest[r0]);
    }
    #pragma unroll
    for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:94
      rescale[s0] = tc_exp2(largest_before[s0] * 0x1.715476p-3f - largest[s0] * 0x1.715476p-3f);  // attention.py:95
    }
    #pragma unroll
    for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:96
      #pragma unroll
      for (int s1 = 0; s1 < 8; ++s1) {
        const float offset = largest[s0] * 0x1.715476p-3f;  // attention.py:97
        scores[s0 * 8 + s1] = tc_exp2(tc_fma(scores[s0 * 8 + s1], 0x1.715476p-3f, -offset));  // attention.py:98
      }
    }
    #pragma unroll
    for (int r0 = 0; r0 < 8; ++r0) {  // attention.py:99
      float total_2;
      total_2 = 0.0f;
      #pragma unroll
      for (int r1 = 0; r1 < 8; ++r1) {
        total_2 += scores[r0 * 8 + r1];
      }
      tile_total[r0] = total_2;
    }
    #pragma unroll
    for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:100
      total[s0] = tc_fma(total[s0], rescale[s0], tile_total[s0]);  // attention.py:101
    }
    #pragma unroll
    for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:102
      #pragma unroll
      for (int s1 = 0; s1 < 4; ++s1) {
        out[s0 * 4 + s1] *= rescale[s0];  // attention.py:103
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:105
      #pragma unroll
      for (int s1 = 0; s1 < 8; ++s1) {
        weights[s0 * 2112 + tx / 64 * 528 + tx % 32 / 8 * 132 + s1 * 16 + tx % 64 / 32 * 8 + tx % 8] = tc_half_from(scores[s0 * 8 + s1]);
      }
    }
    alignas(8) tc_half a_1[32];
    alignas(8) tc_half b_1[16];
    tc_barrier();
    for (int k_2 = 0; k_2 < 32; ++k_2) {
      #pragma unroll
      for (int i = 0; i < 8; ++i) {
        tc_move_8(a_1 + i * 4, weights + i * 2112 + tx / 64 * 528 + tx % 32 / 8 * 132 + k_2 * 4);  // attention.py:107
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        tc_move_8(b_1 + i * 4, V_shared + k % 3 * 8192 + k_2 * 256 + i * 64 + tx % 64 / 32 * 32 + tx % 8 * 4);
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int i_1 = 0; i_1 < 8; ++i_1) {
          #pragma unroll
          for (int i_2 = 0; i_2 < 4; ++i_2) {
            out[i_1 * 4 + i_2] = tc_fma(tc_single(a_1[i_1 * 4 + i]), tc_single(b_1[i * 4 + i_2]), out[i_1 * 4 + i_2]);
          }
        }
      }
    }
  }
  #pragma unroll
  for (int r0 = 0; r0 < 8; ++r0) {  // attention.py:82
    float joined_2;
    joined_2 = total[r0];
    local tc_any_float* joined_of_warps_2 = (local tc_any_float*)(shared + 0);
    tc_barrier();
    joined_of_warps_2[tx] = joined_2;
    tc_barrier();
    joined_2 = joined_of_warps_2[tx / 8 * 8];
    for (int w = 0; w < 7; ++w) {
      const float other_2 = joined_of_warps_2[tx / 8 * 8 + w + 1];
      joined_2 += other_2;
    }
    total[r0] = joined_2;
    float joined_3;
    joined_3 = total[r0];
    local tc_any_float* joined_of_warps_3 = (local tc_any_float*)(shared + 0);
    tc_barrier();
    joined_of_warps_3[tx] = joined_3;
    tc_barrier();
    joined_3 = joined_of_warps_3[tx / 64 * 64 + tx % 32];
    const float other_3 = joined_of_warps_3[tx / 64 * 64 + tx % 32 + 32];
    joined_3 += other_3;
    total[r0] = joined_3;
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:119
    share[s0] = 1.0f / total[s0];  // attention.py:120
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:121
    #pragma unroll
    for (int s1 = 0; s1 < 4; ++s1) {
      out[s0 * 4 + s1] *= share[s0];  // attention.py:122
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:123
    alignas(8) tc_half out_v[4];
    #pragma unroll
    for (int s1 = 0; s1 < 4; ++s1) {
      out_v[s1] = tc_half_from(out[s0 * 4 + s1]);
    }
    tc_move_8(Out + head / 4 * 65536 + s0 * 4096 + tx / 64 * 1024 + tx % 32 / 8 * 256 + head % 4 * 64 + tx % 64 / 32 * 32 + tx % 8 * 4 + 32768 - bx * 32768, out_v);
  }
}
