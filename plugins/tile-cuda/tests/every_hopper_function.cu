#include "tilecore_cuda.h"
#include "tilecore_cuda/hopper.h"

extern "C" __global__ void tensor_copies(const __grid_constant__ tc_tensor_map map, unsigned char* arena) {
#if TC_ARCH >= 900
  tc_tensor_prefetch(&map);
  tc_tensor_load(arena, &map, arena + 128, 1), tc_tensor_load(arena, &map, arena + 128, 1, 2);
  tc_tensor_load(arena, &map, arena + 128, 1, 2, 3);
  tc_tensor_store(&map, arena, 1, 2), tc_commit_stores(), tc_wait_stores_read<1>(), tc_wait_stores<0>();
#endif
}

extern "C" __global__ void warpgroups(float* f, unsigned char* arena) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  float small[32] = {}, middle[64] = {}, large[128] = {};
  const unsigned long long a = tc_operand(arena, 16, 1024, 1), b = tc_operand(arena + 8192, 8192, 1024, 1);
  tc_warpgroup_begin();
  tc_wgmma_m64n64k16_f16_f32<false, false>(small, a, b, true);
  tc_wgmma_m64n64k16_bf16_f32<false, true>(small, a, b, true);
  tc_wgmma_m64n128k16_f16_f32<true, false>(middle, a, b, true);
  tc_wgmma_m64n128k16_bf16_f32<true, true>(middle, a, b, true);
  tc_wgmma_m64n256k16_f16_f32<false, true>(large, a, b, true);
  tc_wgmma_m64n256k16_bf16_f32<false, true>(large, a, b, false);
  tc_warpgroup_commit();
  tc_warpgroup_wait<0>(small), tc_warpgroup_wait<0>(middle), tc_warpgroup_wait<0>(large);
  f[0] = small[0] + middle[0] + large[0];
#endif
}
