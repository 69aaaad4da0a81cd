// Functions of float and double, and of integers. What clang expands by itself needs no library; the others are those of
// ROCm's device library ocml, whose bitcode the toolchain links in.
#pragma once

// -- the settings that ocml reads: correct rounding, subnormal numbers, no assumptions about values --------------------

#define TC_SETTING(TYPE, NAME, VALUE) \
  extern "C" __attribute__((device, constant, visibility("hidden"))) const TYPE __oclc_##NAME = VALUE
TC_SETTING(unsigned char, unsafe_math_opt, 0);
TC_SETTING(unsigned char, finite_only_opt, 0);
TC_SETTING(unsigned char, daz_opt, 0);
TC_SETTING(unsigned char, correctly_rounded_sqrt32, 1);
TC_SETTING(unsigned char, wavefrontsize64, TC_WAVE == 64);
TC_SETTING(unsigned, ISA_version, TC_ISA_VERSION);
TC_SETTING(unsigned, ABI_version, 500);
#undef TC_SETTING

// -- functions ---------------------------------------------------------------------------------------------------------

#define TC_LIBRARY(NAME, FUNCTION)                                    \
  extern "C" __device__ float __ocml_##FUNCTION##_f32(float);         \
  extern "C" __device__ double __ocml_##FUNCTION##_f64(double);       \
  TC_FN float tc_##NAME(float x) { return __ocml_##FUNCTION##_f32(x); } \
  TC_FN double tc_##NAME(double x) { return __ocml_##FUNCTION##_f64(x); }
TC_LIBRARY(log1p, log1p)
TC_LIBRARY(sin, sin)
TC_LIBRARY(cos, cos)
TC_LIBRARY(tan, tan)
TC_LIBRARY(asin, asin)
TC_LIBRARY(acos, acos)
TC_LIBRARY(atan, atan)
TC_LIBRARY(sinh, sinh)
TC_LIBRARY(cosh, cosh)
TC_LIBRARY(tanh, tanh)
TC_LIBRARY(asinh, asinh)
TC_LIBRARY(acosh, acosh)
TC_LIBRARY(atanh, atanh)
TC_LIBRARY(erf, erf)
#undef TC_LIBRARY

// float by clang, double by the library
#define TC_EXPANDED(NAME, BUILTIN, FUNCTION)                      \
  extern "C" __device__ double __ocml_##FUNCTION##_f64(double);   \
  TC_FN float tc_##NAME(float x) { return BUILTIN(x); }           \
  TC_FN double tc_##NAME(double x) { return __ocml_##FUNCTION##_f64(x); }
TC_EXPANDED(exp, __builtin_expf, exp)
TC_EXPANDED(exp2, __builtin_exp2f, exp2)
TC_EXPANDED(exp10, __builtin_exp10f, exp10)
TC_EXPANDED(log, __builtin_logf, log)
TC_EXPANDED(log2, __builtin_log2f, log2)
TC_EXPANDED(log10, __builtin_log10f, log10)
#undef TC_EXPANDED

#define TC_MATH(NAME, BUILTIN)                                    \
  TC_FN float tc_##NAME(float x) { return BUILTIN##f(x); }        \
  TC_FN double tc_##NAME(double x) { return BUILTIN(x); }
TC_MATH(sqrt, __builtin_sqrt)
TC_MATH(floor, __builtin_floor)
TC_MATH(ceil, __builtin_ceil)
TC_MATH(trunc, __builtin_trunc)
TC_MATH(nearbyint, __builtin_rint)
TC_MATH(abs, __builtin_fabs)
#undef TC_MATH
TC_FN float tc_rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
TC_FN double tc_rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }

#define TC_LIBRARY2(NAME, FUNCTION)                                                     \
  extern "C" __device__ float __ocml_##FUNCTION##_f32(float, float);                    \
  extern "C" __device__ double __ocml_##FUNCTION##_f64(double, double);                 \
  TC_FN float tc_##NAME(float x, float y) { return __ocml_##FUNCTION##_f32(x, y); }     \
  TC_FN double tc_##NAME(double x, double y) { return __ocml_##FUNCTION##_f64(x, y); }
TC_LIBRARY2(pow, pow)
TC_LIBRARY2(atan2, atan2)
TC_LIBRARY2(fmod, fmod)
TC_LIBRARY2(hypot, hypot)
TC_LIBRARY2(nextafter, nextafter)
#undef TC_LIBRARY2
TC_FN float tc_copysign(float x, float y) { return __builtin_copysignf(x, y); }
TC_FN double tc_copysign(double x, double y) { return __builtin_copysign(x, y); }
// the one that is not NaN
TC_FN float tc_min(float x, float y) { return __builtin_fminf(x, y); }
TC_FN double tc_min(double x, double y) { return __builtin_fmin(x, y); }
TC_FN float tc_max(float x, float y) { return __builtin_fmaxf(x, y); }
TC_FN double tc_max(double x, double y) { return __builtin_fmax(x, y); }

TC_FN float tc_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TC_FN double tc_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
TC_FN float tc_ldexp(float x, int power) { return __builtin_ldexpf(x, power); }
TC_FN double tc_ldexp(double x, int power) { return __builtin_ldexp(x, power); }
// a / b where many a have one b; rounded as a / b is
TC_FN float tc_quotient(float a, float b) { return a / b; }
#include "tilecore_mathematics.h"

// By bits, so that the compiler's fast mathematics does not take them for never.
TC_FN bool tc_isnan(float x) { return (tc_bits<unsigned>(x) & 0x7fffffffu) > 0x7f800000u; }
TC_FN bool tc_isinf(float x) { return (tc_bits<unsigned>(x) & 0x7fffffffu) == 0x7f800000u; }
TC_FN bool tc_isfinite(float x) { return (tc_bits<unsigned>(x) & 0x7fffffffu) < 0x7f800000u; }
TC_FN unsigned long long tc_size_bits(double x) { return tc_bits<unsigned long long>(x) << 1; }
TC_FN bool tc_isnan(double x) { return tc_size_bits(x) > 0xffe0000000000000ull; }
TC_FN bool tc_isinf(double x) { return tc_size_bits(x) == 0xffe0000000000000ull; }
TC_FN bool tc_isfinite(double x) { return tc_size_bits(x) < 0xffe0000000000000ull; }

// The toolchain compiles with -ffp-contract=off: no fused multiply-add but those of the source.
#define TC_ROUNDED(T)                                \
  TC_FN T tc_rounded_add(T a, T b) { return a + b; } \
  TC_FN T tc_rounded_sub(T a, T b) { return a - b; } \
  TC_FN T tc_rounded_mul(T a, T b) { return a * b; } \
  TC_FN T tc_rounded(T x) { return x; }
TC_ROUNDED(float)
TC_ROUNDED(double)
#undef TC_ROUNDED
#include "tilecore_directed.h"

TC_FN int tc_abs(int x) { return x < 0 ? int(0u - unsigned(x)) : x; }
TC_FN int tc_popcount(unsigned x) { return __builtin_popcount(x); }
TC_FN int tc_popcount(unsigned long long x) { return __builtin_popcountll(x); }
TC_FN int tc_clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
TC_FN int tc_clz(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
