// The header on tilecore's simulated device: CUDA's own words, and what the neutral runtime does not have.
#pragma once
#include "tilecore_sim.h"

#define TC_FN inline __attribute__((always_inline))
#define TC_ARCH 900
#include "tilecore_c.h"

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
#undef tc_assert
#define tc_assert(CONDITION, NUMBER, MESSAGE) ((CONDITION) ? (void)0 : tc_sim_assert_failed((NUMBER), __LINE__))
#define tc_assume(CONDITION) \
  do {                       \
    if (!(CONDITION)) tc_sim_fail("assumption", "an assumption does not hold: " #CONDITION, __LINE__); \
  } while (0)

// -- mathematics that the runtime leaves to backends ------------------------------------------------------------------

// Of a size that does not overflow, so that results are right down to the smallest.
TC_FN float tc_sigmoid(float x) {
  const float e = __builtin_expf(-__builtin_fabsf(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
TC_FN double tc_sigmoid(double x) {
  const double e = __builtin_exp(-__builtin_fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}
TC_FN float tc_ldexp(float x, int power) { return __builtin_ldexpf(x, power); }
TC_FN double tc_ldexp(double x, int power) { return __builtin_ldexp(x, power); }
TC_FN float tc_nextafter(float x, float y) { return __builtin_nextafterf(x, y); }
TC_FN double tc_nextafter(double x, double y) { return __builtin_nextafter(x, y); }
TC_FN float tc_floor_mod(float a, float b) { return a - __builtin_floorf(a / b) * b; }
TC_FN double tc_floor_mod(double a, double b) { return a - __builtin_floor(a / b) * b; }
TC_FN float tc_rounded(float x) { return x; }
TC_FN double tc_rounded(double x) { return x; }
#define TC_ROUNDED(T)                                 \
  TC_FN T tc_rounded_add(T a, T b) { return a + b; }  \
  TC_FN T tc_rounded_sub(T a, T b) { return a - b; }  \
  TC_FN T tc_rounded_mul(T a, T b) { return a * b; }
TC_ROUNDED(float)
TC_ROUNDED(double)
#undef TC_ROUNDED
TC_FN tc_half tc_nextafter(tc_half x, tc_half y) { return tc_neighbour<tc_half, uint16_t>(x, y); }
TC_FN tc_bfloat16 tc_nextafter(tc_bfloat16 x, tc_bfloat16 y) { return tc_neighbour<tc_bfloat16, uint16_t>(x, y); }
TC_FN tc_fp8_e4m3 tc_nextafter(tc_fp8_e4m3 x, tc_fp8_e4m3 y) { return tc_neighbour<tc_fp8_e4m3, uint8_t>(x, y); }
TC_FN tc_fp8_e5m2 tc_nextafter(tc_fp8_e5m2 x, tc_fp8_e5m2 y) { return tc_neighbour<tc_fp8_e5m2, uint8_t>(x, y); }
TC_FN tc_fp4_e2m1 tc_nextafter(tc_fp4_e2m1 x, tc_fp4_e2m1 y) { return tc_neighbour<tc_fp4_e2m1, uint8_t>(x, y); }
#define TC_EXTREMES_IN_FLOAT(T)                                                    \
  TC_FN T tc_min(T a, T b) { return T(tc_min(float(a), float(b))); }          \
  TC_FN T tc_max(T a, T b) { return T(tc_max(float(a), float(b))); }
TC_EXTREMES_IN_FLOAT(tc_fp8_e4m3)
TC_EXTREMES_IN_FLOAT(tc_fp8_e5m2)
TC_EXTREMES_IN_FLOAT(tc_fp4_e2m1)
#undef TC_EXTREMES_IN_FLOAT
// `long long` is another type than the runtime's int64_t on some hosts
#if defined(__LP64__) && !defined(__APPLE__)
TC_FN long long tc_min(long long a, long long b) { return a < b ? a : b; }
TC_FN long long tc_max(long long a, long long b) { return a < b ? b : a; }
TC_FN unsigned long long tc_min(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
TC_FN unsigned long long tc_max(unsigned long long a, unsigned long long b) { return a < b ? b : a; }
TC_FN long long tc_abs(long long a) { return a < 0 ? -a : a; }
TC_FN int tc_popcount(unsigned long long x) { return __builtin_popcountll(x); }
TC_FN int tc_clz(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
#endif

// -- hints and fences that order nothing more here -------------------------------------------------------------------

TC_FN void tc_prefetch_l2(const void*) {}
TC_FN unsigned long long tc_evict_first() { return 0; }
TC_FN unsigned long long tc_evict_last() { return 0; }
TC_FN void tc_load_with_policy(void* to, const void* from, unsigned long long, int line = TC_LINE) {
  tc_sim_move(to, from, 16, line);
}
TC_FN void tc_store_with_policy(void* to, const void* from, unsigned long long, int line = TC_LINE) {
  tc_sim_move(to, from, 16, line);
}
#define TC_HINTED_MOVES(HINT)                                                        \
  template <unsigned Bytes>                                                          \
  TC_FN void tc_load_##HINT(void* to, const void* from, int line = TC_LINE) {        \
    tc_move<Bytes>(to, from, line);                                                  \
  }                                                                                  \
  template <unsigned Bytes>                                                          \
  TC_FN void tc_store_##HINT(void* to, const void* from, int line = TC_LINE) {       \
    tc_move<Bytes>(to, from, line);                                                  \
  }
TC_HINTED_MOVES(streaming)
TC_HINTED_MOVES(evict_first)
TC_HINTED_MOVES(evict_last)
#undef TC_HINTED_MOVES

// -- lanes that hold one value: a bit for each, of the lanes that a block has --------------------------------------------

TC_FN unsigned tc_active_mask(int line = TC_LINE) { return unsigned(tc_vote_ballot(true, 0, line)); }
template <class T>
inline unsigned tc_match_any(T value, int line = TC_LINE) {
  struct Operands {
    T value;
    unsigned same;
  } mine{value, 0};
  tc_collective(
      "tc_match_any", mine,
      [](Operands* const* lanes, unsigned count) {
        for (unsigned i = 0; i < count; ++i)
          for (unsigned j = 0; j < count && lanes[i]; ++j)
            if (lanes[j] && lanes[i]->value == lanes[j]->value) lanes[i]->same |= 1u << j;
      },
      0, 0, line);
  return mine.same;
}
// All lanes, if they hold one value; else 0.
template <class T>
TC_FN unsigned tc_match_all(T value, int line = TC_LINE) {
  const unsigned all = unsigned(tc_vote_ballot(true, 0, line)), same = tc_match_any(value, line);
  return same == all ? all : 0;
}

TC_FN void tc_grid_wait() {}
TC_FN void tc_grid_release() {}
TC_FN int tc_uniform(int value) { return value; }
TC_FN void tc_transaction_fence_init() { tc_sim_publish_transactions(); }
TC_FN void tc_fence_async() { tc_sim_fence_proxy(); }

#include "tilecore_cuda/halves.h"
#include "tilecore_cuda/simulated_matrix.h"
#include "tilecore_cuda/simulated_clusters.h"
#include "tilecore_cuda/simulated_tensor.h"
#include "tilecore_cuda/simulated_warpgroups.h"
