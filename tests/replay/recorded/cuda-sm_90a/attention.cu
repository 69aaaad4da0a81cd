#include "tilecore_cuda.h"

TC_WGMMA(128, 16, f16, f16, f32)
TC_WGMMA(64, 16, f16, f16, f32)

extern "C" __global__ void __launch_bounds__(384, 1) attention_kernel(const tc_half* __restrict__ Q, const tc_half* __restrict__ K, const tc_half* __restrict__ V, tc_half* __restrict__ Out, const __grid_constant__ tc_tensor_map Out_map, const __grid_constant__ tc_tensor_map Q_map, const __grid_constant__ tc_tensor_map K_map, const __grid_constant__ tc_tensor_map V_map) {
  const int head = blockIdx.x, bx = blockIdx.y;
  const int tx = threadIdx.x;
  TC_SHARED(shared);  // 131720 bytes
  tc_half* Q_shared = (tc_half*)(shared + 98304);
  unsigned long long* Q_shared_full = (unsigned long long*)(shared + 131584);
  unsigned long long* Q_shared_empty = (unsigned long long*)(shared + 131712);
  tc_half* K_shared = (tc_half*)(shared + 0);
  unsigned long long* K_shared_full = (unsigned long long*)(shared + 131072);
  unsigned long long* K_shared_empty = (unsigned long long*)(shared + 131200);
  tc_half* V_shared = (tc_half*)(shared + 49152);
  unsigned long long* V_shared_full = (unsigned long long*)(shared + 131328);
  unsigned long long* V_shared_empty = (unsigned long long*)(shared + 131456);
  if (tx == 0) {
    tc_transaction_init(Q_shared_full, 1);
    tc_transaction_init(Q_shared_empty, 8);
    tc_transaction_init(K_shared_full, 1);
    tc_transaction_init(K_shared_empty, 8);
    tc_transaction_init(K_shared_full + 1, 1);
    tc_transaction_init(K_shared_empty + 1, 8);
    tc_transaction_init(K_shared_full + 2, 1);
    tc_transaction_init(K_shared_empty + 2, 8);
    tc_transaction_init(V_shared_full, 1);
    tc_transaction_init(V_shared_empty, 8);
    tc_transaction_init(V_shared_full + 1, 1);
    tc_transaction_init(V_shared_empty + 1, 8);
    tc_transaction_init(V_shared_full + 2, 1);
    tc_transaction_init(V_shared_empty + 2, 8);
    tc_transaction_fence_init();
  }
  tc_barrier();
  if (tx < 256) {
    tc_registers_acquire<240>();
    const int turn = tc_uniform(tx / 128);
    if (turn == 1) {
      tc_named_barrier_arrive(8, 256);
    }
    tc_half* stored = (tc_half*)(shared + 114688);
    float out[32];  // attention.py:111
    float largest[2];  // attention.py:112
    float total[2];  // attention.py:113
    float share[2];  // attention.py:114
    alignas(4) tc_half Q_local[32];  // attention.py:67
    float scores[64];  // attention.py:70
    alignas(4) tc_half weights[64];  // attention.py:71
    float largest_before[2];  // attention.py:72
    float rescale[2];  // attention.py:73
    float tile_total[2];  // attention.py:74
    tc_transaction_wait(Q_shared_full, 0);
    #pragma unroll
    for (int s0 = 0; s0 < 8; ++s0) {  // attention.py:78
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        tc_move<4>(Q_local + s0 * 4 + s1 * 2, Q_shared + tx / 32 * 1024 + s1 * 512 + tx % 32 / 4 * 64 + (s0 ^ (tx % 32 / 4)) * 8 + tx % 4 * 2);
      }
    }
    tc_fence_async();
    tc_warp_barrier();
    if (tx % 32 == 0) {
      tc_transaction_arrive(Q_shared_empty);
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
    tc_transaction_wait(K_shared_full, 0 % 6 / 3);
    const unsigned long long b_tile = tc_operand(K_shared + (0 ^ 0) * 8, 16, 1024, 1);  // attention.py:86
    tc_warpgroup_begin();
    tc_wgmma_held_n128k16_f16_f16_f32<false>(scores, Q_local, b_tile, false);
    tc_wgmma_held_n128k16_f16_f16_f32<false>(scores, Q_local + 8, tc_operand_at(b_tile, 2), true);
    tc_wgmma_held_n128k16_f16_f16_f32<false>(scores, Q_local + 16, tc_operand_at(b_tile, 4), true);
    tc_wgmma_held_n128k16_f16_f16_f32<false>(scores, Q_local + 24, tc_operand_at(b_tile, 6), true);
    tc_warpgroup_commit();
    tc_warpgroup_wait<0>();
    tc_warpgroup_settle<64>(scores);
    if (tx % 32 == 0) {
      tc_transaction_arrive(K_shared_empty);
    }
    #pragma unroll
    for (int s0 = 0; s0 < 16; ++s0) {  // attention.py:88
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        #pragma unroll
        for (int s2 = 0; s2 < 2; ++s2) {
          const bool seen = (1 - bx - 0) * 128 + (s2 + tx % 4 * 2 + s0 * 8) <= (1 - bx) * 128 + (tx % 32 / 4 + s1 * 8 + tx / 32 * 16);  // attention.py:89
          scores[s0 * 4 + s1 * 2 + s2] = seen ? scores[s0 * 4 + s1 * 2 + s2] : -TC_INFINITY;  // attention.py:90
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
    for (int k = 1; k < 1 + (1 - bx); ++k) {
      tc_transaction_wait(K_shared_full + k % 3, k % 6 / 3);
      tc_named_barrier((int)((unsigned)turn + 8u), 256);
      const unsigned long long b_tile_1 = tc_operand(K_shared + k % 3 * 8192 + (0 ^ 0) * 8, 16, 1024, 1);  // attention.py:86
      tc_warpgroup_begin();
      tc_wgmma_held_n128k16_f16_f16_f32<false>(scores, Q_local, b_tile_1, false);
      tc_wgmma_held_n128k16_f16_f16_f32<false>(scores, Q_local + 8, tc_operand_at(b_tile_1, 2), true);
      tc_wgmma_held_n128k16_f16_f16_f32<false>(scores, Q_local + 16, tc_operand_at(b_tile_1, 4), true);
      tc_wgmma_held_n128k16_f16_f16_f32<false>(scores, Q_local + 24, tc_operand_at(b_tile_1, 6), true);
      tc_warpgroup_commit();
      tc_transaction_wait(V_shared_full + (k + 2) % 3, (k - 1) % 6 / 3);
      const unsigned long long b_tile_2 = tc_operand(V_shared + (k + 2) % 3 * 8192 + (0 ^ 0) * 8, 16384, 1024, 1);  // attention.py:107
      tc_warpgroup_begin();
      tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights, b_tile_2, true);
      tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights + 8, tc_operand_at(b_tile_2, 128), true);
      tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights + 16, tc_operand_at(b_tile_2, 256), true);
      tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights + 24, tc_operand_at(b_tile_2, 384), true);
      tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights + 32, tc_operand_at(b_tile_2, 512), true);
      tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights + 40, tc_operand_at(b_tile_2, 640), true);
      tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights + 48, tc_operand_at(b_tile_2, 768), true);
      tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights + 56, tc_operand_at(b_tile_2, 896), true);
      tc_warpgroup_commit();
      tc_warpgroup_wait<1>();
      tc_warpgroup_settle<64>(scores);
      if (tx % 32 == 0) {
        tc_transaction_arrive(K_shared_empty + k % 3);
      }
      tc_named_barrier_arrive(turn == 1 ? 8 : (int)((unsigned)turn + 9u), 256);
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // attention.py:92
        largest_before[s0] = largest[s0];
      }
      float total_3[4];
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        total_3[i] = -TC_INFINITY;
      }
      #pragma unroll
      for (int r0 = 0; r0 < 16; ++r0) {  // attention.py:93
        #pragma unroll
        for (int r2 = 0; r2 < 2; ++r2) {
          #pragma unroll
          for (int r1 = 0; r1 < 2; ++r1) {
            total_3[r1 * 2 + r2] = tc_max(total_3[r1 * 2 + r2], scores[r0 * 4 + r1 * 2 + r2]);
          }
        }
      }
      #pragma unroll
      for (int r1 = 0; r1 < 2; ++r1) {
        total_3[r1 * 2] = tc_max(total_3[r1 * 2], total_3[r1 * 2 + 1]);
        float joined_1;
        joined_1 = total_3[r1 * 2];
        const float other_2 = tc_shuffle_xor(joined_1, 2, 32);
        joined_1 = tc_max(joined_1, other_2);
        const float other_3 = tc_shuffle_xor(joined_1, 1, 32);
        joined_1 = tc_max(joined_1, other_3);
        total_3[r1 * 2] = joined_1;
        largest[r1] = tc_max(total_3[r1 * 2], largest[r1]);
      }
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // attention.py:94
        rescale[s0] = tc_exp2(largest_before[s0] * 0x1.715476p-3f - largest[s0] * 0x1.715476p-3f);  // attention.py:95
      }
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // attention.py:96
        #pragma unroll
        for (int s1 = 0; s1 < 2; ++s1) {
          #pragma unroll
          for (int s2 = 0; s2 < 2; ++s2) {
            const float offset_1 = largest[s1] * 0x1.715476p-3f;  // attention.py:97
            scores[s0 * 4 + s1 * 2 + s2] = tc_exp2(tc_fma(scores[s0 * 4 + s1 * 2 + s2], 0x1.715476p-3f, -offset_1));  // attention.py:98
          }
        }
      }
      tc_scheduling_fence(scores[7]);
      tc_warpgroup_wait<0>();
      tc_warpgroup_settle<32>(out);
      if (tx % 32 == 0) {
        tc_transaction_arrive(V_shared_empty + (k + 2) % 3);
      }
      #pragma unroll
      for (int s0 = 0; s0 < 14; ++s0) {  // attention.py:96
        #pragma unroll
        for (int s1 = 0; s1 < 2; ++s1) {
          #pragma unroll
          for (int s2 = 0; s2 < 2; ++s2) {
            const float offset_2 = largest[s1] * 0x1.715476p-3f;  // attention.py:97
            scores[s0 * 4 + s1 * 2 + s2 + 8] = tc_exp2(tc_fma(scores[s0 * 4 + s1 * 2 + s2 + 8], 0x1.715476p-3f, -offset_2));  // attention.py:98
          }
        }
      }
      float total_4[4];
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        total_4[i] = 0.0f;
      }
      #pragma unroll
      for (int r0 = 0; r0 < 16; ++r0) {  // attention.py:99
        #pragma unroll
        for (int r2 = 0; r2 < 2; ++r2) {
          #pragma unroll
          for (int r1 = 0; r1 < 2; ++r1) {
            total_4[r1 * 2 + r2] += scores[r0 * 4 + r1 * 2 + r2];
          }
        }
      }
      #pragma unroll
      for (int r1 = 0; r1 < 2; ++r1) {
        total_4[r1 * 2] += total_4[r1 * 2 + 1];
        tile_total[r1] = total_4[r1 * 2];
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
    }
    tc_keep_registers<32>(Q_local);
    tc_transaction_wait(V_shared_full + (1 - bx) % 3, (1 - bx) % 6 / 3);
    const unsigned long long b_tile_3 = tc_operand(V_shared + (1 - bx) % 3 * 8192 + (0 ^ 0) * 8, 16384, 1024, 1);  // attention.py:107
    tc_warpgroup_begin();
    tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights, b_tile_3, true);
    tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights + 8, tc_operand_at(b_tile_3, 128), true);
    tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights + 16, tc_operand_at(b_tile_3, 256), true);
    tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights + 24, tc_operand_at(b_tile_3, 384), true);
    tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights + 32, tc_operand_at(b_tile_3, 512), true);
    tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights + 40, tc_operand_at(b_tile_3, 640), true);
    tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights + 48, tc_operand_at(b_tile_3, 768), true);
    tc_wgmma_held_n64k16_f16_f16_f32<true>(out, weights + 56, tc_operand_at(b_tile_3, 896), true);
    tc_warpgroup_commit();
    tc_warpgroup_wait<0>();
    tc_warpgroup_settle<32>(out);
    if (tx % 32 == 0) {
      tc_transaction_arrive(V_shared_empty + (1 - bx) % 3);
    }
    #pragma unroll
    for (int r0 = 0; r0 < 2; ++r0) {  // attention.py:82
      float joined_2;
      joined_2 = total[r0];
      const float other_4 = tc_shuffle_xor(joined_2, 2, 32);
      joined_2 += other_4;
      const float other_5 = tc_shuffle_xor(joined_2, 1, 32);
      joined_2 += other_5;
      total[r0] = joined_2;
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
    if (tx % 32 == 0) {  // attention.py:123
      tc_wait_stores_read<0>();
    }
    tc_warp_barrier();
    #pragma unroll
    for (int q = 0; q < 4; ++q) {
      alignas(4) tc_half taken[8];
      #pragma unroll
      for (int n = 0; n < 8; ++n) {
        taken[n] = (tc_half)out[q * 8 + n];
      }
      tc_stmatrix_x4(stored + tx / 32 * 1024 + tx % 16 * 64 + ((q * 2 + tx % 32 / 16) ^ (tx % 8)) * 8, taken);
    }
    tc_fence_async();
    tc_warp_barrier();
    if (tx % 32 == 0) {
      tc_tensor_store(&Out_map, stored + tx / 32 * 1024 + (0 ^ 0) * 8, 0, tx % 256 / 32 * 16 + 128 - bx * 128, head % 4, head / 4);
      tc_commit_stores();
    }
    if (tx % 32 == 0) {
      tc_wait_stores<0>();
    }
  } else {
    tc_registers_release<24>();
    if (tx == 256) {
      tc_transaction_wait(Q_shared_empty, 1);  // attention.py:76
      tc_transaction_arrive_expect(Q_shared_full, 16384);
      tc_tensor_load(Q_shared + (0 ^ 0) * 8, &Q_map, Q_shared_full, 0, 128 - bx * 128, head % 4, head / 4);
      for (int k = 0; k < ((1 - bx) * 128 + 128 - 1) / 128 + 1; ++k) {  // attention.py:82
        tc_transaction_wait(K_shared_empty + k % 3, (k / 3 + 1) % 2);  // attention.py:84
        tc_transaction_arrive_expect(K_shared_full + k % 3, 16384);
        tc_tensor_load(K_shared + k % 3 * 8192 + (0 ^ 0) * 8, &K_map, K_shared_full + k % 3, 0, 128 - bx * 128 - k * 128, head % 4 / 2, head / 4);
        tc_transaction_wait(V_shared_empty + k % 3, (k / 3 + 1) % 2);  // attention.py:106
        tc_transaction_arrive_expect(V_shared_full + k % 3, 16384);
        tc_tensor_load(V_shared + k % 3 * 8192 + (0 ^ 0) * 8, &V_map, V_shared_full + k % 3, 0, 128 - bx * 128 - k * 128, head % 4 / 2, head / 4);
      }
    }
  }
}
