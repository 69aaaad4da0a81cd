// Functions of float and double, and of integers.
#pragma once

#define TC_MATH(NAME, SINGLE, DOUBLE)                        \
  TC_FN float tc_##NAME(float x) { return SINGLE(x); }       \
  TC_FN double tc_##NAME(double x) { return DOUBLE(x); }
TC_MATH(exp, expf, exp)
TC_MATH(exp2, exp2f, exp2)
TC_MATH(exp10, exp10f, exp10)
TC_MATH(log, logf, log)
TC_MATH(log2, log2f, log2)
TC_MATH(log10, log10f, log10)
TC_MATH(log1p, log1pf, log1p)
TC_MATH(sin, sinf, sin)
TC_MATH(cos, cosf, cos)
TC_MATH(tan, tanf, tan)
TC_MATH(asin, asinf, asin)
TC_MATH(acos, acosf, acos)
TC_MATH(atan, atanf, atan)
TC_MATH(sinh, sinhf, sinh)
TC_MATH(cosh, coshf, cosh)
TC_MATH(tanh, tanhf, tanh)
TC_MATH(asinh, asinhf, asinh)
TC_MATH(acosh, acoshf, acosh)
TC_MATH(atanh, atanhf, atanh)
TC_MATH(erf, erff, erf)
TC_MATH(sqrt, sqrtf, sqrt)
TC_MATH(rsqrt, rsqrtf, rsqrt)
TC_MATH(floor, floorf, floor)
TC_MATH(ceil, ceilf, ceil)
TC_MATH(trunc, truncf, trunc)
TC_MATH(nearbyint, rintf, rint)
TC_MATH(abs, fabsf, fabs)
#undef TC_MATH

#define TC_MATH2(NAME, SINGLE, DOUBLE)                                    \
  TC_FN float tc_##NAME(float x, float y) { return SINGLE(x, y); }        \
  TC_FN double tc_##NAME(double x, double y) { return DOUBLE(x, y); }
TC_MATH2(pow, powf, pow)
TC_MATH2(atan2, atan2f, atan2)
TC_MATH2(fmod, fmodf, fmod)
TC_MATH2(hypot, hypotf, hypot)
TC_MATH2(copysign, copysignf, copysign)
TC_MATH2(nextafter, nextafterf, nextafter)
TC_MATH2(min, fminf, fmin)  // the one that is not NaN
TC_MATH2(max, fmaxf, fmax)
#undef TC_MATH2

TC_FN float tc_fma(float a, float b, float c) { return fmaf(a, b, c); }
TC_FN double tc_fma(double a, double b, double c) { return fma(a, b, c); }
TC_FN float tc_ldexp(float x, int power) { return ldexpf(x, power); }
TC_FN double tc_ldexp(double x, int power) { return ldexp(x, power); }
static __device__ __noinline__ float tc_plain_quotient(float a, float b) { return a / b; }  // one copy of what is rare
// 2 to the power by which b, with its sign, comes to about 1; 0 for 0, for what is not finite, and for the largest.
TC_FN float tc_scale_of(float b) {
  const unsigned bits = __float_as_uint(b), exponent = bits & 0x7f800000u;
  if (b == 0.0f || exponent >= 0x7f000000u) return 0.0f;
  return __uint_as_float((bits & 0x80000000u) | (0x7f000000u - exponent));
}
// a / b where many a have one b: the reciprocal, which the compiler computes once, and one step of correction (Markstein).
// Rounded as a / b is: where the rest of the division might not be exact, or the quotient not normal, it divides.
TC_FN float tc_quotient(float a, float b) {
  const float scale = tc_scale_of(b), divisor = b * scale, reciprocal = 1.0f / divisor;
  const float dividend = a * scale, first = dividend * reciprocal, rest = fmaf(-first, divisor, dividend);
  if (fabsf(dividend) >= 0x1p-100f && fabsf(dividend) <= 0x1p100f) return fmaf(rest, reciprocal, first);
  return a == 0.0f && scale != 0.0f ? dividend : tc_plain_quotient(a, b);
}
#include "tilecore_mathematics.h"

