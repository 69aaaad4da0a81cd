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

TC_FN unsigned short tc_bfloat16_bits(float x) {
  const unsigned bits = tc_bits<unsigned>(x);
  if (x != x) return (unsigned short)(bits >> 16 | 0x40);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
TC_FN float tc_bfloat16_value(unsigned short bits) { return tc_bits<float>(unsigned(bits) << 16); }

// Conversions without instructions of their own. F: bits of the fraction; BIAS of the exponent; LARGEST: bits of the
// largest finite value as a float.
template <int F, int BIAS, unsigned LARGEST>
TC_FN unsigned char tc_fp8_bits(float x) {
  const unsigned all = tc_bits<unsigned>(x), sign = all >> 24 & 0x80;
  unsigned size = all & 0x7fffffff;
  if (size > 0x7f800000) return (unsigned char)(sign | 0x7f);
  if (size > LARGEST) size = LARGEST;
  if (size < unsigned(128 - BIAS) << 23) {  // a denormal: adding this aligns its last bit with the float's
    const unsigned aligner = unsigned(127 + (1 - BIAS - F) + 23) << 23;
    return (unsigned char)(sign | (tc_bits<unsigned>(tc_bits<float>(size) + tc_bits<float>(aligner)) - aligner));
  }
  size += (1u << (22 - F)) - 1 + (size >> (23 - F) & 1);
  return (unsigned char)(sign | ((size >> (23 - F)) - ((127 - BIAS) << F)));
}
TC_FN unsigned char tc_e4m3_bits(float x) { return tc_fp8_bits<3, 7, 0x43e00000>(x); }
TC_FN float tc_e4m3_value(unsigned char bits) {
  const unsigned sign = unsigned(bits & 0x80) << 24, rest = bits & 0x7f;
  if (rest == 0x7f) return tc_bits<float>(sign | 0x7fc00000);
  return tc_bits<float>(sign | tc_bits<unsigned>(tc_bits<float>(rest << 20) * 0x1p120f));
}
TC_FN unsigned char tc_e5m2_bits(float x) { return tc_fp8_bits<2, 15, 0x47600000>(x); }
TC_FN float tc_e5m2_value(unsigned char bits) { return tc_half_value((unsigned short)(bits << 8)); }

// OCP microscaling formats 1.0, 5.3.3: a sign, 2 bits of exponent (bias 1), 1 of fraction; no NaN, which becomes 6.
TC_FN unsigned char tc_e2m1_bits(float x) {
  const unsigned all = tc_bits<unsigned>(x), sign = all >> 28 & 8;
  unsigned size = all & 0x7fffffff;
  if (size > 0x7f800000) return 7;
  if (size > 0x40c00000) size = 0x40c00000;  // 6
  if (size < 0x3f800000)  // below 1 in steps of a half, as floats at 2 to the 22nd are
    return (unsigned char)(sign | (tc_bits<unsigned>(tc_bits<float>(size) + 4194304.0f) - 0x4a800000));
  size += 0x1fffff + (size >> 22 & 1);
  return (unsigned char)(sign | ((size >> 22) - 252));
}
// As a half, whose fields it fits into, the value is 2 to the 14th too small.
TC_FN float tc_e2m1_value(unsigned char bits) {
  return tc_half_value((unsigned short)((bits & 8) << 12 | (bits & 7) << 9)) * 16384.0f;
}

// float32 with 10 bits of fraction, to nearest, ties away from zero.
TC_FN float tc_round_tf32(float x) {
  const unsigned bits = tc_bits<unsigned>(x);
  return x != x || tc_isinf(x) ? x : tc_bits<float>((bits + 0x1000u) & 0xffffe000u);
}

// -- types ---------------------------------------------------------------------------------------------------------

#define TC_NARROW(NAME, BITS, TO_BITS, TO_VALUE)                                                   \
  struct NAME {                                                                                    \
    BITS bits;                                                                                     \
    NAME() = default;                                                                              \
    TC_FN static NAME from_bits(BITS raw) {                                                        \
      NAME value;                                                                                  \
      value.bits = raw;                                                                            \
      return value;                                                                                \
    }                                                                                              \
    TC_FN explicit NAME(float x) : bits(TO_BITS(x)) {}                                             \
    TC_FN explicit NAME(double x) : bits(TO_BITS(tc_round_to_odd(x))) {}                           \
    TC_FN explicit NAME(bool x) : bits(TO_BITS(x ? 1.0f : 0.0f)) {}                                \
    TC_FN explicit NAME(int x) : bits(TO_BITS(tc_round_to_odd(double(x)))) {}                      \
    TC_FN explicit NAME(unsigned x) : bits(TO_BITS(tc_round_to_odd(double(x)))) {}                 \
    TC_FN explicit NAME(long long x) : bits(TO_BITS(tc_round_to_odd(double(x)))) {}                \
    TC_FN explicit NAME(unsigned long long x) : bits(TO_BITS(tc_round_to_odd(double(x)))) {}       \
    TC_FN explicit NAME(signed char x) : bits(TO_BITS(float(x))) {}                                \
    TC_FN explicit NAME(unsigned char x) : bits(TO_BITS(float(x))) {}                              \
    TC_FN explicit NAME(short x) : bits(TO_BITS(float(x))) {}                                      \
    TC_FN explicit NAME(unsigned short x) : bits(TO_BITS(float(x))) {}                             \
    TC_FN explicit operator float() const { return TO_VALUE(bits); }                               \
    TC_FN explicit operator double() const { return double(TO_VALUE(bits)); }                      \
  };                                                                                               \
  TC_FN bool operator==(NAME a, NAME b) { return float(a) == float(b); }                           \
  TC_FN bool operator!=(NAME a, NAME b) { return float(a) != float(b); }                           \
  TC_FN bool operator<(NAME a, NAME b) { return float(a) < float(b); }                             \
  TC_FN bool operator<=(NAME a, NAME b) { return float(a) <= float(b); }                           \
  TC_FN bool operator>(NAME a, NAME b) { return float(a) > float(b); }                             \
  TC_FN bool operator>=(NAME a, NAME b) { return float(a) >= float(b); }                           \
  TC_FN NAME operator/(NAME a, NAME b) { return NAME(float(a) / float(b)); }                       \
  TC_FN NAME tc_nextafter(NAME a, NAME b) { return tc_neighbour<NAME, BITS>(a, b); }
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
#define TC_IN_FLOAT(NAME)                                                                          \
  TC_FN NAME operator+(NAME a, NAME b) { return NAME(float(a) + float(b)); }                       \
  TC_FN NAME operator-(NAME a, NAME b) { return NAME(float(a) - float(b)); }                       \
  TC_FN NAME operator*(NAME a, NAME b) { return NAME(float(a) * float(b)); }
#define TC_EXTREMES_IN_FLOAT(NAME)                                                                 \
  TC_FN NAME tc_min(NAME a, NAME b) { return NAME(tc_min(float(a), float(b))); }                   \
  TC_FN NAME tc_max(NAME a, NAME b) { return NAME(tc_max(float(a), float(b))); }
TC_EXTREMES_IN_FLOAT(tc_half)
TC_EXTREMES_IN_FLOAT(tc_bfloat16)
TC_IN_FLOAT(tc_bfloat16)
#define TC_SMALL_FLOAT(NAME, ...) TC_IN_FLOAT(NAME) TC_EXTREMES_IN_FLOAT(NAME)
TC_SMALL_FLOATS(TC_SMALL_FLOAT)
#undef TC_SMALL_FLOAT
#undef TC_SMALL_FLOATS
#undef TC_IN_FLOAT
#undef TC_EXTREMES_IN_FLOAT
