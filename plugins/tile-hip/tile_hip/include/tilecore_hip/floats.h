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

// by clang: one instruction for two values on gfx950, and elsewhere its own form without a branch
TC_FN unsigned short tc_bfloat16_bits(float x) { return tc_bits<unsigned short>((__bf16)x); }
TC_FN unsigned char tc_e4m3_bits(float x) { return tc_computed_e4m3_bits(x); }
TC_FN float tc_e4m3_value(unsigned char bits) { return tc_computed_e4m3_value(bits); }
TC_FN unsigned char tc_e5m2_bits(float x) { return tc_computed_e5m2_bits(x); }

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
