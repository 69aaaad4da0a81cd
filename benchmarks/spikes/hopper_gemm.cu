#include "tilecore_cuda.h"
TC_WGMMA(256, 16, f16, f16, f32)

// C = A * B, all row-major, fp16 with fp32 sums: 128 x 256 tiles by k 64, four slots. Warps 0 to 7 are two warpgroups
// that each make 64 rows of a tile; warp 8 fills the slots. Each block walks over tiles, and stores one under the next.
constexpr int BM = 128, BN = 256, BK = 64, SLOTS = 4, GROUP = 8;
constexpr int A_BYTES = BM * BK * 2, SLOT_BYTES = A_BYTES + BK * BN * 2;
constexpr int C_BYTES = 16 * 64 * 2;  // 16 rows by 64 columns of one warp; it has two of them
constexpr int C_AT = SLOTS * SLOT_BYTES, BARRIERS_AT = C_AT + 8 * 2 * C_BYTES;

// Two sums as halves in one word.
TC_FN unsigned packed(float low, float high) {
#ifdef TC_SIMULATE
  return unsigned(tc_half(high).bits) << 16 | tc_half(low).bits;
#else
  unsigned word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#endif
}

// The place of a tile: groups of GROUP rows of tiles, walked down the rows.
TC_FN void tile_at(int tile, int rows, int cols, int& m0, int& n0) {
  const int group = tile / (GROUP * cols), first = group * GROUP;
  const int height = tc_min(GROUP, rows - first), inside = tile - group * GROUP * cols;
  m0 = (first + inside % height) * BM;
  n0 = inside / height * BN;
}

extern "C" __global__ void __launch_bounds__(288, 1)
    gemm_kernel(const tc_half* __restrict__ A, const tc_half* __restrict__ B, tc_half* __restrict__ C, int m, int n,
                int k, const __grid_constant__ tc_tensor_map A_map, const __grid_constant__ tc_tensor_map B_map,
                const __grid_constant__ tc_tensor_map C_map) {
  TC_SHARED(shared);
  unsigned long long* full = (unsigned long long*)(shared + BARRIERS_AT);
  unsigned long long* empty = full + SLOTS;
  const int tx = threadIdx.x, warp = tx / 32, lane = tx % 32;
  const int rows = (m + BM - 1) / BM, cols = (n + BN - 1) / BN, steps = (k + BK - 1) / BK;
  if (tx == 0) {
    for (int s = 0; s < SLOTS; ++s) {
      tc_transaction_init(&full[s], 1);
      tc_transaction_init(&empty[s], 8);
    }
    tc_transaction_fence_init();
  }
  tc_barrier();
  int slot = 0;
  unsigned parity = 0;

  if (warp == 8) {  // fills the slots
    if (lane == 0) {
      for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {
        int m0, n0;
        tile_at(tile, rows, cols, m0, n0);
        for (int step = 0; step < steps; ++step) {
          unsigned char* A_shared = shared + slot * SLOT_BYTES;
          tc_transaction_wait(&empty[slot], parity ^ 1);
          tc_transaction_arrive_expect(&full[slot], SLOT_BYTES);
          tc_tensor_load(A_shared, &A_map, &full[slot], step * BK, m0);
          tc_tensor_load(A_shared + A_BYTES, &B_map, &full[slot], 0, step * BK, n0 / 64);
          if (++slot == SLOTS) slot = 0, parity ^= 1;
        }
      }
    }
    return;
  }

  const int half = warp / 4;  // which 64 rows of the tile
  unsigned char* slab = shared + C_AT + warp * 2 * C_BYTES;
  int previous = 0, stored = 0;
  for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {
    int m0, n0;
    tile_at(tile, rows, cols, m0, n0);
    float C_local[BN / 2];
    for (int step = 0; step < steps; ++step) {
      const unsigned char* A_shared = shared + slot * SLOT_BYTES + half * (64 * 128);
      const unsigned char* B_shared = shared + slot * SLOT_BYTES + A_BYTES;
      tc_transaction_wait(&full[slot], parity);
      tc_warpgroup_begin();
#pragma unroll
      for (int part = 0; part < BK / 16; ++part)
        tc_wgmma_n256k16_f16_f16_f32<false, true>(C_local, tc_operand(A_shared + part * 32, 16, 1024, 1),
                                                  tc_operand(B_shared + part * 2048, 8192, 1024, 1), step | part);
      tc_warpgroup_commit();
      if (step > 0) {  // the products of the step before are done
        tc_warpgroup_wait<1>();
        if (lane == 0) tc_transaction_arrive(&empty[previous]);
      }
      previous = slot;
      if (++slot == SLOTS) slot = 0, parity ^= 1;
    }
    tc_warpgroup_wait<0>();
    tc_warpgroup_settle<BN / 2>(C_local);
    if (lane == 0) tc_transaction_arrive(&empty[previous]);

#pragma unroll
    for (int part = 0; part < BN / 64; ++part) {  // 16 rows by 64 columns at a time, through the warp's own memory
      unsigned char* C_shared = slab + (stored++ & 1) * C_BYTES;
      if (lane == 0) tc_wait_stores_read<1>();
      tc_warp_barrier();
      const int row = lane % 16;
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        unsigned words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float* pair = &C_local[32 * part + 8 * q + 2 * i];
          words[i] = packed(pair[0], pair[1]);
        }
        tc_stmatrix_x4(C_shared + row * 128 + ((2 * q + lane / 16) ^ (row & 7)) * 16, words);
      }
      tc_fence_async();
      tc_warp_barrier();
      if (lane == 0) {
        tc_tensor_store(&C_map, C_shared, n0 + 64 * part, m0 + 64 * half + 16 * (warp % 4));
        tc_commit_stores();
      }
    }
  }
  if (lane == 0) tc_wait_stores<0>();
}
