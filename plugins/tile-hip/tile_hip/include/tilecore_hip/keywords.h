// The keywords of HIP, as clang's attributes, and the indices of blocks and threads.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
// Without the number of threads clang allows for blocks of 1024, with few registers for each. A wave of CDNA gets at most
// half of the registers of a SIMD: then the sums of matrix instructions are in registers that all instructions access, not
// in accumulation registers (AGPRs), to and from which they would be moved. The toolchain defines TC_ALL_REGISTERS where
// half is not enough.
#if defined(__GFX9__) && !defined(TC_ALL_REGISTERS)
#define __launch_bounds__(THREADS) \
  __attribute__((amdgpu_flat_work_group_size(THREADS, THREADS), amdgpu_waves_per_eu(2)))
#else
#define __launch_bounds__(THREADS) __attribute__((amdgpu_flat_work_group_size(THREADS, THREADS)))
#endif
#define TC_FN __device__ __forceinline__

// The lanes of a wave. The toolchain defines it: clang has had no macro for it since version 22.
#ifndef TC_WAVE
#ifdef __AMDGCN_WAVEFRONT_SIZE__
#define TC_WAVE __AMDGCN_WAVEFRONT_SIZE__
#else
#error "define TC_WAVE as the number of lanes of a wave: 64 on CDNA, usually 32 on RDNA"
#endif
#endif

// The blocks of so many threads that a unit (CDNA's CU, RDNA's WGP) should hold at a time. Clang takes the waves of each of
// its 4 SIMDs, of which there are at most 8 on CDNA and 16 on RDNA, and gives a wave no more registers than they leave.
#ifdef __GFX9__
#define TC_MOST_WAVES 8
#else
#define TC_MOST_WAVES 16
#endif
constexpr unsigned tc_waves_of_simd(unsigned threads, unsigned blocks) {
  const unsigned waves = (blocks * ((threads + TC_WAVE - 1) / TC_WAVE) + 3) / 4;
  return waves < TC_MOST_WAVES ? waves : TC_MOST_WAVES;
}
#define TC_LAUNCH_BOUNDS(THREADS, BLOCKS)                               \
  __attribute__((amdgpu_flat_work_group_size(THREADS, THREADS),         \
                 amdgpu_waves_per_eu(tc_waves_of_simd(THREADS, BLOCKS))))

struct tc_index {
  int x, y, z;
};
TC_FN tc_index tc_thread_index() {
  return {int(__builtin_amdgcn_workitem_id_x()), int(__builtin_amdgcn_workitem_id_y()),
          int(__builtin_amdgcn_workitem_id_z())};
}
TC_FN tc_index tc_block_index() {
  return {int(__builtin_amdgcn_workgroup_id_x()), int(__builtin_amdgcn_workgroup_id_y()),
          int(__builtin_amdgcn_workgroup_id_z())};
}
#define threadIdx tc_thread_index()
#define blockIdx tc_block_index()
