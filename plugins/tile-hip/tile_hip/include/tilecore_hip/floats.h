// The narrow floats. Each operation rounds to the type, to nearest even; the 8-bit ones saturate.
#pragma once

// A double as a float whose last bit tells that something was cut off, so that rounding it once more is exact.
TC_FN float tc_round_to_odd(double x) {
  float nearest = float(x);
  if (double(nearest) == x || x != x || tc_isinf(nearest) != tc_isinf(x)) {
    return tc_isinf(nearest) && !tc_isinf(x) ? tc_bits<float>(tc_bits<unsigned>(nearest) - 1) : nearest;
  }
  const bool is_larger = tc_abs(double(nearest)) > tc_abs(x);
  const unsigned cut = tc_bits<unsigned>(nearest) - (is_larger ? 1u : 0u);
  return tc_bits<float>(cut | 1u);
}

// -- conversions ---------------------------------------------------------------------------------------------------

TC_FN unsigned short tc_half_bits(float x) { return tc_bits<unsigned short>((_Float16)x); }
TC_FN float tc_half_value(unsigned short bits) { return float(tc_bits<_Float16>(bits)); }

#include "tilecore_floats.h"

TC_FN unsigned short tc_bfloat16_bits(float x) { return tc_bits<unsigned short>((__bf16)x); }  // NaN stays NaN

#define TC_COMPUTED_BITS(TYPE) TC_FN unsigned char tc_##TYPE##_bits(float x) { return tc_computed_##TYPE##_bits(x); }
#define TC_COMPUTED_VALUE(TYPE) TC_FN float tc_##TYPE##_value(unsigned char bits) { return tc_computed_##TYPE##_value(bits); }
#define TC_COMPUTED(TYPE) TC_COMPUTED_BITS(TYPE) TC_COMPUTED_VALUE(TYPE)

#if defined(__gfx942__) || defined(__gfx950__) || defined(__GFX12__)
// Instructions of one name are for other types on each chip: on gfx942 for e4m3fnuz and e5m2fnuz, on gfx950 and gfx12 for
// e4m3fn and e5m2. They round to nearest even and do not saturate, so the number is clamped before; NaN stays NaN.
#if !defined(__gfx942__) && __has_builtin(__builtin_elementwise_maximum) && !__FINITE_MATH_ONLY__
TC_FN float tc_clamped(float x, float largest) {
  return __builtin_elementwise_minimum(__builtin_elementwise_maximum(x, -largest), largest);
}
TC_FN bool tc_lost_nan(float) { return false; }
#else
TC_FN float tc_clamped(float x, float largest) { return __builtin_amdgcn_fmed3f(x, -largest, largest); }
// Is x a NaN, of which v_med3 makes a number?
TC_FN bool tc_lost_nan(float x) {
#if __FINITE_MATH_ONLY__
  return tc_has_bits_of_nan(x);
#else
  return x != x;  // one instruction less
#endif
}
#endif
// INSTRUCTION: fp8 or bf8. The bits of two numbers would become the lower half of a register: what it has above is unused.
#define TC_CONVERTED(INSTRUCTION, x) __builtin_amdgcn_cvt_pk_##INSTRUCTION##_f32(x, x, tc_bits<int>(x), false)
#define TC_FP8(TYPE, INSTRUCTION, LARGEST, NAN_BITS)                                               \
  TC_FN unsigned char tc_##TYPE##_bits(float x) {                                                  \
    const float near = tc_clamped(x, LARGEST);                                                     \
    const unsigned bits = TC_CONVERTED(INSTRUCTION, near);                                         \
    return (unsigned char)(tc_lost_nan(x) ? NAN_BITS : bits);                                      \
  }                                                                                                \
  TC_FN float tc_##TYPE##_value(unsigned char bits) { return __builtin_amdgcn_cvt_f32_##INSTRUCTION(bits, 0); }
// The same bits stand for half the number in the type without -0, whose bias is greater by 1.
#define TC_HALVED(TYPE, INSTRUCTION, LARGEST)                                                      \
  TC_FN unsigned char tc_##TYPE##_bits(float x) {                                                  \
    const float near = tc_clamped(x * 0.5f, LARGEST / 2);                                          \
    const unsigned size = TC_CONVERTED(INSTRUCTION, near) & 0x7f;                                  \
    return (unsigned char)((tc_bits<unsigned>(x) >> 24 & 0x80) | (tc_lost_nan(x) ? 0x7f : size));  \
  }
#endif

