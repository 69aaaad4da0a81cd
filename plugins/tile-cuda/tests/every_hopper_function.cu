#include "tilecore_cuda.h"
#if TC_ARCH >= 900
TC_WGMMA(64, 16, f16, f16, f32)
TC_WGMMA(128, 16, bf16, bf16, f32)
TC_WGMMA(64, 16, f16, f16, f16)
TC_WGMMA(32, 32, s8, u8, s32)
#endif

extern "C" __global__ void tensor_copies(const __grid_constant__ tc_tensor_map map, unsigned char* arena) {
#if TC_ARCH >= 900
  tc_tensor_prefetch(&map), tc_prefetch_bulk_l2(arena + 3, 4096);
  void* barrier = arena + 128;
  tc_tensor_load(arena, &map, barrier, 1), tc_tensor_load(arena, &map, barrier, 1, 2);
  tc_tensor_load(arena, &map, barrier, 1, 2, 3), tc_tensor_load(arena, &map, barrier, 1, 2, 3, 4);
  tc_tensor_load(arena, &map, barrier, 1, 2, 3, 4, 5);
  const unsigned long long first = tc_evict_first(), last = tc_evict_last();
  tc_tensor_load_hinted(arena, &map, barrier, first, 1), tc_tensor_load_hinted(arena, &map, barrier, last, 1, 2);
  tc_tensor_load_hinted(arena, &map, barrier, first, 1, 2, 3);
  tc_tensor_load_hinted(arena, &map, barrier, first, 1, 2, 3, 4);
  tc_tensor_load_hinted(arena, &map, barrier, first, 1, 2, 3, 4, 5);
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(TC_SIMULATE)  // ptxas warns of others
  tc_tensor_load_multicast_hinted(arena, &map, barrier, 3, first, 1);
  tc_tensor_load_multicast_hinted(arena, &map, barrier, 3, first, 1, 2);
  tc_tensor_load_multicast_hinted(arena, &map, barrier, 3, first, 1, 2, 3);
  tc_tensor_load_multicast_hinted(arena, &map, barrier, 3, first, 1, 2, 3, 4);
  tc_tensor_load_multicast_hinted(arena, &map, barrier, 3, first, 1, 2, 3, 4, 5);
  tc_tensor_load_multicast(arena, &map, barrier, 3, 1), tc_tensor_load_multicast(arena, &map, barrier, 3, 1, 2);
  tc_tensor_load_multicast(arena, &map, barrier, 3, 1, 2, 3);
  tc_tensor_load_multicast(arena, &map, barrier, 3, 1, 2, 3, 4);
  tc_tensor_load_multicast(arena, &map, barrier, 3, 1, 2, 3, 4, 5);
#endif
  tc_tensor_store(&map, arena, 1), tc_tensor_store(&map, arena, 1, 2), tc_tensor_store(&map, arena, 1, 2, 3);
  tc_tensor_store(&map, arena, 1, 2, 3, 4), tc_tensor_store(&map, arena, 1, 2, 3, 4, 5);
  tc_tensor_add(&map, arena, 1), tc_tensor_add(&map, arena, 1, 2), tc_tensor_add(&map, arena, 1, 2, 3);
  tc_tensor_add(&map, arena, 1, 2, 3, 4), tc_tensor_add(&map, arena, 1, 2, 3, 4, 5);
  tc_commit_stores(), tc_wait_stores_read<1>(), tc_wait_stores<0>();
#endif
}

extern "C" __global__ void clusters(unsigned char* arena, unsigned* r) {
#if TC_ARCH >= 900
  tc_cluster_arrive(), tc_cluster_wait(), tc_cluster_barrier();
  tc_cluster_arrive_relaxed(), tc_cluster_wait();
  tc_store_remote((unsigned*)arena, 1u, tc_cluster_rank() ^ 1);
  tc_store_remote_async((unsigned*)arena, 1u, arena + 8, tc_cluster_rank() ^ 1);
  tc_store_remote_async((double*)arena, 1.0, arena + 8, tc_cluster_rank() ^ 1);
  tc_transaction_release_remote(arena, tc_cluster_rank() ^ 1), tc_transaction_wait_cluster(arena, 0);
  tc_grid_wait(), tc_grid_release();
  tc_transaction_arrive_remote(arena, 1);
  r[0] = *tc_remote_shared((unsigned*)arena, tc_cluster_rank() ^ 1);
  tc_add_remote<1>(r, (unsigned*)arena, tc_cluster_rank() ^ 1);
  tc_clear_shared<1024, 32>(arena, threadIdx.x);
#endif
}

extern "C" __global__ void __launch_bounds__(128) warpgroups(float* f, unsigned char* arena) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(TC_SIMULATE)
  tc_registers_acquire<240>(), tc_registers_release<40>();
  float small[32] = {}, middle[64] = {};
  alignas(4) tc_half halves[32] = {}, held[8] = {};
  int whole[16] = {};
  const tc_operand_t a = tc_operand(arena, 16, 1024, 1), b = tc_operand(arena + 8192, 8192, 1024, 1);
  tc_warpgroup_begin();
  tc_wgmma_n64k16_f16_f16_f32<false, false>(small, a, b, true);
  tc_wgmma_held_n64k16_f16_f16_f32<true>(small, held, b, true);
  tc_wgmma_n128k16_bf16_bf16_f32<true, true>(middle, a, b, false);
  tc_wgmma_n64k16_f16_f16_f16<false, true>(halves, a, b, true);
  tc_wgmma_n32k32_s8_u8_s32<false, false>(whole, tc_operand_at(a, 2), b, true);
  tc_warpgroup_commit();
  tc_warpgroup_wait<0>();
  tc_warpgroup_settle<32>(small), tc_warpgroup_settle<64>(middle), tc_warpgroup_settle<32>(halves);
  tc_warpgroup_settle<16>(whole);
  tc_scheduling_fence(small[0]);
  tc_keep_registers<8>(held);
  f[0] = small[0] + middle[0] + float(halves[0]) + whole[0];
#endif
}
