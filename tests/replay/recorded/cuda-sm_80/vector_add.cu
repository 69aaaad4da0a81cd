#include "tilecore_cuda.h"

extern "C" __global__ void __launch_bounds__(128) vector_add_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C) {
  const int bx = blockIdx.x;
  const int tx = threadIdx.x;
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // vector_add.py:20
    alignas(16) float A_v[4];
    tc_move<16>(A_v, A + bx * 1024 + tx / 32 * 256 + s0 * 128 + tx % 32 * 4);
    alignas(16) float B_v[4];
    tc_move<16>(B_v, B + bx * 1024 + tx / 32 * 256 + s0 * 128 + tx % 32 * 4);
    alignas(16) float out_v[4];
    #pragma unroll
    for (int s1 = 0; s1 < 4; ++s1) {
      out_v[s1] = A_v[s1] + B_v[s1];  // vector_add.py:21
    }
    tc_move<16>(C + bx * 1024 + tx / 32 * 256 + s0 * 128 + tx % 32 * 4, out_v);
  }
}
