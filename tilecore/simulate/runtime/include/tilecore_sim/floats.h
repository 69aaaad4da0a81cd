// Narrow floats: every operation is carried out in float and rounds to the type, to nearest even.
#pragma once
#include <stdint.h>

#define TC_INLINE inline __attribute__((always_inline))

TC_INLINE uint32_t tc_float_bits(float value) { return __builtin_bit_cast(uint32_t, value); }
TC_INLINE float tc_bits_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }

// A double as a float whose last bit tells that something was cut off, so that rounding it once more is exact.
TC_INLINE float tc_round_to_odd(double value) {
  float near = static_cast<float>(value);
  const double back = near;
  if (back == value || value != value) return near;
  uint32_t bits = tc_float_bits(near);
  if ((back > value) == (value > 0)) --bits;  // towards zero
  return tc_bits_float(bits | 1);
}

TC_INLINE uint16_t tc_float_to_half(float value) {
  const uint32_t all = tc_float_bits(value), sign = (all >> 16) & 0x8000;
  uint32_t bits = all & 0x7fffffff;
  if (bits >= 0x47800000) return sign | (bits > 0x7f800000 ? 0x7e00 : 0x7c00);
  if (bits < 0x38800000) return sign | (tc_float_bits(tc_bits_float(bits) + 0.5f) - 0x3f000000);
  bits += 0xc8000fff + ((bits >> 13) & 1);
  return sign | (bits >> 13);
}
TC_INLINE float tc_half_to_float(uint16_t half) {
  const uint32_t sign = uint32_t(half & 0x8000) << 16, rest = half & 0x7fff;
  const uint32_t bits = tc_float_bits(tc_bits_float(rest << 13) * 0x1p112f);
  return tc_bits_float(sign | (rest >= 0x7c00 ? bits | 0x7f800000 : bits));
}

TC_INLINE uint16_t tc_float_to_bfloat16(float value) {
  const uint32_t bits = tc_float_bits(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >> 16) | 0x40;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}
TC_INLINE float tc_bfloat16_to_float(uint16_t value) { return tc_bits_float(uint32_t(value) << 16); }

TC_INLINE uint8_t tc_float_to_e4m3(float value) {
  const uint32_t all = tc_float_bits(value), sign = (all >> 24) & 0x80;
  uint32_t bits = all & 0x7fffffff;
  if (bits > 0x7f800000) return sign | 0x7f;
  if (bits >= 0x43e00000) return sign | 0x7e;  // 448
  if (bits < 0x3c800000) return sign | (tc_float_bits(tc_bits_float(bits) + 0x1p14f) - 0x46800000);
  bits += 0x7ffff + ((bits >> 20) & 1);
  return sign | ((bits >> 20) - (120 << 3));
}
TC_INLINE float tc_e4m3_to_float(uint8_t value) {
  const uint32_t sign = uint32_t(value & 0x80) << 24, rest = value & 0x7f;
  if (rest == 0x7f) return tc_bits_float(sign | 0x7fc00000);
  return tc_bits_float(sign | tc_float_bits(tc_bits_float(rest << 20) * 0x1p120f));
}

TC_INLINE uint8_t tc_float_to_e5m2(float value) {
  const uint32_t all = tc_float_bits(value), sign = (all >> 24) & 0x80;
  uint32_t bits = all & 0x7fffffff;
  if (bits > 0x7f800000) return sign | 0x7f;
  if (bits >= 0x47600000) return sign | 0x7b;  // 57344
  if (bits < 0x38800000) return sign | (tc_float_bits(tc_bits_float(bits) + 0x1p7f) - 0x43000000);
  bits += 0xfffff + ((bits >> 21) & 1);
  return sign | ((bits >> 21) - (112 << 2));
}
TC_INLINE float tc_e5m2_to_float(uint8_t value) {
  const uint32_t sign = uint32_t(value & 0x80) << 24, rest = value & 0x7f;
  const uint32_t bits = tc_float_bits(tc_bits_float(rest << 21) * 0x1p112f);
  return tc_bits_float(sign | (rest >= 0x7c ? bits | 0x7f800000 : bits));
}

// OCP microscaling formats 1.0, 5.3.3, in the lower half of a byte. NaN becomes 6.
TC_INLINE uint8_t tc_float_to_e2m1(float value) {
  const uint32_t all = tc_float_bits(value), sign = (all >> 28) & 8;
  uint32_t bits = all & 0x7fffffff;
  if (bits > 0x7f800000) return 7;
  if (bits >= 0x40c00000) return sign | 7;  // 6
  if (bits < 0x3f800000) return sign | (tc_float_bits(tc_bits_float(bits) + 0x1p22f) - 0x4a800000);
  bits += 0x1fffff + ((bits >> 22) & 1);
  return sign | ((bits >> 22) - (126 << 1));
}
TC_INLINE float tc_e2m1_to_float(uint8_t value) {
  const uint32_t sign = uint32_t(value & 8) << 28, rest = value & 7;
  return tc_bits_float(sign | tc_float_bits(tc_bits_float(rest << 22) * 0x1p126f));
}

