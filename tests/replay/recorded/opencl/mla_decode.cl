#include "tilecore_opencl.h"

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void mla_decode_kernel_0(global const tc_half* restrict Q, global const tc_half* restrict QR, global const tc_half* restrict KV, global const tc_half* restrict KR, global const tc_half* restrict Out, global float* restrict Part, global float* restrict Log, global int* tc_failed, local int* tc_votes) {
  const int bx = get_group_id(0), split = get_group_id(1), b = get_group_id(2);
  const int tx = get_local_id(0);
  local uchar shared[156160] __attribute__((aligned(1024)));
  local tc_half* Q_shared = (local tc_half*)(shared + 0);  // mla_decode.py:47
  local tc_half* QR_shared = (local tc_half*)(shared + 132096);  // mla_decode.py:48
  local tc_half* KV_shared = (local tc_half*)(shared + 66048);  // mla_decode.py:49
  local tc_half* KR_shared = (local tc_half*)(shared + 140800);  // mla_decode.py:50
  local tc_half* weights = (local tc_half*)(shared + 149504);  // mla_decode.py:51
  float scores[8];  // mla_decode.py:52
  float out[128];  // mla_decode.py:53
  float largest[4];  // mla_decode.py:54
  local tc_any_float* largest_before = (local tc_any_float*)(shared + 155136);  // mla_decode.py:55
  float rescale[16];  // mla_decode.py:56
  float tile_total[4];  // mla_decode.py:57
  float total[16];  // mla_decode.py:58
  for (int s0 = 0; s0 < 16; ++s0) {  // mla_decode.py:61
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      Q_shared[s0 * 2064 + tx / 64 * 516 + tx % 64 * 8 + s1] = bx * 64 + (tx / 64 + s0 * 4) < 16 ? Q[bx * 32768 + b * 8192 + s0 * 2048 + tx * 8 + s1] : tc_half_bits(0x0000 /* 0 */);
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:62
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      QR_shared[s0 * 2176 + tx / 8 * 68 + tx % 8 * 8 + s1] = bx * 64 + (tx / 8 + s0 * 32) < 16 ? QR[bx * 4096 + s0 * 2048 + b * 1024 + tx * 8 + s1] : tc_half_bits(0x0000 /* 0 */);
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 16; ++s0) {  // mla_decode.py:63
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      #pragma unroll
      for (int s2 = 0; s2 < 4; ++s2) {
        out[s0 * 8 + s1 * 4 + s2] = 0.0f;
      }
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 16; ++s0) {  // mla_decode.py:64
    total[s0] = 0.0f;
  }
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // mla_decode.py:65
    largest[s0] = -TC_INFINITY;
  }
  if (split < 4) {
    #pragma unroll
    for (int s0 = 0; s0 < 8; ++s0) {  // mla_decode.py:68
      #pragma unroll
      for (int s1 = 0; s1 < 8; ++s1) {
        KV_shared[s0 * 2064 + tx / 64 * 516 + tx % 64 * 8 + s1] = (split * 3 + 0) * 32 + (tx / 64 + s0 * 4) < 300 ? KV[b * 153600 + split * 49152 + s0 * 2048 + tx * 8 + s1] : tc_half_bits(0x0000 /* 0 */);
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 8; ++s0) {  // mla_decode.py:69
      KR_shared[tx / 8 * 68 + tx % 8 * 8 + s0] = (split * 3 + 0) * 32 + tx / 8 < 300 ? KR[b * 19200 + split * 6144 + tx * 8 + s0] : tc_half_bits(0x0000 /* 0 */);
    }
  }
  for (int k = 0; k < tc_min(3, 10 - split * 3); ++k) {  // mla_decode.py:66
    tc_barrier();
    if (k < 2 && split * 3 + k < 9) {
      #pragma unroll
      for (int s0 = 0; s0 < 8; ++s0) {  // mla_decode.py:68
        #pragma unroll
        for (int s1 = 0; s1 < 8; ++s1) {
          KV_shared[(k + 1) % 2 * 16512 + s0 * 2064 + tx / 64 * 516 + tx % 64 * 8 + s1] = (split * 3 + (k + 1)) * 32 + (tx / 64 + s0 * 4) < 300 ? KV[b * 153600 + split * 49152 + k * 16384 + s0 * 2048 + tx * 8 + s1 + 16384] : tc_half_bits(0x0000 /* 0 */);
        }
      }
      #pragma unroll
      for (int s0 = 0; s0 < 8; ++s0) {  // mla_decode.py:69
        KR_shared[(k + 1) % 2 * 2176 + tx / 8 * 68 + tx % 8 * 8 + s0] = (split * 3 + (k + 1)) * 32 + tx / 8 < 300 ? KR[b * 19200 + split * 6144 + k * 2048 + tx * 8 + s0 + 2048] : tc_half_bits(0x0000 /* 0 */);
      }
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      scores[i] = 0.0f;
    }
    alignas(8) tc_half a[16];
    alignas(8) tc_half b_1[8];
    for (int k_1 = 0; k_1 < 128; ++k_1) {
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        tc_move_8(a + i * 4, Q_shared + i * 8256 + tx / 64 * 2064 + tx % 32 / 8 * 516 + k_1 * 4);  // mla_decode.py:70
      }
      #pragma unroll
      for (int i = 0; i < 2; ++i) {
        tc_move_8(b_1 + i * 4, KV_shared + k % 2 * 16512 + i * 8256 + tx % 64 / 32 * 4128 + tx % 8 * 516 + k_1 * 4);
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int i_1 = 0; i_1 < 4; ++i_1) {
          #pragma unroll
          for (int i_2 = 0; i_2 < 2; ++i_2) {
            scores[i_1 * 2 + i_2] = tc_fma(tc_single(a[i_1 * 4 + i]), tc_single(b_1[i_2 * 4 + i]), scores[i_1 * 2 + i_2]);
          }
        }
      }
    }
    alignas(8) tc_half a_1[16];
    alignas(8) tc_half b_2[8];
    #pragma unroll
    for (int k_2 = 0; k_2 < 16; ++k_2) {
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        tc_move_8(a_1 + i * 4, QR_shared + i * 1088 + tx / 64 * 272 + tx % 32 / 8 * 68 + k_2 * 4);  // mla_decode.py:71
      }
      #pragma unroll
      for (int i = 0; i < 2; ++i) {
        tc_move_8(b_2 + i * 4, KR_shared + k % 2 * 2176 + i * 1088 + tx % 64 / 32 * 544 + tx % 8 * 68 + k_2 * 4);
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int i_1 = 0; i_1 < 4; ++i_1) {
          #pragma unroll
          for (int i_2 = 0; i_2 < 2; ++i_2) {
            scores[i_1 * 2 + i_2] = tc_fma(tc_single(a_1[i_1 * 4 + i]), tc_single(b_2[i_2 * 4 + i]), scores[i_1 * 2 + i_2]);
          }
        }
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // mla_decode.py:73
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        scores[s0 * 2 + s1] = (split * 3 + k) * 32 + (tx % 8 + tx % 64 / 32 * 8 + s1 * 16) < 300 ? scores[s0 * 2 + s1] : -TC_INFINITY;  // mla_decode.py:74
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // mla_decode.py:76
      if (tx % 8 == 0 && tx % 64 / 32 == 0) {
        largest_before[s0 * 16 + tx / 64 * 4 + tx % 32 / 8] = largest[s0];
      }
    }
    #pragma unroll
    for (int r0 = 0; r0 < 4; ++r0) {  // mla_decode.py:77
      float total_1;
      total_1 = -TC_INFINITY;
      #pragma unroll
      for (int r1 = 0; r1 < 2; ++r1) {
        total_1 = tc_max(total_1, scores[r0 * 2 + r1]);
      }
      float joined;
      joined = total_1;
      local tc_any_float* joined_of_warps = (local tc_any_float*)(shared + 154112);
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
      local tc_any_float* joined_of_warps_1 = (local tc_any_float*)(shared + 154112);
      tc_barrier();
      joined_of_warps_1[tx] = joined_1;
      tc_barrier();
      joined_1 = joined_of_warps_1[tx / 64 * 64 + tx % 32];
      const float other_1 = joined_of_warps_1[tx / 64 * 64 + tx % 32 + 32];
      joined_1 = tc_max(joined_1, other_1);
      total_1 = joined_1;
      largest[r0] = tc_max(total_1, largest[r0]);
    }
    local tc_any_float* largest_1 = (local tc_any_float*)(shared + 155392);
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // mla_decode.py:78
      if (tx % 8 == 0 && tx % 64 / 32 == 0) {
        largest_1[s0 * 16 + tx / 64 * 4 + tx % 32 / 8] = largest[s0];
      }
    }
    tc_barrier();
    #pragma unroll
    for (int s0 = 0; s0 < 16; ++s0) {
      rescale[s0] = tc_exp2(largest_before[s0 * 4 + tx % 32 / 8] * 0x1.ec709ep-5f - largest_1[s0 * 4 + tx % 32 / 8] * 0x1.ec709ep-5f);  // mla_decode.py:79
    }
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // mla_decode.py:80
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        const float offset = largest[s0] * 0x1.ec709ep-5f;  // mla_decode.py:81
        scores[s0 * 2 + s1] = tc_exp2(tc_fma(scores[s0 * 2 + s1], 0x1.ec709ep-5f, -offset));  // mla_decode.py:82
      }
    }
    #pragma unroll
    for (int r0 = 0; r0 < 4; ++r0) {  // mla_decode.py:83
      float total_2;
      total_2 = 0.0f;
      #pragma unroll
      for (int r1 = 0; r1 < 2; ++r1) {
        total_2 += scores[r0 * 2 + r1];
      }
      float joined_2;
      joined_2 = total_2;
      local tc_any_float* joined_of_warps_2 = (local tc_any_float*)(shared + 154112);
      tc_barrier();
      joined_of_warps_2[tx] = joined_2;
      tc_barrier();
      joined_2 = joined_of_warps_2[tx / 8 * 8];
      for (int w = 0; w < 7; ++w) {
        const float other_2 = joined_of_warps_2[tx / 8 * 8 + w + 1];
        joined_2 += other_2;
      }
      total_2 = joined_2;
      float joined_3;
      joined_3 = total_2;
      local tc_any_float* joined_of_warps_3 = (local tc_any_float*)(shared + 154112);
      tc_barrier();
      joined_of_warps_3[tx] = joined_3;
      tc_barrier();
      joined_3 = joined_of_warps_3[tx / 64 * 64 + tx % 32];
      const float other_3 = joined_of_warps_3[tx / 64 * 64 + tx % 32 + 32];
      joined_3 += other_3;
      total_2 = joined_3;
      tile_total[r0] = total_2;
    }
    local tc_any_float* tile_total_1 = (local tc_any_float*)(shared + 155648);
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // mla_decode.py:84
      if (tx % 8 == 0 && tx % 64 / 32 == 0) {
        tile_total_1[s0 * 16 + tx / 64 * 4 + tx % 32 / 8] = tile_total[s0];
      }
    }
    tc_barrier();
    #pragma unroll
    for (int s0 = 0; s0 < 16; ++s0) {
      total[s0] = tc_fma(total[s0], rescale[s0], tile_total_1[s0 * 4 + tx % 32 / 8]);  // mla_decode.py:85
    }
    #pragma unroll
    for (int s0 = 0; s0 < 16; ++s0) {  // mla_decode.py:86
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        #pragma unroll
        for (int s2 = 0; s2 < 4; ++s2) {
          out[s0 * 8 + s1 * 4 + s2] *= rescale[s0];  // mla_decode.py:87
        }
      }
    }
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // mla_decode.py:88
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        weights[s0 * 576 + tx / 64 * 144 + tx % 32 / 8 * 36 + s1 * 16 + tx % 64 / 32 * 8 + tx % 8] = tc_half_from(scores[s0 * 2 + s1]);
      }
    }
    alignas(8) tc_half a_2[64];
    alignas(8) tc_half b_3[32];
    tc_barrier();
    for (int k_3 = 0; k_3 < 8; ++k_3) {
      #pragma unroll
      for (int i = 0; i < 16; ++i) {
        tc_move_8(a_2 + i * 4, weights + i * 144 + tx % 32 / 8 * 36 + k_3 * 4);  // mla_decode.py:89
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int i_1 = 0; i_1 < 2; ++i_1) {
          tc_move_8(b_3 + i * 8 + i_1 * 4, KV_shared + k % 2 * 16512 + k_3 * 2064 + i * 516 + i_1 * 256 + tx / 32 * 32 + tx % 8 * 4);
        }
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        #pragma unroll
        for (int i_1 = 0; i_1 < 16; ++i_1) {
          #pragma unroll
          for (int i_2 = 0; i_2 < 8; ++i_2) {
            out[i_1 * 8 + i_2] = tc_fma(tc_single(a_2[i_1 * 4 + i]), tc_single(b_3[i * 8 + i_2]), out[i_1 * 8 + i_2]);
          }
        }
      }
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 16; ++s0) {  // mla_decode.py:94
    #pragma unroll
    for (int s1 = 0; s1 < 2; ++s1) {
      if (bx * 64 + (tx % 32 / 8 + s0 * 4) < 16) {  // mla_decode.py:95
        alignas(16) float out_v[4];
        #pragma unroll
        for (int s2 = 0; s2 < 4; ++s2) {  // mla_decode.py:94
          out_v[s2] = tc_quotient(out[s0 * 8 + s1 * 4 + s2], total[s0]);  // mla_decode.py:95
        }
        tc_move_16(Part + bx * 131072 + b * 32768 + s0 * 8192 + tx % 32 / 8 * 2048 + split * 512 + s1 * 256 + tx / 32 * 32 + tx % 8 * 4, out_v);
      }
    }
  }
  local tc_any_float* total_3 = (local tc_any_float*)(shared + 155904);
  #pragma unroll
  for (int s0 = 0; s0 < 16; ++s0) {  // mla_decode.py:96
    if (tx % 8 == 0 && tx / 32 == 0) {
      total_3[s0 * 4 + tx % 32 / 8] = total[s0];
    }
  }
  tc_barrier();
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {
    if (tx % 8 == 0 && tx % 64 / 32 == 0) {
      if (bx * 64 + (tx % 32 / 8 + tx / 64 * 4 + s0 * 16) < 16) {  // mla_decode.py:97
        Log[bx * 256 + b * 64 + s0 * 64 + tx / 64 * 16 + tx % 32 / 8 * 4 + split] = tc_fma(largest[s0], 0x1.ec709ep-5f, tc_log2(total_3[s0 * 16 + tx / 64 * 4 + tx % 32 / 8]));
      }
    }
  }
}

kernel __attribute__((reqd_work_group_size(128, 1, 1))) void mla_decode_kernel_1(global const tc_half* restrict Q, global const tc_half* restrict QR, global const tc_half* restrict KV, global const tc_half* restrict KR, global tc_half* restrict Out, global const float* restrict Part, global const float* restrict Log, global int* tc_failed, local int* tc_votes) {
  const int h = get_group_id(0), b_1 = get_group_id(1);
  const int tx_1 = get_local_id(0);
  float parts[16];  // mla_decode.py:101
  alignas(16) float shares[4];  // mla_decode.py:102
  float most;  // mla_decode.py:103
  float whole;  // mla_decode.py:104
  float out_1[4];  // mla_decode.py:105
  tc_move_16(shares, Log + b_1 * 64 + h * 4);  // mla_decode.py:106
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
    tc_move_16(Part_v, Part + b_1 * 32768 + h * 2048 + s0 * 512 + tx_1 * 4);
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
    out_v[s0] = tc_half_from(out_1[s0]);
  }
  tc_move_8(Out + b_1 * 8192 + h * 512 + tx_1 * 4, out_v);
}
