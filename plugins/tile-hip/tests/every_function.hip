// Calls every function of the header; compiled for each architecture by test_header.py.
#include "tilecore_hip.h"

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
  tc_barrier(), tc_warp_barrier(), tc_shared_barrier();
  i[0] = tc_vote_any(i[1]) + tc_vote_all(i[1]) + tc_vote_ballot(i[1]) + int(tc_wave_ballot(i[1]));
  i[2] = tc_block_vote_any(i[1]) + tc_block_vote_all(i[1]) + tc_block_vote_count(i[1]);
  f[0] = tc_shuffle_xor(f[1], 4) + tc_shuffle_idx(f[1], 4, 8) + tc_shuffle_up(f[1], 1, 16) + tc_shuffle_down(f[1], 1);
  h[0] = tc_shuffle_xor(h[1], 1, 32);
  c[0] = tc_shuffle_xor(c[1], 1);
  l[0] = tc_shuffle_idx(l[1], 1);
  tc_assume(i[0] > 0);
  tc_move<1>(c, c + 1), tc_move<2>(c, c + 2), tc_move<4>(c, c + 4), tc_move<8>(c, c + 8), tc_move<16>(c, c + 16);
  tc_fence_block(), tc_fence_device();
  tc_load_streaming<1>(arena, c), tc_load_streaming<2>(arena, c), tc_load_streaming<4>(arena, c);
  tc_load_streaming<8>(arena, c), tc_load_streaming<16>(arena, c), tc_store_streaming<1>(c, arena);
  tc_store_streaming<2>(c, arena), tc_store_streaming<4>(c, arena), tc_store_streaming<8>(c, arena);
  tc_store_streaming<16>(c, arena), tc_load_evict_first<4>(arena, c), tc_store_evict_first<1>(c, arena);
  tc_load_evict_last<16>(arena, c), tc_store_evict_last<8>(c, arena);
  i[4] = tc_match_any(i[5]) + tc_match_all(l[2]) + tc_active_mask();
  i[3] = tc_bits<int>(f[0]);
  tc_print("%lld of %llu is %g\n", l[0], (unsigned long long)i[0], double(f[0])), tc_print("nothing");
  tc_assert(i[5] < 3, 1, "too large");
#ifdef __gfx950__
  tc_copy_to_lds<16>(arena, c, i[6] > 0);
  tc_wait_copies<3>();
#endif
}
