#include "tilecore_cuda.h"

TC_WGMMA(16, 16, f16, f16, f32)
TC_WGMMA(256, 16, f16, f16, f32)

extern "C" __global__ void __launch_bounds__(288) mla_decode_kernel_0(const tc_half* __restrict__ Q, const tc_half* __restrict__ QR, const tc_half* __restrict__ KV, const tc_half* __restrict__ KR, const tc_half* __restrict__ Out, float* __restrict__ Part, float* __restrict__ Log, const __grid_constant__ tc_tensor_map Q_map, const __grid_constant__ tc_tensor_map QR_map, const __grid_constant__ tc_tensor_map KV_map, const __grid_constant__ tc_tensor_map KR_map) {
  const int bx = blockIdx.x, split = blockIdx.y, b = blockIdx.z;
  const int tx = threadIdx.x;
  TC_SHARED(shared);  // 190088 bytes
  tc_half* Q_shared = (tc_half*)(shared + 98304);
  tc_half* QR_shared = (tc_half*)(shared + 176128);
  unsigned long long* Q_shared_QR_shared_full = (unsigned long long*)(shared + 189952);
  unsigned long long* Q_shared_QR_shared_empty = (unsigned long long*)(shared + 190080);
  tc_half* KV_shared = (tc_half*)(shared + 0);
  unsigned long long* KV_shared_full = (unsigned long long*)(shared + 189440);
  unsigned long long* KV_shared_empty = (unsigned long long*)(shared + 189568);
  tc_half* KR_shared = (tc_half*)(shared + 163840);
  unsigned long long* KR_shared_full = (unsigned long long*)(shared + 189696);
  unsigned long long* KR_shared_empty = (unsigned long long*)(shared + 189824);
  if (tx == 0) {
    tc_transaction_init(Q_shared_QR_shared_full, 1);
    tc_transaction_init(Q_shared_QR_shared_empty, 8);
    tc_transaction_init(KV_shared_full, 1);
    tc_transaction_init(KV_shared_empty, 8);
    tc_transaction_init(KV_shared_full + 1, 1);
    tc_transaction_init(KV_shared_empty + 1, 8);
    tc_transaction_init(KV_shared_full + 2, 1);
    tc_transaction_init(KV_shared_empty + 2, 8);
    tc_transaction_init(KR_shared_full, 1);
    tc_transaction_init(KR_shared_empty, 8);
    tc_transaction_init(KR_shared_full + 1, 1);
    tc_transaction_init(KR_shared_empty + 1, 8);
    tc_transaction_init(KR_shared_full + 2, 1);
    tc_transaction_init(KR_shared_empty + 2, 8);
    tc_transaction_fence_init();
  }
  tc_barrier();
  if (tx < 256) {
    const int group = tc_uniform(tx / 128);
    tc_half* weights = (tc_half*)(shared + 184320);  // mla_decode.py:51
    float scores[8];  // mla_decode.py:52
    float out[128];  // mla_decode.py:53
    float largest[2];  // mla_decode.py:54
    float largest_before[2];  // mla_decode.py:55
    float rescale[2];  // mla_decode.py:56
    float tile_total[2];  // mla_decode.py:57
    float total[2];  // mla_decode.py:58
    #pragma unroll
    for (int s0 = 0; s0 < 32; ++s0) {  // mla_decode.py:63
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        #pragma unroll
        for (int s2 = 0; s2 < 2; ++s2) {
          out[s0 * 4 + s1 * 2 + s2] = 0.0f;
        }
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:64
      total[s0] = 0.0f;
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:65
      largest[s0] = -TC_INFINITY;
    }
    tc_transaction_wait(Q_shared_QR_shared_full, 0);
    tc_transaction_wait(KV_shared_full, 0 % 6 / 3);
    const unsigned long long a_tile = tc_operand(Q_shared + (0 ^ 0) * 8, 16, 1024, 1);  // mla_decode.py:70
    const unsigned long long b_tile = tc_operand(KV_shared + group * 1024 + (0 ^ 0) * 8, 16, 1024, 1);
    tc_warpgroup_begin();
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, a_tile, b_tile, false);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 2), tc_operand_at(b_tile, 2), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 4), tc_operand_at(b_tile, 4), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 6), tc_operand_at(b_tile, 6), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 512), tc_operand_at(b_tile, 256), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 514), tc_operand_at(b_tile, 258), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 516), tc_operand_at(b_tile, 260), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 518), tc_operand_at(b_tile, 262), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 1024), tc_operand_at(b_tile, 512), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 1026), tc_operand_at(b_tile, 514), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 1028), tc_operand_at(b_tile, 516), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 1030), tc_operand_at(b_tile, 518), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 1536), tc_operand_at(b_tile, 768), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 1538), tc_operand_at(b_tile, 770), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 1540), tc_operand_at(b_tile, 772), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 1542), tc_operand_at(b_tile, 774), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 2048), tc_operand_at(b_tile, 1024), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 2050), tc_operand_at(b_tile, 1026), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 2052), tc_operand_at(b_tile, 1028), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 2054), tc_operand_at(b_tile, 1030), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 2560), tc_operand_at(b_tile, 1280), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 2562), tc_operand_at(b_tile, 1282), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 2564), tc_operand_at(b_tile, 1284), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 2566), tc_operand_at(b_tile, 1286), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 3072), tc_operand_at(b_tile, 1536), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 3074), tc_operand_at(b_tile, 1538), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 3076), tc_operand_at(b_tile, 1540), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 3078), tc_operand_at(b_tile, 1542), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 3584), tc_operand_at(b_tile, 1792), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 3586), tc_operand_at(b_tile, 1794), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 3588), tc_operand_at(b_tile, 1796), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile, 3590), tc_operand_at(b_tile, 1798), true);
    tc_warpgroup_commit();
    tc_transaction_wait(KR_shared_full, 0 % 6 / 3);
    const unsigned long long a_tile_1 = tc_operand(QR_shared + (0 ^ 0) * 8, 16, 1024, 1);  // mla_decode.py:71
    const unsigned long long b_tile_1 = tc_operand(KR_shared + group * 1024 + (0 ^ 0) * 8, 16, 1024, 1);
    tc_warpgroup_begin();
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, a_tile_1, b_tile_1, true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_1, 2), tc_operand_at(b_tile_1, 2), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_1, 4), tc_operand_at(b_tile_1, 4), true);
    tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_1, 6), tc_operand_at(b_tile_1, 6), true);
    tc_warpgroup_commit();
    tc_warpgroup_wait<0>();
    tc_warpgroup_settle<8>(scores);
    if (tx % 32 == 0) {
      tc_transaction_arrive(KR_shared_empty);
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:73
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        #pragma unroll
        for (int s2 = 0; s2 < 2; ++s2) {
          scores[s0 * 4 + s1 * 2 + s2] = (split * 3 + 0) * 32 + (s2 + tx % 4 * 2 + s0 * 8 + tx / 128 * 16) < 300 ? scores[s0 * 4 + s1 * 2 + s2] : -TC_INFINITY;  // mla_decode.py:74
        }
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:76
      largest_before[s0] = largest[s0];
    }
    #pragma unroll
    for (int r1 = 0; r1 < 2; ++r1) {  // mla_decode.py:77
      float total_1;
      total_1 = -TC_INFINITY;
      #pragma unroll
      for (int r0 = 0; r0 < 2; ++r0) {
        #pragma unroll
        for (int r2 = 0; r2 < 2; ++r2) {
          total_1 = tc_max(total_1, scores[r0 * 4 + r1 * 2 + r2]);
        }
      }
      float joined;
      joined = total_1;
      const float other = tc_shuffle_xor(joined, 2, 32);
      joined = tc_max(joined, other);
      const float other_1 = tc_shuffle_xor(joined, 1, 32);
      joined = tc_max(joined, other_1);
      total_1 = joined;
      float joined_1;
      joined_1 = total_1;
      float* joined_of_warps = (float*)(shared + 184320);
      tc_named_barrier(1, 256);
      joined_of_warps[tx] = joined_1;
      tc_named_barrier(1, 256);
      joined_1 = joined_of_warps[tx / 256 * 256 + tx % 128];
      const float other_2 = joined_of_warps[tx / 256 * 256 + tx % 128 + 128];
      joined_1 = tc_max(joined_1, other_2);
      total_1 = joined_1;
      largest[r1] = tc_max(total_1, largest[r1]);
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:78
      rescale[s0] = tc_exp2(largest_before[s0] * 0x1.ec709ep-5f - largest[s0] * 0x1.ec709ep-5f);  // mla_decode.py:79
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:80
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        #pragma unroll
        for (int s2 = 0; s2 < 2; ++s2) {
          const float offset = largest[s1] * 0x1.ec709ep-5f;  // mla_decode.py:81
          scores[s0 * 4 + s1 * 2 + s2] = tc_exp2(tc_fma(scores[s0 * 4 + s1 * 2 + s2], 0x1.ec709ep-5f, -offset));  // mla_decode.py:82
        }
      }
    }
    #pragma unroll
    for (int r1 = 0; r1 < 2; ++r1) {  // mla_decode.py:83
      float total_2;
      total_2 = 0.0f;
      #pragma unroll
      for (int r0 = 0; r0 < 2; ++r0) {
        #pragma unroll
        for (int r2 = 0; r2 < 2; ++r2) {
          total_2 += scores[r0 * 4 + r1 * 2 + r2];
        }
      }
      tile_total[r1] = total_2;
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:84
      total[s0] = tc_fma(total[s0], rescale[s0], tile_total[s0]);  // mla_decode.py:85
    }
    #pragma unroll
    for (int s0 = 0; s0 < 32; ++s0) {  // mla_decode.py:86
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        #pragma unroll
        for (int s2 = 0; s2 < 2; ++s2) {
          out[s0 * 4 + s1 * 2 + s2] *= rescale[s1];  // mla_decode.py:87
        }
      }
    }
    tc_named_barrier(1, 256);
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:88
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        alignas(4) tc_half out_v[2];
        #pragma unroll
        for (int s2 = 0; s2 < 2; ++s2) {
          out_v[s2] = (tc_half)scores[s0 * 4 + s1 * 2 + s2];
        }
        tc_move<4>(weights + tx % 128 / 32 * 512 + s1 * 256 + tx % 32 / 4 * 32 + ((tx / 128 * 2 + s0) ^ (tx % 32 / 8)) * 8 + tx % 4 * 2, out_v);
      }
    }
    for (int k = 1; k < 1 + tc_max(tc_min(9 - split * 3, tc_min(3, 10 - split * 3)) - 1, 0); ++k) {
      tc_transaction_wait(KV_shared_full + k, k % 6 / 3);
      const unsigned long long a_tile_2 = tc_operand(Q_shared + (0 ^ 0) * 8, 16, 1024, 1);  // mla_decode.py:70
      const unsigned long long b_tile_2 = tc_operand(KV_shared + k * 16384 + group * 1024 + (0 ^ 0) * 8, 16, 1024, 1);
      tc_warpgroup_begin();
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, a_tile_2, b_tile_2, false);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 2), tc_operand_at(b_tile_2, 2), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 4), tc_operand_at(b_tile_2, 4), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 6), tc_operand_at(b_tile_2, 6), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 512), tc_operand_at(b_tile_2, 256), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 514), tc_operand_at(b_tile_2, 258), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 516), tc_operand_at(b_tile_2, 260), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 518), tc_operand_at(b_tile_2, 262), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 1024), tc_operand_at(b_tile_2, 512), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 1026), tc_operand_at(b_tile_2, 514), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 1028), tc_operand_at(b_tile_2, 516), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 1030), tc_operand_at(b_tile_2, 518), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 1536), tc_operand_at(b_tile_2, 768), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 1538), tc_operand_at(b_tile_2, 770), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 1540), tc_operand_at(b_tile_2, 772), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 1542), tc_operand_at(b_tile_2, 774), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 2048), tc_operand_at(b_tile_2, 1024), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 2050), tc_operand_at(b_tile_2, 1026), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 2052), tc_operand_at(b_tile_2, 1028), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 2054), tc_operand_at(b_tile_2, 1030), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 2560), tc_operand_at(b_tile_2, 1280), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 2562), tc_operand_at(b_tile_2, 1282), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 2564), tc_operand_at(b_tile_2, 1284), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 2566), tc_operand_at(b_tile_2, 1286), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 3072), tc_operand_at(b_tile_2, 1536), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 3074), tc_operand_at(b_tile_2, 1538), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 3076), tc_operand_at(b_tile_2, 1540), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 3078), tc_operand_at(b_tile_2, 1542), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 3584), tc_operand_at(b_tile_2, 1792), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 3586), tc_operand_at(b_tile_2, 1794), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 3588), tc_operand_at(b_tile_2, 1796), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_2, 3590), tc_operand_at(b_tile_2, 1798), true);
      tc_warpgroup_commit();
      tc_transaction_wait(KR_shared_full + k, k % 6 / 3);
      const unsigned long long a_tile_3 = tc_operand(QR_shared + (0 ^ 0) * 8, 16, 1024, 1);  // mla_decode.py:71
      const unsigned long long b_tile_3 = tc_operand(KR_shared + k * 2048 + group * 1024 + (0 ^ 0) * 8, 16, 1024, 1);
      tc_warpgroup_begin();
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, a_tile_3, b_tile_3, true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_3, 2), tc_operand_at(b_tile_3, 2), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_3, 4), tc_operand_at(b_tile_3, 4), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_3, 6), tc_operand_at(b_tile_3, 6), true);
      tc_warpgroup_commit();
      tc_fence_async();
      tc_named_barrier(1, 256);
      const unsigned long long a_tile_4 = tc_operand(weights + (0 ^ 0) * 8, 16, 512, 2);  // mla_decode.py:89
      const unsigned long long b_tile_4 = tc_operand(KV_shared + k * 16384 + group * 8192 + (0 ^ 0) * 8 - 16384, 4096, 1024, 1);
      tc_warpgroup_begin();
      tc_wgmma_n256k16_f16_f16_f32<false, true>(out, a_tile_4, b_tile_4, true);
      tc_wgmma_n256k16_f16_f16_f32<false, true>(out, tc_operand_at(a_tile_4, 2), tc_operand_at(b_tile_4, 128), true);
      tc_warpgroup_commit();
      tc_warpgroup_wait<1>();
      tc_warpgroup_settle<8>(scores);
      if (tx % 32 == 0) {
        tc_transaction_arrive(KR_shared_empty + k);
      }
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:73
        #pragma unroll
        for (int s1 = 0; s1 < 2; ++s1) {
          #pragma unroll
          for (int s2 = 0; s2 < 2; ++s2) {
            scores[s0 * 4 + s1 * 2 + s2] = scores[s0 * 4 + s1 * 2 + s2];  // mla_decode.py:74
          }
        }
      }
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:76
        largest_before[s0] = largest[s0];
      }
      #pragma unroll
      for (int r1 = 0; r1 < 2; ++r1) {  // mla_decode.py:77
        float total_3;
        total_3 = -TC_INFINITY;
        #pragma unroll
        for (int r0 = 0; r0 < 2; ++r0) {
          #pragma unroll
          for (int r2 = 0; r2 < 2; ++r2) {
            total_3 = tc_max(total_3, scores[r0 * 4 + r1 * 2 + r2]);
          }
        }
        float joined_2;
        joined_2 = total_3;
        const float other_3 = tc_shuffle_xor(joined_2, 2, 32);
        joined_2 = tc_max(joined_2, other_3);
        const float other_4 = tc_shuffle_xor(joined_2, 1, 32);
        joined_2 = tc_max(joined_2, other_4);
        total_3 = joined_2;
        float joined_3;
        joined_3 = total_3;
        float* joined_of_warps_1 = (float*)(shared + 188416);
        tc_named_barrier(1, 256);
        joined_of_warps_1[tx] = joined_3;
        tc_named_barrier(1, 256);
        joined_3 = joined_of_warps_1[tx / 256 * 256 + tx % 128];
        const float other_5 = joined_of_warps_1[tx / 256 * 256 + tx % 128 + 128];
        joined_3 = tc_max(joined_3, other_5);
        total_3 = joined_3;
        largest[r1] = tc_max(total_3, largest[r1]);
      }
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:78
        rescale[s0] = tc_exp2(largest_before[s0] * 0x1.ec709ep-5f - largest[s0] * 0x1.ec709ep-5f);  // mla_decode.py:79
      }
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:80
        #pragma unroll
        for (int s1 = 0; s1 < 2; ++s1) {
          #pragma unroll
          for (int s2 = 0; s2 < 2; ++s2) {
            const float offset_1 = largest[s1] * 0x1.ec709ep-5f;  // mla_decode.py:81
            scores[s0 * 4 + s1 * 2 + s2] = tc_exp2(tc_fma(scores[s0 * 4 + s1 * 2 + s2], 0x1.ec709ep-5f, -offset_1));  // mla_decode.py:82
          }
        }
      }
      #pragma unroll
      for (int r1 = 0; r1 < 2; ++r1) {  // mla_decode.py:83
        float total_4;
        total_4 = 0.0f;
        #pragma unroll
        for (int r0 = 0; r0 < 2; ++r0) {
          #pragma unroll
          for (int r2 = 0; r2 < 2; ++r2) {
            total_4 += scores[r0 * 4 + r1 * 2 + r2];
          }
        }
        tile_total[r1] = total_4;
      }
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:84
        total[s0] = tc_fma(total[s0], rescale[s0], tile_total[s0]);  // mla_decode.py:85
      }
      tc_warpgroup_wait<0>();
      tc_warpgroup_settle<128>(out);
      if (tx % 32 == 0) {
        tc_transaction_arrive(KV_shared_empty + k - 1);
      }
      #pragma unroll
      for (int s0 = 0; s0 < 32; ++s0) {  // mla_decode.py:86
        #pragma unroll
        for (int s1 = 0; s1 < 2; ++s1) {
          #pragma unroll
          for (int s2 = 0; s2 < 2; ++s2) {
            out[s0 * 4 + s1 * 2 + s2] *= rescale[s1];  // mla_decode.py:87
          }
        }
      }
      tc_named_barrier(1, 256);
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:88
        #pragma unroll
        for (int s1 = 0; s1 < 2; ++s1) {
          alignas(4) tc_half out_v_1[2];
          #pragma unroll
          for (int s2 = 0; s2 < 2; ++s2) {
            out_v_1[s2] = (tc_half)scores[s0 * 4 + s1 * 2 + s2];
          }
          tc_move<4>(weights + tx % 128 / 32 * 512 + s1 * 256 + tx % 32 / 4 * 32 + ((tx / 128 * 2 + s0) ^ (tx % 32 / 8)) * 8 + tx % 4 * 2, out_v_1);
        }
      }
    }
    for (int k = tc_max(tc_min(9 - split * 3, tc_min(3, 10 - split * 3)), 1); k < tc_max(tc_min(9 - split * 3, tc_min(3, 10 - split * 3)), 1) + (tc_min(3, 10 - split * 3) - tc_max(tc_min(9 - split * 3, tc_min(3, 10 - split * 3)), 1)); ++k) {
      tc_transaction_wait(KV_shared_full + k % 3, k % 6 / 3);
      const unsigned long long a_tile_5 = tc_operand(Q_shared + (0 ^ 0) * 8, 16, 1024, 1);  // mla_decode.py:70
      const unsigned long long b_tile_5 = tc_operand(KV_shared + k % 3 * 16384 + group * 1024 + (0 ^ 0) * 8, 16, 1024, 1);
      tc_warpgroup_begin();
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, a_tile_5, b_tile_5, false);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 2), tc_operand_at(b_tile_5, 2), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 4), tc_operand_at(b_tile_5, 4), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 6), tc_operand_at(b_tile_5, 6), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 512), tc_operand_at(b_tile_5, 256), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 514), tc_operand_at(b_tile_5, 258), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 516), tc_operand_at(b_tile_5, 260), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 518), tc_operand_at(b_tile_5, 262), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 1024), tc_operand_at(b_tile_5, 512), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 1026), tc_operand_at(b_tile_5, 514), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 1028), tc_operand_at(b_tile_5, 516), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 1030), tc_operand_at(b_tile_5, 518), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 1536), tc_operand_at(b_tile_5, 768), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 1538), tc_operand_at(b_tile_5, 770), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 1540), tc_operand_at(b_tile_5, 772), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 1542), tc_operand_at(b_tile_5, 774), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 2048), tc_operand_at(b_tile_5, 1024), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 2050), tc_operand_at(b_tile_5, 1026), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 2052), tc_operand_at(b_tile_5, 1028), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 2054), tc_operand_at(b_tile_5, 1030), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 2560), tc_operand_at(b_tile_5, 1280), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 2562), tc_operand_at(b_tile_5, 1282), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 2564), tc_operand_at(b_tile_5, 1284), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 2566), tc_operand_at(b_tile_5, 1286), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 3072), tc_operand_at(b_tile_5, 1536), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 3074), tc_operand_at(b_tile_5, 1538), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 3076), tc_operand_at(b_tile_5, 1540), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 3078), tc_operand_at(b_tile_5, 1542), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 3584), tc_operand_at(b_tile_5, 1792), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 3586), tc_operand_at(b_tile_5, 1794), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 3588), tc_operand_at(b_tile_5, 1796), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_5, 3590), tc_operand_at(b_tile_5, 1798), true);
      tc_warpgroup_commit();
      tc_transaction_wait(KR_shared_full + k % 3, k % 6 / 3);
      const unsigned long long a_tile_6 = tc_operand(QR_shared + (0 ^ 0) * 8, 16, 1024, 1);  // mla_decode.py:71
      const unsigned long long b_tile_6 = tc_operand(KR_shared + k % 3 * 2048 + group * 1024 + (0 ^ 0) * 8, 16, 1024, 1);
      tc_warpgroup_begin();
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, a_tile_6, b_tile_6, true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_6, 2), tc_operand_at(b_tile_6, 2), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_6, 4), tc_operand_at(b_tile_6, 4), true);
      tc_wgmma_n16k16_f16_f16_f32<false, false>(scores, tc_operand_at(a_tile_6, 6), tc_operand_at(b_tile_6, 6), true);
      tc_warpgroup_commit();
      tc_fence_async();
      tc_named_barrier(1, 256);
      const unsigned long long a_tile_7 = tc_operand(weights + (0 ^ 0) * 8, 16, 512, 2);  // mla_decode.py:89
      const unsigned long long b_tile_7 = tc_operand(KV_shared + (k + 2) % 3 * 16384 + group * 8192 + (0 ^ 0) * 8, 4096, 1024, 1);
      tc_warpgroup_begin();
      tc_wgmma_n256k16_f16_f16_f32<false, true>(out, a_tile_7, b_tile_7, true);
      tc_wgmma_n256k16_f16_f16_f32<false, true>(out, tc_operand_at(a_tile_7, 2), tc_operand_at(b_tile_7, 128), true);
      tc_warpgroup_commit();
      tc_warpgroup_wait<1>();
      tc_warpgroup_settle<8>(scores);
      if (tx % 32 == 0) {
        tc_transaction_arrive(KR_shared_empty + k % 3);
      }
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:73
        #pragma unroll
        for (int s1 = 0; s1 < 2; ++s1) {
          #pragma unroll
          for (int s2 = 0; s2 < 2; ++s2) {
            scores[s0 * 4 + s1 * 2 + s2] = (split * 3 + k) * 32 + (s2 + tx % 4 * 2 + s0 * 8 + tx / 128 * 16) < 300 ? scores[s0 * 4 + s1 * 2 + s2] : -TC_INFINITY;  // mla_decode.py:74
          }
        }
      }
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:76
        largest_before[s0] = largest[s0];
      }
      #pragma unroll
      for (int r1 = 0; r1 < 2; ++r1) {  // mla_decode.py:77
        float total_5;
        total_5 = -TC_INFINITY;
        #pragma unroll
        for (int r0 = 0; r0 < 2; ++r0) {
          #pragma unroll
          for (int r2 = 0; r2 < 2; ++r2) {
            total_5 = tc_max(total_5, scores[r0 * 4 + r1 * 2 + r2]);
          }
        }
        float joined_4;
        joined_4 = total_5;
        const float other_6 = tc_shuffle_xor(joined_4, 2, 32);
        joined_4 = tc_max(joined_4, other_6);
        const float other_7 = tc_shuffle_xor(joined_4, 1, 32);
        joined_4 = tc_max(joined_4, other_7);
        total_5 = joined_4;
        float joined_5;
        joined_5 = total_5;
        float* joined_of_warps_2 = (float*)(shared + 188416);
        tc_named_barrier(1, 256);
        joined_of_warps_2[tx] = joined_5;
        tc_named_barrier(1, 256);
        joined_5 = joined_of_warps_2[tx / 256 * 256 + tx % 128];
        const float other_8 = joined_of_warps_2[tx / 256 * 256 + tx % 128 + 128];
        joined_5 = tc_max(joined_5, other_8);
        total_5 = joined_5;
        largest[r1] = tc_max(total_5, largest[r1]);
      }
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:78
        rescale[s0] = tc_exp2(largest_before[s0] * 0x1.ec709ep-5f - largest[s0] * 0x1.ec709ep-5f);  // mla_decode.py:79
      }
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:80
        #pragma unroll
        for (int s1 = 0; s1 < 2; ++s1) {
          #pragma unroll
          for (int s2 = 0; s2 < 2; ++s2) {
            const float offset_2 = largest[s1] * 0x1.ec709ep-5f;  // mla_decode.py:81
            scores[s0 * 4 + s1 * 2 + s2] = tc_exp2(tc_fma(scores[s0 * 4 + s1 * 2 + s2], 0x1.ec709ep-5f, -offset_2));  // mla_decode.py:82
          }
        }
      }
      #pragma unroll
      for (int r1 = 0; r1 < 2; ++r1) {  // mla_decode.py:83
        float total_6;
        total_6 = 0.0f;
        #pragma unroll
        for (int r0 = 0; r0 < 2; ++r0) {
          #pragma unroll
          for (int r2 = 0; r2 < 2; ++r2) {
            total_6 += scores[r0 * 4 + r1 * 2 + r2];
          }
        }
        tile_total[r1] = total_6;
      }
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:84
        total[s0] = tc_fma(total[s0], rescale[s0], tile_total[s0]);  // mla_decode.py:85
      }
      tc_warpgroup_wait<0>();
      tc_warpgroup_settle<128>(out);
      if (tx % 32 == 0) {
        tc_transaction_arrive(KV_shared_empty + (k + 2) % 3);
      }
      #pragma unroll
      for (int s0 = 0; s0 < 32; ++s0) {  // mla_decode.py:86
        #pragma unroll
        for (int s1 = 0; s1 < 2; ++s1) {
          #pragma unroll
          for (int s2 = 0; s2 < 2; ++s2) {
            out[s0 * 4 + s1 * 2 + s2] *= rescale[s1];  // mla_decode.py:87
          }
        }
      }
      tc_named_barrier(1, 256);
      #pragma unroll
      for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:88
        #pragma unroll
        for (int s1 = 0; s1 < 2; ++s1) {
          alignas(4) tc_half out_v_2[2];
          #pragma unroll
          for (int s2 = 0; s2 < 2; ++s2) {
            out_v_2[s2] = (tc_half)scores[s0 * 4 + s1 * 2 + s2];
          }
          tc_move<4>(weights + tx % 128 / 32 * 512 + s1 * 256 + tx % 32 / 4 * 32 + ((tx / 128 * 2 + s0) ^ (tx % 32 / 8)) * 8 + tx % 4 * 2, out_v_2);
        }
      }
    }
    tc_fence_async();
    tc_named_barrier(1, 256);
    const unsigned long long a_tile_8 = tc_operand(weights + (0 ^ 0) * 8, 16, 512, 2);  // mla_decode.py:89
    const unsigned long long b_tile_8 = tc_operand(KV_shared + (tc_min(3, 10 - split * 3) + 2) % 3 * 16384 + group * 8192 + (0 ^ 0) * 8, 4096, 1024, 1);
    tc_warpgroup_begin();
    tc_wgmma_n256k16_f16_f16_f32<false, true>(out, a_tile_8, b_tile_8, true);
    tc_wgmma_n256k16_f16_f16_f32<false, true>(out, tc_operand_at(a_tile_8, 2), tc_operand_at(b_tile_8, 128), true);
    tc_warpgroup_commit();
    tc_warpgroup_wait<0>();
    tc_warpgroup_settle<128>(out);
    if (tx % 32 == 0) {
      tc_transaction_arrive(KV_shared_empty + (tc_min(3, 10 - split * 3) + 2) % 3);
    }
    tc_fence_async();
    tc_warp_barrier();
    if (tx % 32 == 0) {
      tc_transaction_arrive(Q_shared_QR_shared_empty);
    }
    #pragma unroll
    for (int r0 = 0; r0 < 2; ++r0) {  // mla_decode.py:66
      float joined_6;
      joined_6 = total[r0];
      const float other_9 = tc_shuffle_xor(joined_6, 2, 32);
      joined_6 += other_9;
      const float other_10 = tc_shuffle_xor(joined_6, 1, 32);
      joined_6 += other_10;
      total[r0] = joined_6;
      float joined_7;
      joined_7 = total[r0];
      float* joined_of_warps_3 = (float*)(shared + 0);
      tc_named_barrier(1, 256);
      joined_of_warps_3[tx] = joined_7;
      tc_named_barrier(1, 256);
      joined_7 = joined_of_warps_3[tx / 256 * 256 + tx % 128];
      const float other_11 = joined_of_warps_3[tx / 256 * 256 + tx % 128 + 128];
      joined_7 += other_11;
      total[r0] = joined_7;
    }
    #pragma unroll
    for (int s0 = 0; s0 < 32; ++s0) {  // mla_decode.py:94
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        if (bx * 64 + (tx % 32 / 4 + s1 * 8 + tx % 128 / 32 * 16) < 16) {  // mla_decode.py:95
          alignas(8) float out_v_3[2];
          float quotients[2];
          #pragma unroll
          for (int s2 = 0; s2 < 2; ++s2) {  // mla_decode.py:94
            quotients[s2] = out[s0 * 4 + s1 * 2 + s2];  // mla_decode.py:95
          }
          tc_quotients<2>(quotients, total[s1]);
          #pragma unroll
          for (int s2 = 0; s2 < 2; ++s2) {  // mla_decode.py:94
            out_v_3[s2] = quotients[s2];  // mla_decode.py:95
          }
          tc_move<8>(Part + bx * 131072 + tx % 128 / 32 * 32768 + b * 32768 + s1 * 16384 + tx % 32 / 4 * 2048 + split * 512 + tx / 128 * 256 + s0 * 8 + tx % 4 * 2, out_v_3);
        }
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:96
      if (tx % 4 == 0 && tx / 128 == 0) {
        if (bx * 64 + (tx % 32 / 4 + s0 * 8 + tx % 128 / 32 * 16) < 16) {  // mla_decode.py:97
          Log[bx * 256 + tx % 128 / 32 * 64 + b * 64 + s0 * 32 + tx % 32 / 4 * 4 + split] = tc_fma(largest[s0], 0x1.ec709ep-5f, tc_log2(total[s0]));
        }
      }
    }
  } else if (tx == 256) {
    tc_transaction_wait(Q_shared_QR_shared_empty, 1);  // mla_decode.py:62
    tc_transaction_arrive_expect(Q_shared_QR_shared_full, 73728);
    tc_tensor_load(Q_shared + (0 ^ 0) * 8, &Q_map, Q_shared_QR_shared_full, 0, bx * 64, 0, b);  // mla_decode.py:61
    tc_tensor_load(QR_shared + (0 ^ 0) * 8, &QR_map, Q_shared_QR_shared_full, 0, bx * 64, b);  // mla_decode.py:62
    for (int k = 0; k < tc_min(3, 10 - split * 3); ++k) {  // mla_decode.py:66
      tc_transaction_wait(KV_shared_empty + k, (k / 3 + 1) % 2);  // mla_decode.py:68
      tc_transaction_arrive_expect(KV_shared_full + k, 32768);
      tc_tensor_load(KV_shared + k * 16384 + (0 ^ 0) * 8, &KV_map, KV_shared_full + k, 0, split * 96 + k * 32, 0, b);
      tc_transaction_wait(KR_shared_empty + k, (k / 3 + 1) % 2);  // mla_decode.py:69
      tc_transaction_arrive_expect(KR_shared_full + k, 4096);
      tc_tensor_load(KR_shared + k * 2048 + (0 ^ 0) * 8, &KR_map, KR_shared_full + k, 0, split * 96 + k * 32, b);
    }
  }
  tc_grid_release();
}

