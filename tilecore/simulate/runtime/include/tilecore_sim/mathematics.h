// Functions of floats. Those of narrow floats are computed in float and round once.
#pragma once
#include "floats.h"

#define TC_NARROW_FUNCTION(TYPE, NAME) \
  TC_INLINE TYPE tc_##NAME(TYPE x) { return TYPE(tc_##NAME(float(x))); }
#define TC_NARROW_FUNCTION2(TYPE, NAME) \
  TC_INLINE TYPE tc_##NAME(TYPE x, TYPE y) { return TYPE(tc_##NAME(float(x), float(y))); }

#define TC_FUNCTION(NAME, BUILTIN)                                         \
  TC_INLINE float tc_##NAME(float x) { return __builtin_##BUILTIN##f(x); } \
  TC_INLINE double tc_##NAME(double x) { return __builtin_##BUILTIN(x); }  \
  TC_NARROW_FUNCTION(tc_half, NAME)                                        \
  TC_NARROW_FUNCTION(tc_bfloat16, NAME)
#define TC_FUNCTION2(NAME, BUILTIN)                                                    \
  TC_INLINE float tc_##NAME(float x, float y) { return __builtin_##BUILTIN##f(x, y); } \
  TC_INLINE double tc_##NAME(double x, double y) { return __builtin_##BUILTIN(x, y); } \
  TC_NARROW_FUNCTION2(tc_half, NAME)                                                   \
  TC_NARROW_FUNCTION2(tc_bfloat16, NAME)

TC_INLINE float tc_quotient(float a, float b) { return a / b; }
TC_FUNCTION(abs, fabs)
TC_FUNCTION(exp, exp)
TC_FUNCTION(exp2, exp2)
TC_FUNCTION(expm1, expm1)
TC_FUNCTION(log, log)
TC_FUNCTION(log2, log2)
TC_FUNCTION(log10, log10)
TC_FUNCTION(log1p, log1p)
TC_FUNCTION(sqrt, sqrt)
TC_FUNCTION(sin, sin)
TC_FUNCTION(cos, cos)
TC_FUNCTION(tan, tan)
TC_FUNCTION(asin, asin)
TC_FUNCTION(acos, acos)
TC_FUNCTION(atan, atan)
TC_FUNCTION(sinh, sinh)
TC_FUNCTION(cosh, cosh)
TC_FUNCTION(tanh, tanh)
TC_FUNCTION(asinh, asinh)
TC_FUNCTION(acosh, acosh)
TC_FUNCTION(atanh, atanh)
TC_FUNCTION(erf, erf)
TC_FUNCTION(erfc, erfc)
TC_FUNCTION(floor, floor)
TC_FUNCTION(ceil, ceil)
TC_FUNCTION(trunc, trunc)
TC_FUNCTION(round, round)          // halves away from zero
TC_FUNCTION(nearbyint, nearbyint)  // halves to even
TC_FUNCTION2(pow, pow)
TC_FUNCTION2(fmod, fmod)
TC_FUNCTION2(atan2, atan2)
TC_FUNCTION2(hypot, hypot)
TC_FUNCTION2(copysign, copysign)

// The one that is not NaN; the C library's own take a signalling NaN for the result.
#define TC_EXTREME(NAME, T, WORSE) \
  TC_INLINE T tc_##NAME(T x, T y) { return x != x || x WORSE y ? y : x; }
TC_EXTREME(min, float, >)
TC_EXTREME(min, double, >)
TC_EXTREME(max, float, <)
TC_EXTREME(max, double, <)
#undef TC_EXTREME
TC_NARROW_FUNCTION2(tc_half, min)
TC_NARROW_FUNCTION2(tc_half, max)
TC_NARROW_FUNCTION2(tc_bfloat16, min)
TC_NARROW_FUNCTION2(tc_bfloat16, max)

