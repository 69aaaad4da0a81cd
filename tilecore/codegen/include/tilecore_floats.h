// Narrow floats for headers of devices: conversions by integer arithmetic, and macros that define the types and their
// arithmetic. A backend's header includes it after tilecore_c.h and its own tc_half_value.
#pragma once

// -- conversions without instructions of their own -----------------------------------------------------------------

// To 8 bits, to nearest even, saturating. F: bits of the fraction; BIAS of the exponent; LARGEST: bits of the largest
// finite value as a float.
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
TC_FN unsigned char tc_computed_e4m3_bits(float x) { return tc_fp8_bits<3, 7, 0x43e00000>(x); }
TC_FN float tc_computed_e4m3_value(unsigned char bits) {
  const unsigned sign = unsigned(bits & 0x80) << 24, rest = bits & 0x7f;
  if (rest == 0x7f) return tc_bits<float>(sign | 0x7fc00000);
  return tc_bits<float>(sign | tc_bits<unsigned>(tc_bits<float>(rest << 20) * 0x1p120f));
}
TC_FN unsigned char tc_computed_e5m2_bits(float x) { return tc_fp8_bits<2, 15, 0x47600000>(x); }
// Types without -0: its bits are the only NaN, and the exponent's bias is greater by 1.
template <int F, int BIAS, unsigned LARGEST>
TC_FN unsigned char tc_fnuz_bits(float x) {
  const unsigned char bits = tc_fp8_bits<F, BIAS, LARGEST>(x);
  return (unsigned char)(x != x ? 0x80 : bits == 0x80 ? 0 : bits);
}
template <int F, int BIAS>
TC_FN float tc_fnuz_value(unsigned char bits) {
  if (bits == 0x80) return TC_NAN;
  const float size = tc_bits<float>(unsigned(bits & 0x7f) << (23 - F)) * tc_bits<float>(unsigned(254 - BIAS) << 23);
  return tc_bits<float>(unsigned(bits & 0x80) << 24 | tc_bits<unsigned>(size));
}
TC_FN unsigned char tc_computed_e4m3fnuz_bits(float x) { return tc_fnuz_bits<3, 8, 0x43700000>(x); }
TC_FN float tc_computed_e4m3fnuz_value(unsigned char bits) { return tc_fnuz_value<3, 8>(bits); }
TC_FN unsigned char tc_computed_e5m2fnuz_bits(float x) { return tc_fnuz_bits<2, 16, 0x47600000>(x); }
TC_FN float tc_computed_e5m2fnuz_value(unsigned char bits) { return tc_fnuz_value<2, 16>(bits); }
TC_FN unsigned short tc_computed_bfloat16_bits(float x) {
  const unsigned bits = tc_bits<unsigned>(x);
  if (x != x) return (unsigned short)(bits >> 16 | 0x40);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
TC_FN float tc_bfloat16_value(unsigned short bits) { return tc_bits<float>(unsigned(bits) << 16); }
TC_FN float tc_computed_e5m2_value(unsigned char bits) { return tc_half_value((unsigned short)(bits << 8)); }

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

// -- types, whose other operations are by float: exact enough to round once -------------------------------------------

// Needs tc_round_to_odd: a double as a float that rounds once more as the double does.
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
#define TC_IN_FLOAT(NAME)                                                                          \
  TC_FN NAME operator+(NAME a, NAME b) { return NAME(float(a) + float(b)); }                       \
  TC_FN NAME operator-(NAME a, NAME b) { return NAME(float(a) - float(b)); }                       \
  TC_FN NAME operator*(NAME a, NAME b) { return NAME(float(a) * float(b)); }
// Needs tc_min and tc_max of float.
#define TC_EXTREMES_IN_FLOAT(NAME)                                                                 \
  TC_FN NAME tc_min(NAME a, NAME b) { return NAME(tc_min(float(a), float(b))); }                   \
  TC_FN NAME tc_max(NAME a, NAME b) { return NAME(tc_max(float(a), float(b))); }