// By bits, so that the compiler's fast mathematics does not take them for never.
TC_FN bool tc_isnan(float x) { return (__float_as_uint(x) & 0x7fffffffu) > 0x7f800000u; }
TC_FN bool tc_isinf(float x) { return (__float_as_uint(x) & 0x7fffffffu) == 0x7f800000u; }
TC_FN bool tc_isfinite(float x) { return (__float_as_uint(x) & 0x7fffffffu) < 0x7f800000u; }
TC_FN unsigned long long tc_size_bits(double x) { return (unsigned long long)__double_as_longlong(x) << 1; }
TC_FN bool tc_isnan(double x) { return tc_size_bits(x) > 0xffe0000000000000ull; }
TC_FN bool tc_isinf(double x) { return tc_size_bits(x) == 0xffe0000000000000ull; }
TC_FN bool tc_isfinite(double x) { return tc_size_bits(x) < 0xffe0000000000000ull; }

// Operations with a rounding of their own: ptxas makes no fused multiply-add of them.
TC_FN float tc_rounded_add(float a, float b) { return __fadd_rn(a, b); }
TC_FN float tc_rounded_sub(float a, float b) { return __fsub_rn(a, b); }
TC_FN float tc_rounded_mul(float a, float b) { return __fmul_rn(a, b); }
TC_FN double tc_rounded_add(double a, double b) { return __dadd_rn(a, b); }
TC_FN double tc_rounded_sub(double a, double b) { return __dsub_rn(a, b); }
TC_FN double tc_rounded_mul(double a, double b) { return __dmul_rn(a, b); }
// Operations in other rounding modes: an instruction each, or a few of the CUDA math API (section 11, intrinsics).
#define TC_DIRECTED(WORD)                                                                      \
  TC_FN float tc_add_##WORD(float a, float b) { return __fadd_##WORD(a, b); }                  \
  TC_FN float tc_sub_##WORD(float a, float b) { return __fsub_##WORD(a, b); }                  \
  TC_FN float tc_mul_##WORD(float a, float b) { return __fmul_##WORD(a, b); }                  \
  TC_FN float tc_div_##WORD(float a, float b) { return __fdiv_##WORD(a, b); }                  \
  TC_FN float tc_rcp_##WORD(float a) { return __frcp_##WORD(a); }                              \
  TC_FN float tc_sqrt_##WORD(float a) { return __fsqrt_##WORD(a); }                            \
  TC_FN float tc_fma_##WORD(float a, float b, float c) { return __fmaf_##WORD(a, b, c); }      \
  TC_FN double tc_add_##WORD(double a, double b) { return __dadd_##WORD(a, b); }               \
  TC_FN double tc_sub_##WORD(double a, double b) { return __dsub_##WORD(a, b); }               \
  TC_FN double tc_mul_##WORD(double a, double b) { return __dmul_##WORD(a, b); }               \
  TC_FN double tc_div_##WORD(double a, double b) { return __ddiv_##WORD(a, b); }               \
  TC_FN double tc_rcp_##WORD(double a) { return __drcp_##WORD(a); }                            \
  TC_FN double tc_sqrt_##WORD(double a) { return __dsqrt_##WORD(a); }                          \
  TC_FN double tc_fma_##WORD(double a, double b, double c) { return __fma_##WORD(a, b, c); }
TC_DIRECTED(rn)  // exact with the compiler's fast mathematics, too
TC_DIRECTED(rz)
TC_DIRECTED(ru)
TC_DIRECTED(rd)
#undef TC_DIRECTED
// A value that is not merged with the operations around it.
TC_FN float tc_rounded(float x) {
  asm("" : "+f"(x));
  return x;
}
TC_FN double tc_rounded(double x) {
  asm("" : "+d"(x));
  return x;
}

// an instruction of its own: of neighbouring bytes NVRTC 13.0 takes the absolute value with the others' bits above it
TC_FN int tc_abs(int x) {
  int y;
  asm("abs.s32 %0, %1;" : "=r"(y) : "r"(x));
  return y;
}
TC_FN int tc_popcount(unsigned x) { return __popc(x); }
TC_FN int tc_popcount(unsigned long long x) { return __popcll(x); }
TC_FN int tc_clz(unsigned x) { return __clz(int(x)); }
TC_FN int tc_clz(unsigned long long x) { return __clzll((long long)x); }
