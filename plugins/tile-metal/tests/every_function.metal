#include "tilecore_metal.h"

// Calls every function of the header's device form, with each type and in each address space that it is for.
#define OF_FLOAT(NAME) x[0] = NAME(x[1]);
#define OF_FLOATS(NAME) x[0] = NAME(x[1], x[2]);
[[kernel, max_total_threads_per_threadgroup(64)]] void mathematics(device float* x [[buffer(0)]], constant int& n [[buffer(1)]], constant float& f [[buffer(2)]], constant bool& b [[buffer(3)]], constant long& l [[buffer(4)]], uint3 tc_block [[threadgroup_position_in_grid]], uint3 tc_thread [[thread_position_in_threadgroup]]) {
  const int tx = tc_thread.x + tc_block.x;
  OF_FLOAT(tc_exp) OF_FLOAT(tc_exp2) OF_FLOAT(tc_exp10) OF_FLOAT(tc_log) OF_FLOAT(tc_log2) OF_FLOAT(tc_log10) OF_FLOAT(tc_sin) OF_FLOAT(tc_cos)
  OF_FLOAT(tc_tan) OF_FLOAT(tc_asin) OF_FLOAT(tc_acos) OF_FLOAT(tc_atan) OF_FLOAT(tc_sinh) OF_FLOAT(tc_cosh) OF_FLOAT(tc_tanh)
  OF_FLOAT(tc_asinh) OF_FLOAT(tc_acosh) OF_FLOAT(tc_atanh) OF_FLOAT(tc_sqrt) OF_FLOAT(tc_rsqrt) OF_FLOAT(tc_floor) OF_FLOAT(tc_ceil)
  OF_FLOAT(tc_trunc) OF_FLOAT(tc_nearbyint) OF_FLOAT(tc_sigmoid) OF_FLOAT(tc_log1p) OF_FLOAT(tc_erf) OF_FLOAT(tc_abs) OF_FLOAT(tc_rounded)
  OF_FLOAT(tc_single) OF_FLOAT(tc_value)
  OF_FLOATS(tc_pow) OF_FLOATS(tc_atan2) OF_FLOATS(tc_fmod) OF_FLOATS(tc_copysign) OF_FLOATS(tc_hypot) OF_FLOATS(tc_nextafter)
  OF_FLOATS(tc_floor_mod) OF_FLOATS(tc_min) OF_FLOATS(tc_max) OF_FLOATS(tc_quotient) OF_FLOATS(tc_rounded_add) OF_FLOATS(tc_rounded_sub)
  OF_FLOATS(tc_rounded_mul)
  x[tx] = tc_fma(x[1], f, tc_ldexp(x[2], n));
  x[3] = tc_isnan(x[1]) || tc_isinf(x[2]) || tc_isfinite(x[3]) || b ? 1.0f : tc_round_tf32(x[4]);
  x[4] = (float)tc_truncate<char>(f) + (float)tc_truncate<short>(f) + (float)tc_truncate<int>(f) + (float)tc_truncate<long>(f);
  x[5] = (float)tc_truncate<uchar>(f) + (float)tc_truncate<ushort>(f) + (float)tc_truncate<uint>(f) + (float)tc_truncate<ulong>(f);
  const int i = tc_div(n, tx) + tc_mod(n, tx) + tc_floor_div(n, tx) + tc_floor_mod(n, tx) + tc_abs(n) + tc_min(n, tx) + tc_max(n, tx);
  const long j = tc_div(l, 2l) + tc_mod(l, 2l) + tc_floor_div(l, 2l) + tc_floor_mod(l, 2l) + tc_abs(l) + tc_min(l, 2l) + tc_max(l, 2l);
  const uint u = tc_min((uint)n, 3u) + tc_max((uint)n, 3u) + (uint)tc_popcount((uint)n) + (uint)tc_clz((uint)n) + tc_divisor(3u);
  const ulong v = tc_min((ulong)n, 3ul) + tc_max((ulong)n, 3ul) + (ulong)tc_popcount((ulong)n) + (ulong)tc_clz((ulong)n);
  x[6] = (float)i + (float)j + (float)u + (float)v + tc_bits<float>(u) + (float)tc_bits<long>(v) + (float)tc_bits<uchar>(b);
  tc_assume(n > 0);
}

