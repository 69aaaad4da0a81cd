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

// The types of at most 8 bits, in the lower bits of a byte: name, bits of the exponent and of the fraction, whether the
// greatest exponent stands for infinity and NaN alone, and whether there is a NaN, which is the greatest pattern. A fifth
// `true`: there is no -0, whose pattern is the only NaN, and the exponent's bias is greater by 1.
#define TC_SMALL_FLOATS(ROW)             \
  ROW(tc_fp8_e4m3, 4, 3, false, true)    \
  ROW(tc_fp8_e5m2, 5, 2, true, true)     \
  ROW(tc_fp8_e4m3fnuz, 4, 3, false, true, true) \
  ROW(tc_fp8_e5m2fnuz, 5, 2, false, true, true) \
  ROW(tc_fp4_e2m1, 2, 1, false, false)

template <int EXPONENT, int FRACTION, bool HAS_INFINITY, bool HAS_NAN, bool UNSIGNED_ZERO = false>
struct tc_small_format {
  static constexpr int bias = (1 << (EXPONENT - 1)) - 1 + UNSIGNED_ZERO, cut = 23 - FRACTION;
  static constexpr uint32_t sign = 1u << (EXPONENT + FRACTION);
  static constexpr uint32_t largest =
      HAS_INFINITY ? sign - (1u << FRACTION) - 1 : sign - 1 - (HAS_NAN && !UNSIGNED_ZERO);
  static constexpr uint32_t largest_float = (largest << cut) + (uint32_t(127 - bias) << 23);

  static TC_INLINE uint8_t from(float value) {
    if (!UNSIGNED_ZERO) return with_sign(value);
    const uint8_t bits = with_sign(value);
    return value != value ? sign : bits == sign ? 0 : bits;
  }
  // Saturates. NaN becomes the largest value where the type has none.
  static TC_INLINE uint8_t with_sign(float value) {
    const uint32_t all = tc_float_bits(value), negative = (all >> 31) * sign;
    uint32_t bits = all & 0x7fffffff;
    if (bits > 0x7f800000) return HAS_NAN ? negative | (sign - 1) : largest;
    if (bits >= largest_float) return negative | largest;
    if (bits < uint32_t(128 - bias) << 23) {  // a denormal: adding this aligns its last bit with the float's
      const uint32_t aligner = uint32_t(128 - bias + cut) << 23;
      return negative | (tc_float_bits(tc_bits_float(bits) + tc_bits_float(aligner)) - aligner);
    }
    bits += (1u << (cut - 1)) - 1 + ((bits >> cut) & 1);
    return negative | ((bits >> cut) - (uint32_t(127 - bias) << FRACTION));
  }
  static TC_INLINE float to(uint8_t value) {
    const uint32_t negative = uint32_t((value & sign) != 0) << 31, rest = value & (sign - 1);
    if (UNSIGNED_ZERO && value == sign) return tc_bits_float(0x7fc00000);
    if (HAS_NAN && !HAS_INFINITY && !UNSIGNED_ZERO && rest == sign - 1) return tc_bits_float(negative | 0x7fc00000);
    const float scale = tc_bits_float(uint32_t(254 - bias) << 23);
    const uint32_t bits = tc_float_bits(tc_bits_float(rest << cut) * scale);
    return tc_bits_float(negative | (HAS_INFINITY && rest > largest ? bits | 0x7f800000 : bits));
  }
};

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
  TC_INLINE NAME operator-(NAME a) {                                                                             \
    const BITS sign = FROM(-0.0f); /* 0 where there is no -0 */                                                  \
    return sign ? NAME::from_bits(a.bits ^ sign) : NAME(-TO(a.bits));                                            \
  }                                                                                                              \
  TC_NARROW_COMPARISON(NAME, ==)                                                                                 \
  TC_NARROW_COMPARISON(NAME, !=)                                                                                 \
  TC_NARROW_COMPARISON(NAME, <)                                                                                  \
  TC_NARROW_COMPARISON(NAME, <=)                                                                                 \
  TC_NARROW_COMPARISON(NAME, >)                                                                                  \
  TC_NARROW_COMPARISON(NAME, >=)

TC_NARROW_FLOAT(tc_half, uint16_t, tc_float_to_half, tc_half_to_float)
TC_NARROW_FLOAT(tc_bfloat16, uint16_t, tc_float_to_bfloat16, tc_bfloat16_to_float)
#define TC_SMALL_FLOAT(NAME, ...)                  \
  using NAME##_format = tc_small_format<__VA_ARGS__>; \
  TC_NARROW_FLOAT(NAME, uint8_t, NAME##_format::from, NAME##_format::to)
TC_SMALL_FLOATS(TC_SMALL_FLOAT)

#undef TC_SMALL_FLOAT
#undef TC_NARROW_FLOAT
#undef TC_NARROW_OPERATOR
#undef TC_NARROW_COMPARISON
