#include "tilecore_cuda.h"

TC_WGMMA(16, 16, f16, f16, f32)

extern "C" __global__ void __launch_bounds__(160) dequant_matmul_split_kernel_0(const tc_half* __restrict__ A, const unsigned char* __restrict__ W, const tc_half* __restrict__ Scale, const tc_half* __restrict__ Zero, const tc_half* __restrict__ C, float* __restrict__ Part, const __grid_constant__ tc_tensor_map W_map, const __grid_constant__ tc_tensor_map A_map) {
  const int bx = blockIdx.x, by = blockIdx.y, split = blockIdx.z;
  const int tx = threadIdx.x;
  TC_SHARED(shared);  // 33696 bytes
  unsigned char* W_packed = (unsigned char*)(shared + 0);
  unsigned long long* W_packed_full = (unsigned long long*)(shared + 33280);
  unsigned long long* W_packed_empty = (unsigned long long*)(shared + 33408);
  tc_half* A_shared = (tc_half*)(shared + 16384);
  unsigned long long* A_shared_full = (unsigned long long*)(shared + 33536);
  unsigned long long* A_shared_empty = (unsigned long long*)(shared + 33664);
  if (tx == 0) {
    tc_transaction_init(W_packed_full, 1);
    tc_transaction_init(W_packed_empty, 4);
    tc_transaction_init(W_packed_full + 1, 1);
    tc_transaction_init(W_packed_empty + 1, 4);
    tc_transaction_init(W_packed_full + 2, 1);
    tc_transaction_init(W_packed_empty + 2, 4);
    tc_transaction_init(W_packed_full + 3, 1);
    tc_transaction_init(W_packed_empty + 3, 4);
    tc_transaction_init(A_shared_full, 1);
    tc_transaction_init(A_shared_empty, 4);
    tc_transaction_init(A_shared_full + 1, 1);
    tc_transaction_init(A_shared_empty + 1, 4);
    tc_transaction_init(A_shared_full + 2, 1);
    tc_transaction_init(A_shared_empty + 2, 4);
    tc_transaction_init(A_shared_full + 3, 1);
    tc_transaction_init(A_shared_empty + 3, 4);
    tc_transaction_fence_init();
  }
  tc_barrier();
  if (tx < 128) {
    float C_local[8];  // dequant_matmul.py:92
    tc_half* Scale_shared = (tc_half*)(shared + 32768);  // dequant_matmul.py:47
    tc_half* Zero_shared = (tc_half*)(shared + 33024);  // dequant_matmul.py:48
    alignas(4) tc_half W_local[64];  // dequant_matmul.py:49
    Scale_shared[tx] = Scale[bx * 256 + tx / 2 * 4 + split * 2 + tx % 2];  // dequant_matmul.py:50
    Zero_shared[tx] = Zero[bx * 256 + tx / 2 * 4 + split * 2 + tx % 2];  // dequant_matmul.py:51
    tc_transaction_wait(W_packed_full, 0 % 8 / 4);
    tc_named_barrier(1, 128);
    #pragma unroll
    for (int s0 = 0; s0 < 16; ++s0) {  // dequant_matmul.py:57
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        const unsigned pair = tc_bit_pair<4, 0xf, 0x6400>((unsigned)(int)W_packed[tx / 32 * 1024 + s1 * 512 + tx % 32 / 4 * 64 + ((s0 / 4) ^ (tx % 32 / 8)) * 16 + s0 % 4 * 4 + tx % 4]);
        #pragma unroll
        for (int s2 = 0; s2 < 2; ++s2) {
          const tc_half number = tc_bits<tc_half>((unsigned short)tc_half_of_pair(pair, s2));  // dequant_matmul.py:59
          W_local[s0 * 4 + s1 * 2 + s2] = (number - (Zero_shared[tx / 32 * 32 + s1 * 16 + tx % 32 / 4 * 2 + s0 / 8] + tc_half::from_bits(0x6400 /* 1024 */))) * Scale_shared[tx / 32 * 32 + s1 * 16 + tx % 32 / 4 * 2 + s0 / 8];  // dequant_matmul.py:61
        }
      }
    }
    tc_fence_async();
    tc_warp_barrier();
    if (tx % 32 == 0) {
      tc_transaction_arrive(W_packed_empty);
    }
    tc_transaction_wait(A_shared_full, 0 % 8 / 4);
    const unsigned long long b_tile = tc_operand(A_shared + (0 ^ 0) * 8, 16, 1024, 1);  // dequant_matmul.py:62
    tc_warpgroup_begin();
    tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local, b_tile, false);
    tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local + 8, tc_operand_at(b_tile, 2), true);
    tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local + 16, tc_operand_at(b_tile, 4), true);
    tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local + 24, tc_operand_at(b_tile, 6), true);
    tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local + 32, tc_operand_at(b_tile, 128), true);
    tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local + 40, tc_operand_at(b_tile, 130), true);
    tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local + 48, tc_operand_at(b_tile, 132), true);
    tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local + 56, tc_operand_at(b_tile, 134), true);
    tc_warpgroup_commit();
    for (int step = 1; step < 1; ++step) {
      tc_transaction_wait(W_packed_full + step, step % 8 / 4);
      tc_warpgroup_wait<0>();
      tc_warpgroup_settle<8>(C_local);
      #pragma unroll
      for (int s0 = 0; s0 < 16; ++s0) {  // dequant_matmul.py:57
        #pragma unroll
        for (int s1 = 0; s1 < 2; ++s1) {
          const unsigned pair_1 = tc_bit_pair<4, 0xf, 0x6400>((unsigned)(int)W_packed[step * 4096 + tx / 32 * 1024 + s1 * 512 + tx % 32 / 4 * 64 + ((s0 / 4) ^ (tx % 32 / 8)) * 16 + s0 % 4 * 4 + tx % 4]);
          #pragma unroll
          for (int s2 = 0; s2 < 2; ++s2) {
            const tc_half number_1 = tc_bits<tc_half>((unsigned short)tc_half_of_pair(pair_1, s2));  // dequant_matmul.py:59
            W_local[s0 * 4 + s1 * 2 + s2] = (number_1 - (Zero_shared[tx / 32 * 32 + s1 * 16 + tx % 32 / 4 * 2 + step * 2 + s0 / 8] + tc_half::from_bits(0x6400 /* 1024 */))) * Scale_shared[tx / 32 * 32 + s1 * 16 + tx % 32 / 4 * 2 + step * 2 + s0 / 8];  // dequant_matmul.py:61
          }
        }
      }
      tc_fence_async();
      tc_warp_barrier();
      if (tx % 32 == 0) {
        tc_transaction_arrive(W_packed_empty + step);
      }
      tc_transaction_wait(A_shared_full + step, step % 8 / 4);
      const unsigned long long b_tile_1 = tc_operand(A_shared + step * 2048 + (0 ^ 0) * 8, 16, 1024, 1);  // dequant_matmul.py:62
      tc_warpgroup_begin();
      tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local, b_tile_1, true);
      tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local + 8, tc_operand_at(b_tile_1, 2), true);
      tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local + 16, tc_operand_at(b_tile_1, 4), true);
      tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local + 24, tc_operand_at(b_tile_1, 6), true);
      tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local + 32, tc_operand_at(b_tile_1, 128), true);
      tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local + 40, tc_operand_at(b_tile_1, 130), true);
      tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local + 48, tc_operand_at(b_tile_1, 132), true);
      tc_wgmma_held_n16k16_f16_f16_f32<false>(C_local, W_local + 56, tc_operand_at(b_tile_1, 134), true);
      tc_warpgroup_commit();
      tc_warpgroup_wait<0>();
      tc_warpgroup_settle<8>(C_local);
      if (tx % 32 == 0) {
        tc_transaction_arrive(A_shared_empty + step - 1);
      }
    }
    tc_warpgroup_wait<0>();
    tc_warpgroup_settle<8>(C_local);
    if (tx % 32 == 0) {
      tc_transaction_arrive(A_shared_empty);
    }
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:94
      #pragma unroll
      for (int s1 = 0; s1 < 2; ++s1) {
        #pragma unroll
        for (int s2 = 0; s2 < 2; ++s2) {
          Part[split * 4096 + by * 4096 + s0 * 2048 + tx % 4 * 512 + s2 * 256 + bx * 64 + tx / 32 * 16 + s1 * 8 + tx % 32 / 4] = C_local[s0 * 4 + s1 * 2 + s2];  // dequant_matmul.py:95
        }
      }
    }
  } else if (tx == 128) {
    for (int step = 0; step < 1; ++step) {  // dequant_matmul.py:53
      tc_transaction_wait(W_packed_empty, (step / 4 + 1) % 2);  // dequant_matmul.py:55
      tc_transaction_arrive_expect(W_packed_full, 4096);
      tc_tensor_load(W_packed + (0 ^ 0) * 16, &W_map, W_packed_full, split * 64 + step * 64, bx * 64);
      tc_transaction_wait(A_shared_empty, (step / 4 + 1) % 2);  // dequant_matmul.py:56
      tc_transaction_arrive_expect(A_shared_full, 4096);
      tc_tensor_load(A_shared + (0 ^ 0) * 8, &A_map, A_shared_full, 0, by * 16, split * 2 + step * 2);
    }
  }
  tc_grid_release();
}