TC_INLINE float tc_exp10(float x) { return __builtin_powf(10.0f, x); }
TC_INLINE double tc_exp10(double x) { return __builtin_pow(10.0, x); }
TC_NARROW_FUNCTION(tc_half, exp10)
TC_NARROW_FUNCTION(tc_bfloat16, exp10)
TC_INLINE float tc_rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
TC_INLINE double tc_rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
TC_NARROW_FUNCTION(tc_half, rsqrt)
TC_NARROW_FUNCTION(tc_bfloat16, rsqrt)

TC_INLINE float tc_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TC_INLINE double tc_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
// The sum of two doubles; where it is not exact its last bit is set, so that rounding it to fewer bits is as if the sum
// had been exact.
TC_INLINE double tc_sum_to_odd(double x, double y) {
  const double sum = x + y, back = sum - x, rest = (x - (sum - back)) + (y - back);
  if (!(rest < 0) && !(rest > 0)) return sum;
  const uint64_t bits = __builtin_bit_cast(uint64_t, sum);
  return bits & 1 ? sum : __builtin_bit_cast(double, bits + ((rest > 0) == (sum > 0) ? 1 : -1));
}
TC_INLINE tc_half tc_fma(tc_half a, tc_half b, tc_half c) { return tc_half(tc_sum_to_odd(double(a) * double(b), double(c))); }
TC_INLINE tc_bfloat16 tc_fma(tc_bfloat16 a, tc_bfloat16 b, tc_bfloat16 c) {
  return tc_bfloat16(tc_sum_to_odd(double(a) * double(b), double(c)));
}

TC_INLINE int tc_min(int a, int b) { return a < b ? a : b; }
TC_INLINE int tc_max(int a, int b) { return a < b ? b : a; }
TC_INLINE unsigned tc_min(unsigned a, unsigned b) { return a < b ? a : b; }
TC_INLINE unsigned tc_max(unsigned a, unsigned b) { return a < b ? b : a; }
TC_INLINE int64_t tc_min(int64_t a, int64_t b) { return a < b ? a : b; }
TC_INLINE int64_t tc_max(int64_t a, int64_t b) { return a < b ? b : a; }
TC_INLINE uint64_t tc_min(uint64_t a, uint64_t b) { return a < b ? a : b; }
TC_INLINE uint64_t tc_max(uint64_t a, uint64_t b) { return a < b ? b : a; }
TC_INLINE int tc_abs(int a) { return a < 0 ? -a : a; }
TC_INLINE int64_t tc_abs(int64_t a) { return a < 0 ? -a : a; }

template <class T>
TC_INLINE bool tc_isnan(T x) {
  return __builtin_isnan(float(x));
}
TC_INLINE bool tc_isnan(double x) { return __builtin_isnan(x); }
template <class T>
TC_INLINE bool tc_isinf(T x) {
  return __builtin_isinf(float(x));
}
TC_INLINE bool tc_isinf(double x) { return __builtin_isinf(x); }
template <class T>
TC_INLINE bool tc_isfinite(T x) {
  return __builtin_isfinite(float(x));
}
TC_INLINE bool tc_isfinite(double x) { return __builtin_isfinite(x); }

TC_INLINE int tc_popcount(uint32_t x) { return __builtin_popcount(x); }
TC_INLINE int tc_popcount(uint64_t x) { return __builtin_popcountll(x); }
TC_INLINE int tc_popcount(int x) { return __builtin_popcount(static_cast<unsigned>(x)); }
TC_INLINE int tc_popcount(int64_t x) { return __builtin_popcountll(static_cast<uint64_t>(x)); }
TC_INLINE int tc_clz(uint32_t x) { return x ? __builtin_clz(x) : 32; }
TC_INLINE int tc_clz(uint64_t x) { return x ? __builtin_clzll(x) : 64; }
TC_INLINE int tc_clz(int x) { return tc_clz(static_cast<uint32_t>(x)); }
TC_INLINE int tc_clz(int64_t x) { return tc_clz(static_cast<uint64_t>(x)); }

#undef TC_FUNCTION
#undef TC_FUNCTION2
#undef TC_NARROW_FUNCTION
#undef TC_NARROW_FUNCTION2
