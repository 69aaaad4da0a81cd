// Calls every function of the header; compiled for each architecture by test_header.py.
#include "tilecore_cuda.h"

template <class T>
TC_FN void atomics_of(T* p, T v) {
  tc_atomic_add(p, v);
  tc_atomic_max(p, v, tc_acquire);
  tc_atomic_min(p, v, tc_release);
  tc_atomic_exchange(p, v, tc_acq_rel);
  tc_atomic_cas(p, v, v, tc_acq_rel);
  tc_atomic_store(p, tc_atomic_load(p, tc_seq_cst), tc_release);
  tc_atomic_add_x2(p, &v - 1);
  tc_atomic_add_x4(p, &v - 3, tc_seq_cst);
}
template <class T>
TC_FN void bits_of(T* p, T v) {
  tc_atomic_and(p, v);
  tc_atomic_or(p, v, tc_consume);
  tc_atomic_xor(p, v);
}
template <class T>
TC_FN void narrow(T* p, float* out) {
  T a = p[0], b = T(2.5f) + a * T(1) - a / T(3u), c = T(1ll) + T(true) + T((short)3) + T(4.0);
  p[1] = tc_max(tc_min(a, b), tc_nextafter(c, a));
  out[0] = float(a) + (a < b) + (a <= b) + (a > b) + (a >= b) + (a == b) + (a != b) + float(double(b));
  p[2] = T::from_bits(a.bits);
  p[3] = T::from_bits(1);
}
#define DIRECTED(WORD)                                                                                             \
  (tc_add_##WORD(x, y) + tc_sub_##WORD(x, y) + tc_mul_##WORD(x, y) + tc_div_##WORD(x, y) + tc_fma_##WORD(x, y, x) + \
   tc_rcp_##WORD(x) + tc_sqrt_##WORD(x))
template <class T>
TC_FN T directed(T x, T y) {
  return DIRECTED(rz) + DIRECTED(ru) + DIRECTED(rd);
}
template <class T>
TC_FN T functions(T x, T y) {
  x += tc_exp(x) + tc_exp2(x) + tc_exp10(x) + tc_log(x) + tc_log2(x) + tc_log10(x) + tc_log1p(x) + tc_sin(x) + tc_cos(x);
  x += tc_tan(x) + tc_asin(x) + tc_acos(x) + tc_atan(x) + tc_sinh(x) + tc_cosh(x) + tc_tanh(x) + tc_asinh(x);
  x += tc_acosh(x) + tc_atanh(x) + tc_erf(x) + tc_sqrt(x) + tc_rsqrt(x) + tc_floor(x) + tc_ceil(x) + tc_trunc(x);
  x += tc_nearbyint(x) + tc_abs(x) + tc_pow(x, y) + tc_atan2(x, y) + tc_fmod(x, y) + tc_hypot(x, y) + tc_copysign(x, y);
  x += tc_nextafter(x, y) + tc_min(x, y) + tc_max(x, y) + tc_fma(x, y, x) + tc_ldexp(x, 3) + tc_sigmoid(x);
  x += tc_floor_mod(x, y) + tc_isnan(x) + tc_isinf(x) + tc_isfinite(x) + tc_rounded(x * y) + tc_rounded_add(x, y) + tc_rounded_sub(x, y) + tc_rounded_mul(x, y) + directed(x, y) + T(tc_quotient(float(x), float(y))) + T(TC_INFINITY) + T(TC_NAN);
  x += tc_truncate<signed char>(x) + tc_truncate<unsigned>(x) + tc_truncate<long long>(x) +
       tc_truncate<unsigned long long>(x);
  return x;
}
template <class T>
TC_FN T integers(T x, T y) {
  return tc_floor_div(x, y) + tc_floor_mod(x, y) + tc_min(x, y) + tc_max(x, y) + tc_abs(x);
}

extern "C" __global__ void plain(float* f, double* d, int* i, unsigned* u, long long* l, unsigned long long* w,
                                 tc_half* h, tc_bfloat16* b, tc_fp8_e4m3* e, tc_fp8_e5m2* g, bool* t, unsigned char* c,
                                 tc_fp4_e2m1* q, tc_fp8_e4m3fnuz* r, tc_fp8_e5m2fnuz* s) {
  f[0] = functions(f[0], f[1]) + tc_round_tf32(f[2]) + tc_round_to_odd(d[2]);
  d[0] = functions(d[0], d[1]);
  i[0] = integers(i[0], i[1]) + tc_popcount(u[0]) + tc_popcount(w[0]) + tc_clz(u[0]) + tc_clz(w[0]);
  l[0] = integers(l[0], l[1]);
  u[1] = tc_min(u[2], u[3]) + tc_max(u[2], u[3]);
  w[1] = tc_min(w[2], w[3]) + tc_max(w[2], w[3]);
  narrow(h, f + 3), narrow(b, f + 4), narrow(e, f + 5), narrow(g, f + 6), narrow(q, f + 7);
  narrow(r, f + 19), narrow(s, f + 20);
  f[8] = tc_quotient(f[9], f[10]);
  tc_quotients<3>(f + 11, f[10]);
  h[4] = tc_fma(h[5], h[6], h[7]);
  b[4] = tc_fma(b[5], b[6], b[7]);
  atomics_of(f, f[1]), atomics_of(d, d[1]), atomics_of(i, i[1]), atomics_of(u, u[1]), atomics_of(l, l[1]);
  atomics_of(w, w[1]), atomics_of(h, h[1]), atomics_of(b, b[1]), atomics_of(e, e[1]), atomics_of(g, g[1]);
  atomics_of(c, c[1]);
  bits_of(i, i[1]), bits_of(u, u[1]), bits_of(l, l[1]), bits_of(w, w[1]), bits_of(c, c[1]);
  tc_atomic_add(t, true), tc_atomic_exchange(t, false);
}

extern "C" __global__ void together(float* f, int* i, tc_half* h, unsigned char* c, long long* l) {
  TC_SHARED(arena);
  i[2] = tc_half_of_pair(tc_bit_pair<4, 15, 0x6400>(i[3]), 1) + tc_half_of_pair(tc_bit_pair<4, 15, 0>(i[3]), 0);
  i[4] = tc_min(i[5], tc_min(i[6], tc_negative(i[7])));
  const tc_pair pair = tc_pair_sub(tc_pair_add(tc_float_pair(f[2], f[3]), tc_float_pair(f[4], f[5])), tc_float_pair(f[6], f[7]));
  const tc_pair scaled = tc_pair_mul(tc_pair_fma(pair, pair, pair), pair);
  f[8] = tc_low(scaled), f[9] = tc_high(scaled);
  i[0] = tc_uniform(i[1]), tc_barrier(), tc_warp_barrier(), tc_named_barrier(1, 64), tc_named_barrier_arrive(2, 64);
  i[0] = tc_vote_any(i[1]) + tc_vote_all(i[1]) + tc_vote_ballot(i[1]);
  i[2] = tc_block_vote_any(i[1]) + tc_block_vote_all(i[1]) + tc_block_vote_count(i[1]);
  f[0] = tc_shuffle_xor(f[1], 4) + tc_shuffle_idx(f[1], 4, 8) + tc_shuffle_up(f[1], 1, 16) + tc_shuffle_down(f[1], 1);
  h[0] = tc_shuffle_xor(h[1], 1, 32);
  c[0] = tc_shuffle_xor(c[1], 1);
  l[0] = tc_shuffle_idx(l[1], 1);
  tc_print("%g %lld\n", (double)f[0], (long long)i[0]);
  tc_assert(i[0] > 0, 1, "positive");
  tc_assume(i[0] > 0);
  tc_move<1>(c, c + 1), tc_move<2>(c, c + 2), tc_move<4>(c, c + 4), tc_move<8>(c, c + 8), tc_move<16>(c, c + 16);
  tc_fence_block(), tc_fence_device(), tc_prefetch_l2(f);
  tc_load_streaming<1>(arena, c), tc_load_streaming<2>(arena, c), tc_load_streaming<4>(arena, c);
  tc_load_streaming<8>(arena, c), tc_load_streaming<16>(arena, c), tc_store_streaming<1>(c, arena);
  tc_store_streaming<2>(c, arena), tc_store_streaming<4>(c, arena), tc_store_streaming<8>(c, arena);
  tc_store_streaming<16>(c, arena), tc_load_evict_first<4>(arena, c), tc_store_evict_first<1>(c, arena);
  tc_load_evict_last<16>(arena, c), tc_store_evict_last<8>(c, arena);
  i[4] = tc_match_any(i[5]) + tc_match_all(l[2]) + tc_active_mask();
  tc_copy_async<4>(arena, f), tc_copy_async<8>(arena, f, i[0] > 1), tc_copy_async<16>(arena, f);
  tc_commit_async();
  tc_wait_async<1>();
  i[3] = tc_bits<int>(f[0]);
}

extern "C" __global__ void from_75(float* f, unsigned* r, int* i, unsigned char* arena) {
  tc_mma_m8n8k4_f16_f32(f, r, r), tc_mma_m8n8k4_f16_f16(r, r + 4, r + 6);
#if TC_ARCH >= 750
  tc_mma_m16n8k8_f16_f32(f, r, r), tc_mma_m16n8k8_f16_f16(r, r + 2, r + 4), tc_mma_m8n8k16_s8_s32(i, r, r);
  tc_mma_m8n8k16_s8_u8_s32(i, r, r), tc_mma_m8n8k16_u8_s8_s32(i, r, r), tc_mma_m8n8k16_u8_s32(i, r, r);
  tc_ldmatrix_x1(r, arena), tc_ldmatrix_x2(r, arena), tc_ldmatrix_x4(r, arena);
  tc_ldmatrix_x1_trans(r, arena), tc_ldmatrix_x2_trans(r, arena), tc_ldmatrix_x4_trans(r, arena);
#endif
}

extern "C" __global__ void from_80(float* f, unsigned* r, int* i, double* d, unsigned char* arena) {
#if TC_ARCH >= 800
  tc_mma_m16n8k16_f16_f32(f, r, r), tc_mma_m16n8k16_f16_f16(r, r + 2, r + 6), tc_mma_m16n8k8_bf16_f32(f, r, r);
  tc_mma_m16n8k16_bf16_f32(f, r, r), tc_mma_m16n8k4_tf32_f32(f, r, r), tc_mma_m16n8k8_tf32_f32(f, r, r);
  tc_mma_m16n8k16_s8_s32(i, r, r), tc_mma_m16n8k16_s8_u8_s32(i, r, r), tc_mma_m16n8k16_u8_s8_s32(i, r, r);
  tc_mma_m16n8k16_u8_s32(i, r, r), tc_mma_m16n8k32_s8_s32(i, r, r), tc_mma_m16n8k32_s8_u8_s32(i, r, r);
  tc_mma_m16n8k32_u8_s8_s32(i, r, r), tc_mma_m16n8k32_u8_s32(i, r, r), tc_mma_m8n8k4_f64_f64(d, d + 2, d + 3);
  tc_transaction_init(arena, 4), tc_transaction_arrive(arena), tc_transaction_arrive_on_copies(arena, true);
  tc_transaction_arrive_on_copies(arena, false), tc_transaction_wait(arena, 0);
  i[0] = tc_transaction_try_wait(arena, 1);
  tc_transaction_drop(arena);
  tc_load_with_policy(f, f + 4, tc_evict_first()), tc_store_with_policy(f, f + 4, tc_evict_last());
#endif
}

extern "C" __global__ void from_89(float* f, unsigned* r) {
#if TC_ARCH >= 890
  tc_mma_m16n8k32_e4m3_f32(f, r, r), tc_mma_m16n8k32_e4m3_e5m2_f32(f, r, r);
  tc_mma_m16n8k32_e5m2_e4m3_f32(f, r, r), tc_mma_m16n8k32_e5m2_f32(f, r, r);
  tc_mma_m16n8k32_e4m3_f16(r, r + 2, r + 6), tc_mma_m16n8k32_e4m3_e5m2_f16(r, r + 2, r + 6);
  tc_mma_m16n8k32_e5m2_e4m3_f16(r, r + 2, r + 6), tc_mma_m16n8k32_e5m2_f16(r, r + 2, r + 6);
  tc_mma_m16n8k16_e4m3_f32(f, r, r), tc_mma_m16n8k16_e4m3_e5m2_f32(f, r, r);
  tc_mma_m16n8k16_e5m2_e4m3_f32(f, r, r), tc_mma_m16n8k16_e5m2_f32(f, r, r);
  tc_mma_m16n8k16_e4m3_f16(r, r + 2, r + 6), tc_mma_m16n8k16_e4m3_e5m2_f16(r, r + 2, r + 6);
  tc_mma_m16n8k16_e5m2_e4m3_f16(r, r + 2, r + 6), tc_mma_m16n8k16_e5m2_f16(r, r + 2, r + 6);
#endif
}

extern "C" __global__ void from_90(float* f, unsigned* r, double* d, unsigned char* arena) {
#if TC_ARCH >= 900
  tc_mma_m16n8k4_f64_f64(d, d + 4, d + 8), tc_mma_m16n8k8_f64_f64(d, d + 4, d + 8);
  tc_mma_m16n8k16_f64_f64(d, d + 4, d + 12);
  tc_stmatrix_x1(arena, r), tc_stmatrix_x2(arena, r), tc_stmatrix_x4(arena, r);
  tc_stmatrix_x1_trans(arena, r), tc_stmatrix_x2_trans(arena, r), tc_stmatrix_x4_trans(arena, r);
  tc_transaction_arrive_expect(arena, 128), tc_transaction_expect(arena, 16), tc_transaction_fence_init();
  tc_fence_async(), tc_bulk_copy_async(arena + 128, f, 64, arena);
  tc_cluster_arrive(), tc_cluster_wait();
  r[0] = tc_cluster_rank() + tc_cluster_address(arena, 1);
#endif
}
