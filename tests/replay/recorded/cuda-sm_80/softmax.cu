#include "tilecore_cuda.h"

extern "C" __global__ void __launch_bounds__(128) softmax_kernel(const float* X, float* Y) {
  const int bx = blockIdx.x;
  const int tx = threadIdx.x;
  TC_SHARED(shared);  // 144 bytes
  alignas(16) float row[16];  // softmax.py:64
  float largest[4];  // softmax.py:65
  float scale[4];  // softmax.py:66
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // softmax.py:67
    tc_move<16>(row + s0 * 4, X + bx * 2048 + s0 * 512 + tx * 4);
  }
  #pragma unroll
  for (int r0 = 0; r0 < 4; ++r0) {  // softmax.py:68
    float total;
    total = -TC_INFINITY;
    #pragma unroll
    for (int r1 = 0; r1 < 4; ++r1) {
      total = tc_max(total, row[r0 * 4 + r1]);
    }
    float joined;
    joined = total;
    const float other = tc_shuffle_xor(joined, 16, 32);
    joined = tc_max(joined, other);
    const float other_1 = tc_shuffle_xor(joined, 8, 32);
    joined = tc_max(joined, other_1);
    const float other_2 = tc_shuffle_xor(joined, 4, 32);
    joined = tc_max(joined, other_2);
    const float other_3 = tc_shuffle_xor(joined, 2, 32);
    joined = tc_max(joined, other_3);
    const float other_4 = tc_shuffle_xor(joined, 1, 32);
    joined = tc_max(joined, other_4);
    float* joined_of_warps = (float*)(shared + 0);
    tc_barrier();
    if (tx % 32 == 0) {
      joined_of_warps[tx / 32] = joined;
    }
    tc_barrier();
    joined = joined_of_warps[tx / 64 * 2 + tx % 2];
    const float other_5 = tc_shuffle_xor(joined, 1, 32);
    joined = tc_max(joined, other_5);
    total = joined;
    largest[r0] = total;
  }
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // softmax.py:69
    #pragma unroll
    for (int s1 = 0; s1 < 4; ++s1) {
      row[s0 * 4 + s1] = tc_exp2((row[s0 * 4 + s1] - largest[s0]) * 0x1.715476p+0f);  // softmax.py:70
    }
  }
  #pragma unroll
  for (int r0 = 0; r0 < 4; ++r0) {  // softmax.py:71
    float total_1;
    total_1 = 0.0f;
    #pragma unroll
    for (int r1 = 0; r1 < 4; ++r1) {
      total_1 += row[r0 * 4 + r1];
    }
    float joined_1;
    joined_1 = total_1;
    const float other_6 = tc_shuffle_xor(joined_1, 16, 32);
    joined_1 += other_6;
    const float other_7 = tc_shuffle_xor(joined_1, 8, 32);
    joined_1 += other_7;
    const float other_8 = tc_shuffle_xor(joined_1, 4, 32);
    joined_1 += other_8;
    const float other_9 = tc_shuffle_xor(joined_1, 2, 32);
    joined_1 += other_9;
    const float other_10 = tc_shuffle_xor(joined_1, 1, 32);
    joined_1 += other_10;
    float* joined_of_warps_1 = (float*)(shared + 128);
    tc_barrier();
    if (tx % 32 == 0) {
      joined_of_warps_1[tx / 32] = joined_1;
    }
    tc_barrier();
    joined_1 = joined_of_warps_1[tx / 64 * 2 + tx % 2];
    const float other_11 = tc_shuffle_xor(joined_1, 1, 32);
    joined_1 += other_11;
    total_1 = joined_1;
    scale[r0] = total_1;
  }
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // softmax.py:72
    scale[s0] = 1.0f / scale[s0];  // softmax.py:73
  }
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // softmax.py:74
    #pragma unroll
    for (int s1 = 0; s1 < 4; ++s1) {
      row[s0 * 4 + s1] *= scale[s0];  // softmax.py:75
    }
  }
  tc_barrier();
  #pragma unroll
  for (int s0 = 0; s0 < 4; ++s0) {  // softmax.py:76
    tc_move<16>(Y + bx * 2048 + s0 * 512 + tx * 4, row + s0 * 4);
  }
}