#define LANES(T, VALUE)                                       \
  {                                                           \
    T value = VALUE;                                          \
    value = tc_shuffle_idx(value, lane);                      \
    value = tc_shuffle_idx(value, lane, 8);                   \
    value = tc_shuffle_xor(value, 3);                         \
    value = tc_shuffle_up(value, 1, 16);                      \
    value = tc_shuffle_down(value, 1);                        \
    value = tc_shuffle_idx_of_part(value, 1, 8, lane);        \
    value = tc_shuffle_up_of_part(value, 1, 8, lane);         \
    value = tc_shuffle_down_of_part(value, 1, 8, lane);       \
    local[0] = tc_single(value);                              \
  }
#define REDUCED(T, VALUE)                                                                              \
  local[1] += (float)tc_lanes_sum((T)(VALUE)) + (float)tc_lanes_product((T)(VALUE));                   \
  local[1] += (float)tc_lanes_min((T)(VALUE)) + (float)tc_lanes_max((T)(VALUE));
#define REDUCED_BITS(T, VALUE)                                                                         \
  local[1] += (float)tc_lanes_and((T)(VALUE)) + (float)tc_lanes_or((T)(VALUE)) + (float)tc_lanes_xor((T)(VALUE));
[[kernel, max_total_threads_per_threadgroup(128)]] void threads(device float* x [[buffer(0)]], device const uint* y [[buffer(1)]], device uint* tc_messages [[buffer(2)]], uint3 tc_block [[threadgroup_position_in_grid]], uint3 tc_thread [[thread_position_in_threadgroup]]) {
  const int lane = tc_thread.x % 32;
  threadgroup metal::atomic_uint tc_votes;
  alignas(16) threadgroup uchar shared[4096];
  threadgroup float* tile = (threadgroup float*)(shared + 0);
  threadgroup const uint* words = (threadgroup const uint*)(shared + 1024);
  thread float local[4] = {0.0f, 1.0f, 2.0f, 3.0f};
  device tc_aliased<int>::type* view = (device tc_aliased<int>::type*)x;
  LANES(char, (char)y[0]) LANES(uchar, (uchar)y[0]) LANES(short, (short)y[0]) LANES(ushort, (ushort)y[0])
  LANES(int, (int)y[0]) LANES(uint, y[0]) LANES(long, (long)y[0]) LANES(ulong, (ulong)y[0]) LANES(bool, y[0] != 0u)
  LANES(half, (half)x[0]) LANES(float, x[0]) LANES(tc_fp8_e4m3, tc_fp8_e4m3_from(x[0]))
#if __METAL_VERSION__ >= 310
  LANES(bfloat, (bfloat)x[0])
#endif
  REDUCED(char, y[0]) REDUCED(uchar, y[0]) REDUCED(short, y[0]) REDUCED(ushort, y[0]) REDUCED(int, y[0]) REDUCED(uint, y[0])
  REDUCED(half, x[0]) REDUCED(float, x[0])
  REDUCED_BITS(char, y[0]) REDUCED_BITS(uchar, y[0]) REDUCED_BITS(short, y[0]) REDUCED_BITS(ushort, y[0])
  REDUCED_BITS(int, y[0]) REDUCED_BITS(uint, y[0]) REDUCED_BITS(bool, y[0] != 0u)
#if __METAL_VERSION__ >= 310
  REDUCED(bfloat, x[0])
#endif
  tc_barrier();
  tc_shared_barrier();
  tc_warp_barrier();
  tc_scheduling_fence();
  if (tc_vote_any(lane > 3) && tc_vote_all(lane > 3)) x[0] = (float)tc_vote_ballot(lane > 3);
  if (tc_threadgroup_any(&tc_votes, lane > 3) && tc_threadgroup_all(&tc_votes, lane > 3))
    x[0] = (float)tc_threadgroup_count(&tc_votes, lane > 3);
  tc_move<16>(tile, x + 4);
  tc_move<16>(local, tile + 4);
  tc_move<8>(x + 2, local);
  tc_move<4>(x, y);
  tc_move<2>(tile, words);
  tc_move<1>(tile, words);
  tc_load_streaming<8>(local, x);
  tc_load_evict_first<8>(local, x);
  tc_load_evict_last<8>(local, x);
  tc_store_streaming<8>(x, local);
  tc_store_evict_first<8>(x, local);
  tc_store_evict_last<8>(x, local);
  view[0] += 1;
  tc_multiply_add<float>(local, local, local);
  half factors[8] = {};
  float sums[8] = {};
  tc_multiply_add<half, 1, 2, 2>(sums, factors, factors);
  tc_multiply_add_transposed<half, 1, 2, 2>(sums, factors, factors);
#if __METAL_VERSION__ >= 310
  bfloat wide[8] = {};
  tc_multiply_add<bfloat, 1, 2, 2>(sums, wide, wide);
  tc_multiply_add<float, 1, 2, 2>(sums, wide, factors);
#endif
  tc_print(tc_messages, 1u, "x %g", (float)lane, (long)lane, (ulong)lane);
  tc_print(tc_messages, 2u, "y");
  tc_assert(tc_messages, lane < 32, 1u, "lane");
}

