// The keywords of HIP, as clang's attributes, and the indices of blocks and threads.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
// without it clang allows for blocks of 1024 threads, with few registers for each
#define __launch_bounds__(THREADS) __attribute__((amdgpu_flat_work_group_size(THREADS, THREADS)))
#define TC_FN __device__ __forceinline__

// The lanes of a wave. The toolchain defines it: clang has had no macro for it since version 22.
#ifndef TC_WAVE
#ifdef __AMDGCN_WAVEFRONT_SIZE__
#define TC_WAVE __AMDGCN_WAVEFRONT_SIZE__
#else
#error "define TC_WAVE as the number of lanes of a wave: 64 on CDNA, usually 32 on RDNA"
#endif
#endif

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