extern "C" __global__ void __launch_bounds__(128) dequant_matmul_split_kernel_1(const tc_half* __restrict__ A, const unsigned char* __restrict__ W, const tc_half* __restrict__ Scale, const tc_half* __restrict__ Zero, tc_half* C, float* Part) {
  const int bx_1 = blockIdx.x, row = blockIdx.y;
  const int tx_1 = threadIdx.x;
  tc_grid_wait();
  float total[2];  // dequant_matmul.py:97
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {  // dequant_matmul.py:98
    total[s0] = 0.0f;
  }
  #pragma unroll
  for (int split_1 = 0; split_1 < 2; ++split_1) {  // dequant_matmul.py:99
    alignas(8) float Part_v[2];  // dequant_matmul.py:100
    tc_move<8>(Part_v, Part + split_1 * 4096 + row * 256 + bx_1 * 256 + tx_1 * 2);
    #pragma unroll
    for (int s0 = 0; s0 < 2; ++s0) {
      total[s0] += Part_v[s0];  // dequant_matmul.py:101
    }
  }
  alignas(4) tc_half out_v[2];  // dequant_matmul.py:102
  #pragma unroll
  for (int s0 = 0; s0 < 2; ++s0) {
    out_v[s0] = (tc_half)total[s0];
  }
  tc_move<4>(C + row * 256 + bx_1 * 256 + tx_1 * 2, out_v);
}
