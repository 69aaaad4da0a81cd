#include "tilecore_cuda.h"

TC_WGMMA(128, 16, f16, f16, f32)

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(160) gemm_kernel(const tc_half* __restrict__ A, const tc_half* __restrict__ B, tc_half* __restrict__ C, const __grid_constant__ tc_tensor_map C_map, const __grid_constant__ tc_tensor_map A_map, const __grid_constant__ tc_tensor_map B_map) {
  const int block = blockIdx.x;
  const int tx = threadIdx.x;
  TC_SHARED(shared);  // 114840 bytes
  tc_half* A_shared = (tc_half*)(shared + 0);
  tc_half* B_shared = (tc_half*)(shared + 49152);
  unsigned long long* A_shared_B_shared_full = (unsigned long long*)(shared + 114688);
  unsigned long long* A_shared_B_shared_empty = (unsigned long long*)(shared + 114816);
  if (tx == 0) {
    tc_transaction_init(A_shared_B_shared_full, 1);
    tc_transaction_init(A_shared_B_shared_empty, 8);
    tc_transaction_init(A_shared_B_shared_full + 1, 1);
    tc_transaction_init(A_shared_B_shared_empty + 1, 8);
    tc_transaction_init(A_shared_B_shared_full + 2, 1);
    tc_transaction_init(A_shared_B_shared_empty + 2, 8);
    tc_transaction_fence_init();
  }
  tc_cluster_barrier();
  if (tx < 128) {
    tc_half* stored = (tc_half*)(shared + 98304);
    int A_shared_B_shared_turn;
    A_shared_B_shared_turn = 0;
    for (int wave = 0; wave < (68 - block / 2) / 66; ++wave) {
      const int tile = wave * 66 + block / 2;
      const int bx = tile % 3;
      const int by_pair = tile / 3;
      const int by = by_pair * 2 + block % 2;
      float C_local[128];  // gemm.py:76
      const int A_shared_B_shared_from = A_shared_B_shared_turn;
      for (int step = 0; step < 3; ++step) {  // gemm.py:61
        tc_transaction_wait(A_shared_B_shared_full + (A_shared_B_shared_from + step) % 3, (A_shared_B_shared_from + step) % 6 / 3);
        const unsigned long long a_tile = tc_operand(A_shared + (A_shared_B_shared_from + step) % 3 * 8192 + (0 ^ 0) * 8, 16, 1024, 1);  // gemm.py:71
        const unsigned long long b_tile = tc_operand(B_shared + (A_shared_B_shared_from + step) % 3 * 8192 + (0 ^ 0) * 8, 8192, 1024, 1);
        tc_warpgroup_begin();
        tc_wgmma_n128k16_f16_f16_f32<false, true>(C_local, a_tile, b_tile, !(step == 0));
        tc_wgmma_n128k16_f16_f16_f32<false, true>(C_local + 64, tc_operand_at(a_tile, 512), b_tile, !(step == 0));
        tc_wgmma_n128k16_f16_f16_f32<false, true>(C_local, tc_operand_at(a_tile, 2), tc_operand_at(b_tile, 128), true);
        tc_wgmma_n128k16_f16_f16_f32<false, true>(C_local + 64, tc_operand_at(a_tile, 514), tc_operand_at(b_tile, 128), true);
        tc_wgmma_n128k16_f16_f16_f32<false, true>(C_local, tc_operand_at(a_tile, 4), tc_operand_at(b_tile, 256), true);
        tc_wgmma_n128k16_f16_f16_f32<false, true>(C_local + 64, tc_operand_at(a_tile, 516), tc_operand_at(b_tile, 256), true);
        tc_wgmma_n128k16_f16_f16_f32<false, true>(C_local, tc_operand_at(a_tile, 6), tc_operand_at(b_tile, 384), true);
        tc_wgmma_n128k16_f16_f16_f32<false, true>(C_local + 64, tc_operand_at(a_tile, 518), tc_operand_at(b_tile, 384), true);
        tc_warpgroup_commit();
        tc_warpgroup_wait<0>();
        tc_warpgroup_settle<128>(C_local);
        if (tx % 32 < 2) {
          tc_transaction_arrive_remote(A_shared_B_shared_empty + (A_shared_B_shared_from + step) % 3, tx % 32);
        }
      }
      A_shared_B_shared_turn = A_shared_B_shared_from + 3;
      if (tx % 32 == 0) {  // gemm.py:79
        tc_wait_stores_read<1>();
      }
      tc_warp_barrier();
      #pragma unroll
      for (int q = 0; q < 4; ++q) {
        alignas(4) tc_half taken[8];
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
          taken[n] = (tc_half)C_local[q * 8 + n];
        }
        tc_stmatrix_x4(stored + tx / 32 * 2048 + tx % 16 * 64 + ((q * 2 + tx % 32 / 16) ^ (tx % 8)) * 8, taken);
      }
      tc_fence_async();
      tc_warp_barrier();
      if (tx % 32 == 0) {
        tc_tensor_store(&C_map, stored + tx / 32 * 2048 + (0 ^ 0) * 8, bx * 128, by * 128 + tx % 128 / 32 * 16);
        tc_commit_stores();
      }
      if (tx % 32 == 0) {
        tc_wait_stores_read<1>();
      }
      tc_warp_barrier();
      #pragma unroll
      for (int q = 0; q < 4; ++q) {
        alignas(4) tc_half taken_1[8];
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
          taken_1[n] = (tc_half)C_local[q * 8 + n + 32];
        }
        tc_stmatrix_x4(stored + tx / 32 * 2048 + tx % 16 * 64 + ((q * 2 + tx % 32 / 16) ^ (tx % 8)) * 8 + 1024, taken_1);
      }
      tc_fence_async();
      tc_warp_barrier();
      if (tx % 32 == 0) {
        tc_tensor_store(&C_map, stored + tx / 32 * 2048 + (0 ^ 0) * 8 + 1024, bx * 128 + 64, by * 128 + tx % 128 / 32 * 16);
        tc_commit_stores();
      }
      if (tx % 32 == 0) {
        tc_wait_stores_read<1>();
      }
      tc_warp_barrier();
      #pragma unroll
      for (int q = 0; q < 4; ++q) {
        alignas(4) tc_half taken_2[8];
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
          taken_2[n] = (tc_half)C_local[q * 8 + n + 64];
        }
        tc_stmatrix_x4(stored + tx / 32 * 2048 + tx % 16 * 64 + ((q * 2 + tx % 32 / 16) ^ (tx % 8)) * 8, taken_2);
      }
      tc_fence_async();
      tc_warp_barrier();
      if (tx % 32 == 0) {
        tc_tensor_store(&C_map, stored + tx / 32 * 2048 + (0 ^ 0) * 8, bx * 128, by * 128 + tx % 128 / 32 * 16 + 64);
        tc_commit_stores();
      }
      if (tx % 32 == 0) {
        tc_wait_stores_read<1>();
      }
      tc_warp_barrier();
      #pragma unroll
      for (int q = 0; q < 4; ++q) {
        alignas(4) tc_half taken_3[8];
        #pragma unroll
        for (int n = 0; n < 8; ++n) {
          taken_3[n] = (tc_half)C_local[q * 8 + n + 96];
        }
        tc_stmatrix_x4(stored + tx / 32 * 2048 + tx % 16 * 64 + ((q * 2 + tx % 32 / 16) ^ (tx % 8)) * 8 + 1024, taken_3);
      }
      tc_fence_async();
      tc_warp_barrier();
      if (tx % 32 == 0) {
        tc_tensor_store(&C_map, stored + tx / 32 * 2048 + (0 ^ 0) * 8 + 1024, bx * 128 + 64, by * 128 + tx % 128 / 32 * 16 + 64);
        tc_commit_stores();
      }
    }
    if (tx % 32 == 0) {
      tc_wait_stores<0>();
    }
  } else if (tx == 128) {
    int A_shared_B_shared_turn_1;
    A_shared_B_shared_turn_1 = 0;
    for (int wave = 0; wave < (68 - block / 2) / 66; ++wave) {
      const int tile_1 = wave * 66 + block / 2;
      const int bx_1 = tile_1 % 3;
      const int by_pair_1 = tile_1 / 3;
      const int by_1 = by_pair_1 * 2 + block % 2;
      const int A_shared_B_shared_from_1 = A_shared_B_shared_turn_1;
      for (int step = 0; step < 3; ++step) {  // gemm.py:61
        tc_transaction_wait(A_shared_B_shared_empty + (A_shared_B_shared_from_1 + step) % 3, ((A_shared_B_shared_from_1 + step) / 3 + 1) % 2);  // gemm.py:70
        tc_transaction_arrive_expect(A_shared_B_shared_full + (A_shared_B_shared_from_1 + step) % 3, 32768);
        tc_tensor_load(A_shared + (A_shared_B_shared_from_1 + step) % 3 * 8192 + (0 ^ 0) * 8, &A_map, A_shared_B_shared_full + (A_shared_B_shared_from_1 + step) % 3, step * 64, by_1 * 128);  // gemm.py:66
        tc_tensor_load_multicast(B_shared + (A_shared_B_shared_from_1 + step) % 3 * 8192 + (int)tc_cluster_rank() * 4096 + (0 ^ 0) * 8, &B_map, A_shared_B_shared_full + (A_shared_B_shared_from_1 + step) % 3, 3, (int)((unsigned)(bx_1 * 128) + (unsigned)(int)tc_cluster_rank() * 64u), step * 64);  // gemm.py:70
      }
      A_shared_B_shared_turn_1 = A_shared_B_shared_from_1 + 3;
    }
  }
  tc_warp_barrier();
  tc_cluster_barrier();
}
