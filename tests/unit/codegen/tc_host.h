// A host's form of what emitted source calls: threads run one after the other, so there is nothing to wait for.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#define TC_KEPT __attribute__((used)) inline
TC_KEPT int tc_block[3], tc_thread[3];
alignas(1024) TC_KEPT unsigned char tc_arena[1 << 16];
TC_KEPT int tc_failed;
#include "tilecore_c.h"

// A float of 1 + E + F bits in an integer U. Saturating types have no infinity as a result of rounding; those without
// infinities (FN) keep only the highest pattern for NaN.
template <class U, int E, int F, bool SATURATES, bool FN>
struct tc_narrow {
  U bits;
  static constexpr int bias = (1 << (E - 1)) - 1;
  tc_narrow() = default;
  static tc_narrow from_bits(U raw) { tc_narrow made; made.bits = raw; return made; }
  template <class T>
  explicit tc_narrow(T value) { *this = rounded((double)value); }
  static tc_narrow rounded(double x) {
    const U sign = std::signbit(x) ? (U)((U)1 << (E + F)) : (U)0;
    const U top = FN ? (U)((1 << (E + F)) - 1) : (U)(((1 << E) - 1) << F);
    if (std::isnan(x)) return from_bits(sign | (FN ? top : (U)(top | (1 << (F - 1)))));
    const U largest = FN ? (U)(top - 1) : (U)(top - 1);
    double size = std::fabs(x);
    int exponent;
    std::frexp(size, &exponent);
    int step = (exponent - 1 < 1 - bias ? 1 - bias : exponent - 1) - F;
    if (std::isinf(size)) return from_bits(sign | (SATURATES ? largest : top));
    double units = std::nearbyint(std::ldexp(size, -step));
    size = std::ldexp(units, step);
    if (size > (double)(float)from_bits(largest)) return from_bits(sign | (SATURATES ? largest : top));
    if (size == 0) return from_bits(sign);
    std::frexp(size, &exponent);
    --exponent;
    if (exponent < 1 - bias) return from_bits(sign | (U)std::ldexp(size, bias - 1 + F));
    return from_bits(sign | (U)(((exponent + bias) << F) | ((int)std::ldexp(size, F - exponent) - (1 << F))));
  }
  explicit operator float() const {
    const int e = (bits >> F) & ((1 << E) - 1), f = bits & ((1 << F) - 1);
    double size = e ? std::ldexp(1.0 + std::ldexp((double)f, -F), e - bias) : std::ldexp((double)f, 1 - bias - F);
    if (FN ? (e == (1 << E) - 1 && f == (1 << F) - 1) : e == (1 << E) - 1) size = f ? __builtin_nan("") : HUGE_VAL;
    return (float)((bits >> (E + F)) & 1 ? -size : size);
  }
#define TC_OPERATOR(op) friend tc_narrow operator op(tc_narrow a, tc_narrow b) { return tc_narrow((double)(float)a op (double)(float)b); }
  TC_OPERATOR(+) TC_OPERATOR(-) TC_OPERATOR(*) TC_OPERATOR(/)
#undef TC_OPERATOR
#define TC_OPERATOR(op) friend bool operator op(tc_narrow a, tc_narrow b) { return (float)a op (float)b; }
  TC_OPERATOR(==) TC_OPERATOR(!=) TC_OPERATOR(<) TC_OPERATOR(<=) TC_OPERATOR(>) TC_OPERATOR(>=)
#undef TC_OPERATOR
};
using tc_half = tc_narrow<uint16_t, 5, 10, false, false>;
using tc_bfloat16 = tc_narrow<uint16_t, 8, 7, false, false>;
using tc_fp8_e4m3 = tc_narrow<uint8_t, 4, 3, true, true>;
using tc_fp8_e5m2 = tc_narrow<uint8_t, 5, 2, true, false>;