#if defined(__gfx942__)
TC_FP8(e4m3fnuz, fp8, 240.0f, 0x80)
TC_FP8(e5m2fnuz, bf8, 57344.0f, 0x80)
TC_HALVED(e4m3, fp8, 448.0f)
TC_HALVED(e5m2, bf8, 57344.0f)
TC_COMPUTED_VALUE(e4m3)
TC_COMPUTED_VALUE(e5m2)
#elif defined(__gfx950__) || defined(__GFX12__)
TC_FP8(e4m3, fp8, 448.0f, 0x7f)
TC_FP8(e5m2, bf8, 57344.0f, 0x7f)
TC_COMPUTED(e4m3fnuz)
TC_COMPUTED(e5m2fnuz)
#else
TC_COMPUTED(e4m3)
TC_COMPUTED(e5m2)
TC_COMPUTED(e4m3fnuz)
TC_COMPUTED(e5m2fnuz)
#endif
#undef TC_COMPUTED_BITS
#undef TC_COMPUTED_VALUE
#undef TC_COMPUTED
#undef TC_CONVERTED
#undef TC_FP8
#undef TC_HALVED

// float32 with 10 bits of fraction, to nearest, ties away from zero.
TC_FN float tc_round_tf32(float x) {
  const unsigned bits = tc_bits<unsigned>(x);
  return x != x || tc_isinf(x) ? x : tc_bits<float>((bits + 0x1000u) & 0xffffe000u);
}

// -- types ---------------------------------------------------------------------------------------------------------

TC_NARROW(tc_half, unsigned short, tc_half_bits, tc_half_value)
TC_NARROW(tc_bfloat16, unsigned short, tc_bfloat16_bits, tc_bfloat16_value)
// The types of at most 8 bits, each with the functions of its conversions.
#define TC_SMALL_FLOATS(ROW)                     \
  ROW(tc_fp8_e4m3, tc_e4m3_bits, tc_e4m3_value)  \
  ROW(tc_fp8_e5m2, tc_e5m2_bits, tc_e5m2_value)  \
  ROW(tc_fp8_e4m3fnuz, tc_e4m3fnuz_bits, tc_e4m3fnuz_value) \
  ROW(tc_fp8_e5m2fnuz, tc_e5m2fnuz_bits, tc_e5m2fnuz_value) \
  ROW(tc_fp4_e2m1, tc_e2m1_bits, tc_e2m1_value) /* in the lower half of a byte */
#define TC_SMALL_FLOAT(NAME, TO_BITS, TO_VALUE) TC_NARROW(NAME, unsigned char, TO_BITS, TO_VALUE)
TC_SMALL_FLOATS(TC_SMALL_FLOAT)
#undef TC_SMALL_FLOAT
#undef TC_NARROW

// -- arithmetic: of halves by instructions, of the others in float, which is exact enough to round once ----------------

#define TC_HALF(OPERATOR)                                                                          \
  TC_FN tc_half operator OPERATOR(tc_half a, tc_half b) {                                          \
    return tc_half::from_bits(tc_bits<unsigned short>(                                             \
        (_Float16)(tc_bits<_Float16>(a.bits) OPERATOR tc_bits<_Float16>(b.bits))));                \
  }
TC_HALF(+)
TC_HALF(-)
TC_HALF(*)
#undef TC_HALF
TC_FN tc_half tc_fma(tc_half a, tc_half b, tc_half c) {
  return tc_half::from_bits(tc_bits<unsigned short>(__builtin_fmaf16(
      tc_bits<_Float16>(a.bits), tc_bits<_Float16>(b.bits), tc_bits<_Float16>(c.bits))));
}
// Rounded once: the product is exact in double, and the sum is rounded to odd before it is rounded to the type.
TC_FN tc_bfloat16 tc_fma(tc_bfloat16 a, tc_bfloat16 b, tc_bfloat16 c) {
  const double product = double(a) * double(b), addend = double(c), sum = product + addend;
  const double part = sum - product, error = (product - (sum - part)) + (addend - part);  // Knuth's TwoSum
  unsigned long long bits = tc_bits<unsigned long long>(sum);
  if (tc_isfinite(sum) && error != 0.0 && (bits & 1) == 0) bits += (error > 0.0) == (sum > 0.0) ? 1 : -1;
  return tc_bfloat16(tc_bits<double>(bits));
}
TC_EXTREMES_IN_FLOAT(tc_half)
TC_EXTREMES_IN_FLOAT(tc_bfloat16)
TC_IN_FLOAT(tc_bfloat16)
#define TC_SMALL_FLOAT(NAME, ...) TC_IN_FLOAT(NAME) TC_EXTREMES_IN_FLOAT(NAME)
TC_SMALL_FLOATS(TC_SMALL_FLOAT)
#undef TC_SMALL_FLOAT
#undef TC_SMALL_FLOATS
#undef TC_IN_FLOAT
#undef TC_EXTREMES_IN_FLOAT
