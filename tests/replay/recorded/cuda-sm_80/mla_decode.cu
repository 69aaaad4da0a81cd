#include "tilecore_cuda.h"

extern "C" __global__ void __launch_bounds__(256) mla_decode_kernel_0(const tc_half* __restrict__ Q, const tc_half* __restrict__ QR, const tc_half* __restrict__ KV, const tc_half* __restrict__ KR, const tc_half* __restrict__ Out, float* __restrict__ Part, float* __restrict__ Log) {
  const int bx = blockIdx.x, split = blockIdx.y, b = blockIdx.z;
  const int tx = threadIdx.x;
  TC_SHARED(shared);  // 153600 bytes
  tc_half* Q_shared = (tc_half*)(shared + 0);  // mla_decode.py:47
  tc_half* QR_shared = (tc_half*)(shared + 131072);  // mla_decode.py:48
  tc_half* KV_shared = (tc_half*)(shared + 65536);  // mla_decode.py:49
  tc_half* KR_shared = (tc_half*)(shared + 139264);  // mla_decode.py:50
  tc_half* weights = (tc_half*)(shared + 147456);  // mla_decode.py:51
  float scores[8];  // mla_decode.py:52
  float out[128];  // mla_decode.py:53
  float largest[2];  // mla_decode.py:54
  float* largest_before = (float*)(shared + 152576);  // mla_decode.py:55
  float rescale[8];  // mla_decode.py:56
  float tile_total[2];  // mla_decode.py:57
  float total[8];  // mla_decode.py:58
  for (int s0 = 0; s0 < 16; ++s0) {  // mla_decode.py:61
    if (bx * 64 + (tx / 64 + s0 * 4) < 16) {
      tc_move<16>(Q_shared + s0 * 2048 + tx / 64 * 512 + ((tx % 64) ^ ((s0 * 4 + tx / 64) % 8)) * 8, Q + bx * 32768 + b * 8192 + s0 * 2048 + tx * 8);
    } else {
      Q_shared[s0 * 2048 + tx / 64 * 512 + ((tx % 64) ^ ((s0 * 4 + tx / 64) % 8)) * 8] = tc_half::from_bits(0x0000 /* 0 */);
      Q_shared[s0 * 2048 + tx / 64 * 512 + ((tx % 64) ^ ((s0 * 4 + tx / 64) % 8)) * 8 + 1] = tc_half::from_bits(0x0000 /* 0 */);
      Q_shared[s0 * 2048 + tx / 64 * 512 + ((tx % 64) ^ ((s0 * 4 + tx / 64) % 8)) * 8 + 2] = tc_half::from_bits(0x0000 /* 0 */);
      Q_shared[s0 * 2048 + tx / 64 * 512 + ((tx % 64) ^ ((s0 * 4 + tx / 64) % 8)) * 8 + 3] = tc_half::from_bits(0x0000 /* 0 */);
      Q_shared[s0 * 2048 + tx / 64 * 512 + ((tx % 64) ^ ((s0 * 4 + tx / 64) % 8)) * 8 + 4] = tc_half::from_bits(0x0000 /* 0 */);
      Q_shared[s0 * 2048 + tx / 64 * 512 + ((tx % 64) ^ ((s0 * 4 + tx / 64) % 8)) * 8 + 5] = tc_half::from_bits(0x0000 /* 0 */);
      Q_shared[s0 * 2048 + tx / 64 * 512 + ((tx % 64) ^ ((s0 * 4 + tx / 64) % 8)) * 8 + 6] = tc_half::from_bits(0x0000 /* 0 */);
      Q_shared[s0 * 2048 + tx / 64 * 512 + ((tx % 64) ^ ((s0 * 4 + tx / 64) % 8)) * 8 + 7] = tc_half::from_bits(0x0000 /* 0 */);
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:62
    if (bx * 64 + (tx / 8 + s0 * 32) < 16) {
      tc_move<16>(QR_shared + s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8, QR + bx * 4096 + s0 * 2048 + b * 1024 + tx * 8);
    } else {
      QR_shared[s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8] = tc_half::from_bits(0x0000 /* 0 */);
      QR_shared[s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8 + 1] = tc_half::from_bits(0x0000 /* 0 */);
      QR_shared[s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8 + 2] = tc_half::from_bits(0x0000 /* 0 */);
      QR_shared[s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8 + 3] = tc_half::from_bits(0x0000 /* 0 */);
      QR_shared[s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8 + 4] = tc_half::from_bits(0x0000 /* 0 */);
      QR_shared[s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8 + 5] = tc_half::from_bits(0x0000 /* 0 */);
      QR_shared[s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8 + 6] = tc_half::from_bits(0x0000 /* 0 */);
      QR_shared[s0 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8 + 7] = tc_half::from_bits(0x0000 /* 0 */);
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // mla_decode.py:63
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      #pragma unroll
      for (int s2 = 0; s2 < 2; ++s2) {
        #pragma unroll
        for (int s3 = 0; s3 < 2; ++s3) {
          out[s0 * 32 + s1 * 4 + s2 * 2 + s3] = 0.0f;
        }
      }
    }
  }
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // mla_decode.py:64
    total[s0] = 0.0f;
  }
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:65
    largest[s0] = -TC_INFINITY;
  }
  if (split < 4) {
    #pragma unroll
    for (int s0 = 0; s0 < 8; ++s0) {  // mla_decode.py:68
      tc_copy_async<16>(KV_shared + s0 * 2048 + tx / 64 * 512 + ((tx % 64) ^ ((s0 * 4 + tx / 64) % 8)) * 8, KV + b * 153600 + split * 49152 + s0 * 2048 + tx * 8, (split * 3 + 0) * 32 + (tx / 64 + s0 * 4) < 300);
    }
    tc_copy_async<16>(KR_shared + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8, KR + b * 19200 + split * 6144 + tx * 8, (split * 3 + 0) * 32 + tx / 8 < 300);  // mla_decode.py:69
  }
  tc_commit_async();
  for (int k = 0; k < tc_min(3, 10 - split * 3); ++k) {  // mla_decode.py:66
    tc_wait_async<0>();
    tc_barrier();
    if (k < 2 && split * 3 + k < 9) {
      #pragma unroll
      for (int s0 = 0; s0 < 8; ++s0) {  // mla_decode.py:68
        tc_copy_async<16>(KV_shared + (k + 1) % 2 * 16384 + s0 * 2048 + tx / 64 * 512 + ((tx % 64) ^ ((s0 * 4 + tx / 64) % 8)) * 8, KV + b * 153600 + split * 49152 + k * 16384 + s0 * 2048 + tx * 8 + 16384, (split * 3 + (k + 1)) * 32 + (tx / 64 + s0 * 4) < 300);
      }
      tc_copy_async<16>(KR_shared + (k + 1) % 2 * 2048 + tx / 8 * 64 + ((tx % 8) ^ (tx % 64 / 8)) * 8, KR + b * 19200 + split * 6144 + k * 2048 + tx * 8 + 2048, (split * 3 + (k + 1)) * 32 + tx / 8 < 300);  // mla_decode.py:69
    }
    tc_commit_async();
    alignas(4) tc_half a[16];
    alignas(4) tc_half b_1[16];
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      scores[i] = 0.0f;
    }
    tc_ldmatrix_x4(a, Q_shared + tx % 128 / 32 * 8192 + tx % 16 * 512 + ((tx % 32 / 16) ^ (tx % 8)) * 8);  // mla_decode.py:70
    tc_ldmatrix_x4(b_1, KV_shared + k % 2 * 16384 + tx / 128 * 8192 + tx % 32 / 16 * 4096 + tx % 8 * 512 + ((tx % 16 / 8) ^ (tx % 8)) * 8);
    #pragma unroll
    for (int step = 0; step < 31; ++step) {
      tc_ldmatrix_x4(a + (step + 1) % 2 * 8, Q_shared + tx % 128 / 32 * 8192 + tx % 16 * 512 + ((step * 2 + tx % 32 / 16 + 2) ^ (tx % 8)) * 8);
      tc_ldmatrix_x4(b_1 + (step + 1) % 2 * 8, KV_shared + k % 2 * 16384 + tx / 128 * 8192 + tx % 32 / 16 * 4096 + tx % 8 * 512 + ((step * 2 + tx % 16 / 8 + 2) ^ (tx % 8)) * 8);
      #pragma unroll
      for (int j = 0; j < 2; ++j) {
        tc_mma_m16n8k16_f16_f32(scores + j * 4, a + step % 2 * 8, b_1 + step % 2 * 8 + j * 4);
      }
    }
    #pragma unroll
    for (int j = 0; j < 2; ++j) {
      tc_mma_m16n8k16_f16_f32(scores + j * 4, a + 8, b_1 + j * 4 + 8);
    }
    alignas(4) tc_half a_1[16];
    alignas(4) tc_half b_2[16];
    tc_ldmatrix_x4(a_1, QR_shared + tx % 128 / 32 * 1024 + tx % 16 * 64 + ((tx % 32 / 16) ^ (tx % 8)) * 8);  // mla_decode.py:71
    tc_ldmatrix_x4(b_2, KR_shared + k % 2 * 2048 + tx / 128 * 1024 + tx % 32 / 16 * 512 + tx % 8 * 64 + ((tx % 16 / 8) ^ (tx % 8)) * 8);
    #pragma unroll
    for (int step = 0; step < 3; ++step) {
      tc_ldmatrix_x4(a_1 + (step + 1) % 2 * 8, QR_shared + tx % 128 / 32 * 1024 + tx % 16 * 64 + ((step * 2 + tx % 32 / 16 + 2) ^ (tx % 8)) * 8);
      tc_ldmatrix_x4(b_2 + (step + 1) % 2 * 8, KR_shared + k % 2 * 2048 + tx / 128 * 1024 + tx % 32 / 16 * 512 + tx % 8 * 64 + ((step * 2 + tx % 16 / 8 + 2) ^ (tx % 8)) * 8);
      #pragma unroll
      for (int j = 0; j < 2; ++j) {
        tc_mma_m16n8k16_f16_f32(scores + j * 4, a_1 + step % 2 * 8, b_2 + step % 2 * 8 + j * 4);
      }
    }
    #pragma unroll
    for (int j = 0; j < 2; ++j) {
      tc_mma_m16n8k16_f16_f32(scores + j * 4, a_1 + 8, b_2 + j * 4 + 8);
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
      if (tx % 4 == 0 && tx / 128 == 0) {
        largest_before[tx % 128 / 32 * 16 + s0 * 8 + tx % 32 / 4] = largest[s0];
      }
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
      float* joined_of_warps = (float*)(shared + 151552);
      tc_barrier();
      joined_of_warps[tx] = joined_1;
      tc_barrier();
      joined_1 = joined_of_warps[tx / 256 * 256 + tx % 128];
      const float other_2 = joined_of_warps[tx / 256 * 256 + tx % 128 + 128];
      joined_1 = tc_max(joined_1, other_2);
      total_1 = joined_1;
      largest[r1] = tc_max(total_1, largest[r1]);
    }
    float* largest_1 = (float*)(shared + 152832);
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:78
      if (tx % 4 == 0 && tx / 128 == 0) {
        largest_1[tx % 128 / 32 * 16 + s0 * 8 + tx % 32 / 4] = largest[s0];
      }
    }
    tc_barrier();
    #pragma unroll
    for (int s0 = 0; s0 < 8; ++s0) {
      rescale[s0] = tc_exp2(largest_before[s0 * 8 + tx % 32 / 4] * 0x1.ec709ep-5f - largest_1[s0 * 8 + tx % 32 / 4] * 0x1.ec709ep-5f);  // mla_decode.py:79
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
      float joined_2;
      joined_2 = total_2;
      const float other_3 = tc_shuffle_xor(joined_2, 2, 32);
      joined_2 += other_3;
      const float other_4 = tc_shuffle_xor(joined_2, 1, 32);
      joined_2 += other_4;
      total_2 = joined_2;
      float joined_3;
      joined_3 = total_2;
      float* joined_of_warps_1 = (float*)(shared + 151552);
      tc_barrier();
      joined_of_warps_1[tx] = joined_3;
      tc_barrier();
      joined_3 = joined_of_warps_1[tx / 256 * 256 + tx % 128];
      const float other_5 = joined_of_warps_1[tx / 256 * 256 + tx % 128 + 128];
      joined_3 += other_5;
      total_2 = joined_3;
      tile_total[r1] = total_2;
    }
    float* tile_total_1 = (float*)(shared + 153088);
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // mla_decode.py:84
      if (tx % 4 == 0 && tx / 128 == 0) {
        tile_total_1[tx % 128 / 32 * 16 + s0 * 8 + tx % 32 / 4] = tile_total[s0];
      }
    }
    tc_barrier();
    #pragma unroll
    for (int s0 = 0; s0 < 8; ++s0) {
      total[s0] = tc_fma(total[s0], rescale[s0], tile_total_1[s0 * 8 + tx % 32 / 4]);  // mla_decode.py:85
    }
    #pragma unroll
    for (int s0 = 0; s0 < 4; ++s0) {  // mla_decode.py:86
      #pragma unroll
      for (int s1 = 0; s1 < 8; ++s1) {
        #pragma unroll
        for (int s2 = 0; s2 < 2; ++s2) {
          #pragma unroll
          for (int s3 = 0; s3 < 2; ++s3) {
            out[s0 * 32 + s1 * 4 + s2 * 2 + s3] *= rescale[s0 * 2 + s2];  // mla_decode.py:87
          }
        }
      }
    }
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
    alignas(4) tc_half a_2[64];
    alignas(4) tc_half b_3[64];
    tc_barrier();
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      tc_ldmatrix_x4(a_2 + i * 8, weights + i * 512 + tx % 16 * 32 + ((tx % 32 / 16) ^ (tx % 8 / 2)) * 8);  // mla_decode.py:89
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      tc_ldmatrix_x4_trans(b_3 + j * 8, KV_shared + k % 2 * 16384 + tx % 16 * 512 + ((tx / 32 * 8 + j * 2 + tx % 32 / 16) ^ (tx % 8)) * 8);
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      tc_ldmatrix_x4(a_2 + i * 8 + 32, weights + i * 512 + tx % 16 * 32 + ((tx % 32 / 16 + 2) ^ (tx % 8 / 2)) * 8);
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      tc_ldmatrix_x4_trans(b_3 + j * 8 + 32, KV_shared + k % 2 * 16384 + tx % 16 * 512 + ((tx / 32 * 8 + j * 2 + tx % 32 / 16) ^ (tx % 8)) * 8 + 8192);
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        tc_mma_m16n8k16_f16_f32(out + i * 32 + j * 4, a_2 + i * 8, b_3 + j * 4);
      }
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        tc_mma_m16n8k16_f16_f32(out + i * 32 + j * 4, a_2 + i * 8 + 32, b_3 + j * 4 + 32);
      }
    }
  }
  tc_wait_async<0>();
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // mla_decode.py:94
    #pragma unroll
    for (int s1 = 0; s1 < 8; ++s1) {
      #pragma unroll
      for (int s2 = 0; s2 < 2; ++s2) {
        if (bx * 64 + (tx % 32 / 4 + s2 * 8 + s0 * 16) < 16) {  // mla_decode.py:95
          alignas(8) float out_v_1[2];
          float quotients[2];
          #pragma unroll
          for (int s3 = 0; s3 < 2; ++s3) {  // mla_decode.py:94
            quotients[s3] = out[s0 * 32 + s1 * 4 + s2 * 2 + s3];  // mla_decode.py:95
          }
          tc_quotients<2>(quotients, total[s0 * 2 + s2]);
          #pragma unroll
          for (int s3 = 0; s3 < 2; ++s3) {  // mla_decode.py:94
            out_v_1[s3] = quotients[s3];  // mla_decode.py:95
          }
          tc_move<8>(Part + bx * 131072 + b * 32768 + s0 * 32768 + s2 * 16384 + tx % 32 / 4 * 2048 + split * 512 + tx / 32 * 64 + s1 * 8 + tx % 4 * 2, out_v_1);
        }
      }
    }
  }
  float* total_3 = (float*)(shared + 153344);
  #pragma unroll
  for (int s0 = 0; s0 < 8; ++s0) {  // mla_decode.py:96
    if (tx % 4 == 0 && tx / 32 == 0) {
      total_3[s0 * 8 + tx % 32 / 4] = total[s0];
    }
  }
  tc_barrier();
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {
    if (tx % 4 == 0 && tx / 128 == 0) {
      if (bx * 64 + (tx % 32 / 4 + s0 * 8 + tx % 128 / 32 * 16) < 16) {  // mla_decode.py:97
        Log[bx * 256 + tx % 128 / 32 * 64 + b * 64 + s0 * 32 + tx % 32 / 4 * 4 + split] = tc_fma(largest[s0], 0x1.ec709ep-5f, tc_log2(total_3[tx % 128 / 32 * 16 + s0 * 8 + tx % 32 / 4]));
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(128) mla_decode_kernel_1(const tc_half* __restrict__ Q, const tc_half* __restrict__ QR, const tc_half* __restrict__ KV, const tc_half* __restrict__ KR, tc_half* __restrict__ Out, const float* __restrict__ Part, const float* __restrict__ Log) {
  const int h = blockIdx.x, b_1 = blockIdx.y;
  const int tx_1 = threadIdx.x;
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