template <class A, class B> using tc_both = decltype(true ? A() : B());
inline float tc_floor_mod(float a, float b) { return a - floorf(a / b) * b; }
inline double tc_floor_mod(double a, double b) { return a - floor(a / b) * b; }
template <class A, class B, class T = tc_both<A, B>> inline T tc_min(A x, B y) { T a = (T)x, b = (T)y; return b < a || a != a ? b : a; }
template <class A, class B, class T = tc_both<A, B>> inline T tc_max(A x, B y) { T a = (T)x, b = (T)y; return a < b || a != a ? b : a; }
template <class T, class = decltype(T() % 2)> inline T tc_abs(T a) { return a < 0 ? (T)(0ull - (unsigned long long)a) : a; }
template <class T> inline T tc_rounded(T x) { asm("" : "+x"(x)); return x; }
template <class T> inline T tc_rounded_add(T a, T b) { return tc_rounded(a + b); }
template <class T> inline T tc_rounded_sub(T a, T b) { return tc_rounded(a - b); }
template <class T> inline T tc_rounded_mul(T a, T b) { return tc_rounded(a * b); }
inline int tc_popcount(unsigned x) { return __builtin_popcount(x); }
inline int tc_popcount(unsigned long long x) { return __builtin_popcountll(x); }
inline int tc_clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
inline int tc_clz(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
inline bool tc_isnan(float x) { return std::isnan(x); }
inline bool tc_isnan(double x) { return std::isnan(x); }
inline bool tc_isinf(float x) { return std::isinf(x); }
inline bool tc_isfinite(float x) { return std::isfinite(x); }
#define TC_MATH(name, F) inline float tc_##name(float x) { return F##f(x); } inline double tc_##name(double x) { return F(x); }
TC_MATH(exp, exp) TC_MATH(exp2, exp2) TC_MATH(log, log) TC_MATH(log2, log2) TC_MATH(log10, log10) TC_MATH(log1p, log1p)
TC_MATH(sin, sin) TC_MATH(cos, cos) TC_MATH(tanh, tanh) TC_MATH(erf, erf) TC_MATH(atan, atan) TC_MATH(sinh, sinh)
TC_MATH(asinh, asinh) TC_MATH(sqrt, sqrt) TC_MATH(floor, floor) TC_MATH(ceil, ceil) TC_MATH(trunc, trunc)
TC_MATH(nearbyint, rint) TC_MATH(rsqrt, 1 / sqrt) TC_MATH(abs, fabs)
#define TC_MATH2(name, F) inline float tc_##name(float x, float y) { return F##f(x, y); } inline double tc_##name(double x, double y) { return F(x, y); }
TC_MATH2(fmod, fmod) TC_MATH2(pow, pow) TC_MATH2(atan2, atan2) TC_MATH2(copysign, copysign) TC_MATH2(nextafter, nextafter)
inline float tc_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
inline double tc_sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
inline float tc_fma(float a, float b, float c) { return fmaf(a, b, c); }
inline double tc_fma(double a, double b, double c) { return fma(a, b, c); }
inline tc_half tc_fma(tc_half a, tc_half b, tc_half c) { return tc_half((double)(float)a * (float)b + (float)c); }
inline tc_bfloat16 tc_fma(tc_bfloat16 a, tc_bfloat16 b, tc_bfloat16 c) {
  return tc_bfloat16(fma((double)(float)a, (double)(float)b, (double)(float)c));
}

template <int N> inline void tc_move(void *to, const void *from) {
  if ((uintptr_t)to % N || (uintptr_t)from % N) __builtin_trap();
  std::memcpy(to, from, N);
}
template <int N> inline void tc_copy_async(void *to, const void *from, bool valid) {
  if (valid) std::memcpy(to, from, N);
  else std::memset(to, 0, N);
}
inline void tc_commit_async() {}
template <int N> inline void tc_wait_async() {}
inline void tc_barrier() {}
#define tc_print(...) std::printf(__VA_ARGS__)
#define tc_assert(condition, number, message) do { if (!(condition)) { tc_failed = number; return; } } while (0)
#define tc_assume(condition) do { if (!(condition)) __builtin_unreachable(); } while (0)
template <class T> struct tc_same { using type = T; };
enum tc_order { tc_relaxed, tc_acquire, tc_release, tc_acq_rel, tc_seq_cst };
#define TC_ATOMIC(name, value) \
  template <class T> inline T tc_atomic_##name(T *p, typename tc_same<T>::type v, tc_order = tc_relaxed) { T old = *p; *p = value; return old; }
TC_ATOMIC(add, (T)(old + v))
TC_ATOMIC(max, tc_max(old, v))
TC_ATOMIC(exchange, v)
template <class T> inline T tc_atomic_load(T *p, tc_order = tc_relaxed) { return *p; }