// float32 with 10 bits of fraction.
TC_INLINE float tc_round_tf32(float value) {
  const uint32_t bits = tc_float_bits(value);
  if ((bits & 0x7f800000) == 0x7f800000) return value;
  return tc_bits_float((bits + 0xfff + ((bits >> 13) & 1)) & ~uint32_t(0x1fff));
}

#define TC_NARROW_OPERATOR(NAME, OP)                                                \
  TC_INLINE NAME operator OP(NAME a, NAME b) { return NAME(float(a) OP float(b)); } \
  TC_INLINE NAME& operator OP## = (NAME & a, NAME b) { return a = a OP b; }
#define TC_NARROW_COMPARISON(NAME, OP) \
  TC_INLINE bool operator OP(NAME a, NAME b) { return float(a) OP float(b); }

#define TC_NARROW_FLOAT(NAME, BITS, FROM, TO)                                                                    \
  struct NAME {                                                                                                  \
    BITS bits;                                                                                                   \
    NAME() = default;                                                                                            \
    TC_INLINE explicit NAME(float value) : bits(FROM(value)) {}                                                  \
    TC_INLINE explicit NAME(double value) : bits(FROM(tc_round_to_odd(value))) {}                                \
    TC_INLINE explicit NAME(int value) : NAME(double(value)) {}                                                  \
    TC_INLINE explicit NAME(unsigned value) : NAME(double(value)) {}                                             \
    TC_INLINE explicit NAME(long value) : NAME(double(value)) {}                                                 \
    TC_INLINE explicit NAME(unsigned long value) : NAME(double(value)) {}                                        \
    TC_INLINE explicit NAME(long long value) : NAME(double(value)) {}                                            \
    TC_INLINE explicit NAME(unsigned long long value) : NAME(double(value)) {}                                   \
    TC_INLINE explicit NAME(bool value) : NAME(value ? 1.0f : 0.0f) {}                                           \
    TC_INLINE explicit operator float() const { return TO(bits); }                                               \
    TC_INLINE explicit operator double() const { return TO(bits); }                                              \
    TC_INLINE explicit operator bool() const { return TO(bits) != 0.0f; }                                        \
    TC_INLINE explicit operator signed char() const { return static_cast<signed char>(TO(bits)); }               \
    TC_INLINE explicit operator unsigned char() const { return static_cast<unsigned char>(TO(bits)); }           \
    TC_INLINE explicit operator short() const { return static_cast<short>(TO(bits)); }                           \
    TC_INLINE explicit operator unsigned short() const { return static_cast<unsigned short>(TO(bits)); }         \
    TC_INLINE explicit operator int() const { return static_cast<int>(TO(bits)); }                               \
    TC_INLINE explicit operator unsigned() const { return static_cast<unsigned>(TO(bits)); }                     \
    TC_INLINE explicit operator long() const { return static_cast<long>(TO(bits)); }                             \
    TC_INLINE explicit operator unsigned long() const { return static_cast<unsigned long>(TO(bits)); }           \
    TC_INLINE explicit operator long long() const { return static_cast<long long>(TO(bits)); }                   \
    TC_INLINE explicit operator unsigned long long() const { return static_cast<unsigned long long>(TO(bits)); } \
    static TC_INLINE NAME from_bits(BITS bits) {                                                                 \
      NAME made;                                                                                                 \
      made.bits = bits;                                                                                          \
      return made;                                                                                               \
    }                                                                                                            \
  };                                                                                                             \
  TC_NARROW_OPERATOR(NAME, +)                                                                                    \
  TC_NARROW_OPERATOR(NAME, -)                                                                                    \
  TC_NARROW_OPERATOR(NAME, *)                                                                                    \
  TC_NARROW_OPERATOR(NAME, /)                                                                                    \
  TC_INLINE NAME operator-(NAME a) { return NAME::from_bits(a.bits ^ FROM(-0.0f)); }                         \
  TC_NARROW_COMPARISON(NAME, ==)                                                                                 \
  TC_NARROW_COMPARISON(NAME, !=)                                                                                 \
  TC_NARROW_COMPARISON(NAME, <)                                                                                  \
  TC_NARROW_COMPARISON(NAME, <=)                                                                                 \
  TC_NARROW_COMPARISON(NAME, >)                                                                                  \
  TC_NARROW_COMPARISON(NAME, >=)

TC_NARROW_FLOAT(tc_half, uint16_t, tc_float_to_half, tc_half_to_float)
TC_NARROW_FLOAT(tc_bfloat16, uint16_t, tc_float_to_bfloat16, tc_bfloat16_to_float)
TC_NARROW_FLOAT(tc_fp8_e4m3, uint8_t, tc_float_to_e4m3, tc_e4m3_to_float)
TC_NARROW_FLOAT(tc_fp8_e5m2, uint8_t, tc_float_to_e5m2, tc_e5m2_to_float)
TC_NARROW_FLOAT(tc_fp4_e2m1, uint8_t, tc_float_to_e2m1, tc_e2m1_to_float)

#undef TC_NARROW_FLOAT
#undef TC_NARROW_OPERATOR
#undef TC_NARROW_COMPARISON