extern "C" __global__ void __launch_bounds__(128) mla_decode_kernel_1(const tc_half* __restrict__ Q, const tc_half* __restrict__ QR, const tc_half* __restrict__ KV, const tc_half* __restrict__ KR, tc_half* Out, float* Part, float* Log) {
  const int h = blockIdx.x, b_1 = blockIdx.y;
  const int tx_1 = threadIdx.x;
  tc_grid_wait();
  float parts[16];  // mla_decode.py:101
  alignas(16) float shares[4];  // mla_decode.py:102
  float most;  // mla_decode.py:103
  float whole;  // mla_decode.py:104
  float out_1[4];  // mla_decode.py:105
  tc_move<16>(shares, Log + b_1 * 64 + h * 4);  // mla_decode.py:106
  float total;
  total = -TC_INFINITY;  // mla_decode.py:107
  #pragma unroll
  for (int r0 = 0; r0 < 4; ++r0) {
    total = tc_max(total, shares[r0]);
  }
  most = total;
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // mla_decode.py:108
    shares[s0] = tc_exp2(shares[s0] - most);  // mla_decode.py:109
  }
  float total_1;
  total_1 = 0.0f;  // mla_decode.py:110
  #pragma unroll
  for (int r0 = 0; r0 < 4; ++r0) {
    total_1 += shares[r0];
  }
  whole = total_1;
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // mla_decode.py:111
    alignas(16) float Part_v[4];
    tc_move<16>(Part_v, Part + b_1 * 32768 + h * 2048 + s0 * 512 + tx_1 * 4);
    #pragma unroll
    for (int s1 = 0; s1 < 4; ++s1) {
      parts[s0 * 4 + s1] = Part_v[s1] * tc_quotient(shares[s0], whole);  // mla_decode.py:112
    }
  }
  #pragma unroll
  for (int r1 = 0; r1 < 4; ++r1) {  // mla_decode.py:113
    float total_2;
    total_2 = 0.0f;
    #pragma unroll
    for (int r0 = 0; r0 < 4; ++r0) {
      total_2 += parts[r0 * 4 + r1];
    }
    out_1[r1] = total_2;
  }
  alignas(8) tc_half out_v[4];  // mla_decode.py:114
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {
    out_v[s0] = (tc_half)out_1[s0];
  }
  tc_move<8>(Out + b_1 * 8192 + h * 512 + tx_1 * 4, out_v);
}
