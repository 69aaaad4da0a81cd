// The header on tilecore's simulated device: the keywords of CUDA, and the functions that the neutral runtime lacks.
#pragma once
#include "tilecore_sim.h"

#define TC_FN inline __attribute__((always_inline))
#define TC_ARCH 900
#include "tilecore_c.h"
#include "tilecore_sim/further.h"
#include "tilecore_sim/hinted_moves.h"

#define TC_NEAREST(T)                                     \
  TC_FN T tc_div_rn(T a, T b) { return a / b; }          \
  TC_FN T tc_rcp_rn(T a) { return T(1) / a; }            \
  TC_FN T tc_sqrt_rn(T a) { return tc_sqrt(a); }
TC_NEAREST(float)
TC_NEAREST(double)
#undef TC_NEAREST

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define blockIdx tc_sim_block_index()
#define threadIdx tc_sim_thread_index()
#define blockDim tc_sim_block_size()
#define gridDim tc_sim_grid_size()

// -- hints and fences without an effect on the simulated device ------------------------------------------------------

TC_FN void tc_prefetch_l2(const void*) {}
TC_FN void tc_prefetch_bulk_l2(const void*, unsigned) {}
TC_FN unsigned long long tc_evict_first() { return 0; }
TC_FN unsigned long long tc_evict_last() { return 0; }
TC_FN void tc_load_with_policy(void* to, const void* from, unsigned long long, int line = TC_LINE) {
  tc_sim_move(to, from, 16, line);
}
TC_FN void tc_store_with_policy(void* to, const void* from, unsigned long long, int line = TC_LINE) {
  tc_sim_move(to, from, 16, line);
}

TC_FN void __nanosleep(unsigned) {}
TC_FN void tc_grid_wait() {}
TC_FN void tc_grid_release() {}
TC_FN int tc_uniform(int value) { return value; }
TC_FN void tc_transaction_fence_init() { tc_sim_publish_transactions(); }
TC_FN void tc_fence_async() { tc_sim_fence_proxy(); }
template <int SIZE, int THREADS>
TC_FN void tc_clear_shared(void* to, int thread, int line = TC_LINE) {
  unsigned* words = static_cast<unsigned*>(to);
  for (int piece = thread; piece < SIZE / 16; piece += THREADS)
    for (int n = 0; n < 4; ++n) tc_store(words + piece * 4 + n, 0u, line);
}

#include "tilecore_cuda/halves.h"
#include "tilecore_cuda/signs.h"
#include "tilecore_cuda/pairs.h"
#include "tilecore_cuda/quotients.h"
#include "tilecore_cuda/simulated_matrix.h"
#include "tilecore_cuda/simulated_clusters.h"
#include "tilecore_cuda/simulated_tensor.h"
#include "tilecore_cuda/simulated_warpgroups.h"