#define NUMBERS(T, P, V)                                              \
  {                                                                   \
    T old = tc_atomic_add(P, V);                                      \
    old = tc_atomic_max(P, old);                                      \
    old = tc_atomic_min(P, old);                                      \
    old = tc_atomic_exchange(P, old);                                 \
    old = tc_atomic_cas(P, old, V);                                   \
    tc_atomic_store(P, tc_atomic_load(P));                            \
    const T several[4] = {V, V, V, V};                                \
    tc_atomic_add_x2(P, several);                                     \
    tc_atomic_add_x4(P, several);                                     \
  }
#define BITS(T, P, V) tc_atomic_and(P, V), tc_atomic_or(P, V), tc_atomic_xor(P, V);
#define INTEGERS(SPACE, T) NUMBERS(T, (SPACE T*)p, (T)1) BITS(T, (SPACE T*)p, (T)1)
#define SMALL(SPACE, T) NUMBERS(T, (SPACE T*)p, T##_from(1.0f))
#define COMMON(SPACE)                                                                                             \
  INTEGERS(SPACE, char) INTEGERS(SPACE, uchar) INTEGERS(SPACE, short) INTEGERS(SPACE, ushort)                     \
  INTEGERS(SPACE, int) INTEGERS(SPACE, uint) INTEGERS(SPACE, bool)                                                \
  NUMBERS(float, (SPACE float*)p, 1.0f) NUMBERS(half, (SPACE half*)p, (half)1.0f)                                 \
  SMALL(SPACE, tc_fp8_e4m3) SMALL(SPACE, tc_fp8_e5m2) SMALL(SPACE, tc_fp8_e4m3fnuz) SMALL(SPACE, tc_fp8_e5m2fnuz)
#if __METAL_VERSION__ >= 310
#define ALL(SPACE) COMMON(SPACE) NUMBERS(bfloat, (SPACE bfloat*)p, (bfloat)1.0f)
#else
#define ALL(SPACE) COMMON(SPACE)
#endif
TC_FN void of_device(device uchar* p) { ALL(device) }
TC_FN void of_threadgroup(threadgroup uchar* p) { ALL(threadgroup) }
[[kernel, max_total_threads_per_threadgroup(64)]] void atomics(device uchar* x [[buffer(0)]], device ulong* y [[buffer(1)]], uint3 tc_block [[threadgroup_position_in_grid]], uint3 tc_thread [[thread_position_in_threadgroup]]) {
  alignas(16) threadgroup uchar shared[64];
  of_device(x);
  of_threadgroup(shared);
  tc_atomic_ulong_max(y, 3ul);
  tc_atomic_ulong_min(&y[1], 3ul);
}
#if __METAL_VERSION__ >= 320
TC_FN void of_coherent(coherent(device) device uchar* p) { ALL(coherent(device) device) }
[[kernel, max_total_threads_per_threadgroup(64)]] void orders(coherent(device) device float* __restrict x [[buffer(0)]], coherent(device) device ulong* y [[buffer(1)]], device const float* z [[buffer(2)]], uint3 tc_block [[threadgroup_position_in_grid]], uint3 tc_thread [[thread_position_in_threadgroup]]) {
  alignas(16) threadgroup uchar shared[64];
  of_coherent((coherent(device) device uchar*)x);
  tc_atomic_add(x + 1, 1.0f, tc_acq_rel);
  tc_atomic_store(&x[1], tc_atomic_load(&x[2], tc_acquire), tc_release);
  tc_atomic_ulong_max(y, 3ul, tc_seq_cst);
  tc_fence_block();
  tc_fence_device();
  float local[4];
  coherent(device) device tc_aliased<int>::type* view = (coherent(device) device tc_aliased<int>::type*)x;
  view[0] = 3;
  tc_move<16>(local, x);
  tc_move<16>(shared, x);
  tc_move<16>(x, local);
  tc_move<16>(x, shared);
  tc_move<16>(x, z);
  tc_move<16>(x + 4, x);
  x[0] = x[1] + tc_single(x[2]);
}
#endif
