/* Narrow floats: structs without operators, converted by name. Conversions from float round to nearest even.
 * binary16 and bfloat16: IEEE 754; e4m3, e5m2: OCP 8-bit floating point 1.0, saturating; e2m1: OCP microscaling 1.0. */
#ifndef TILECORE_TPU_FLOATS_H
#define TILECORE_TPU_FLOATS_H

/* The bits of a value as another type of the same size. */
#define TC_BITS(T, value)                                                     \
  ({                                                                          \
    __auto_type from_ = (value);                                              \
    T to_;                                                                    \
    _Static_assert(sizeof(to_) == sizeof(from_), "the sizes differ");         \
    memcpy(&to_, &from_, sizeof(to_));                                        \
    to_;                                                                      \
  })
#define TC_INFINITY (__builtin_inff())
#define TC_NAN (__builtin_nanf(""))

typedef struct { uint16_t bits; } tc_half;
typedef struct { uint16_t bits; } tc_bfloat16;
typedef struct { uint8_t bits; } tc_fp8_e4m3;
typedef struct { uint8_t bits; } tc_fp8_e5m2;
typedef struct { uint8_t bits; } tc_fp4_e2m1; /* in the lower half of a byte */

#define tc_half_bits(value) ((tc_half){value})
#define tc_bfloat16_bits(value) ((tc_bfloat16){value})
#define tc_fp8_e4m3_bits(value) ((tc_fp8_e4m3){value})
#define tc_fp8_e5m2_bits(value) ((tc_fp8_e5m2){value})
#define tc_fp4_e2m1_bits(value) ((tc_fp4_e2m1){value})

/* A narrow format with `fraction` bits of fraction whose least normal number is 2^(1 - bias). The magnitude of a
 * float, given by its bits and below the limit of the format, rounded to it. Below the normals, adding the power of
 * two whose last place is the least subnormal rounds; above, it is done on the bits. */
TC_FN uint32_t tc_rounded_bits(uint32_t magnitude, int fraction, int bias) {
  const int dropped = 23 - fraction;
  if (magnitude < (uint32_t)(128 - bias) << 23) {
    const uint32_t power = (uint32_t)(128 - bias + dropped) << 23;
    return TC_BITS(uint32_t, TC_BITS(float, magnitude) + TC_BITS(float, power)) - power;
  }
  magnitude += (1u << (dropped - 1)) - 1 + ((magnitude >> dropped) & 1);
  return (magnitude >> dropped) - ((uint32_t)(127 - bias) << fraction);
}
/* The float of such a magnitude; no subnormal float on the way, which a processor may take for 0 (that of the CModel). */
TC_FN float tc_scaled(uint32_t magnitude, int fraction, int bias) {
  if (magnitude >> fraction == 0) return (float)magnitude * TC_BITS(float, (uint32_t)(128 - bias - fraction) << 23);
  return TC_BITS(float, (magnitude << (23 - fraction)) + ((uint32_t)(127 - bias) << 23));
}

TC_FN tc_half tc_half_of(float value) {
  const uint32_t all = TC_BITS(uint32_t, value), magnitude = all & 0x7fffffff, sign = (all >> 16) & 0x8000;
  if (magnitude >= 0x47800000) return tc_half_bits((uint16_t)(sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00)));
  return tc_half_bits((uint16_t)(sign | tc_rounded_bits(magnitude, 10, 15)));
}
TC_FN float tc_half_single(tc_half value) {
  const uint32_t magnitude = value.bits & 0x7fff;
  const float made = tc_scaled(magnitude, 10, 15);
  const uint32_t bits = TC_BITS(uint32_t, made) | (magnitude >= 0x7c00 ? 0x7f800000 : 0);
  return TC_BITS(float, bits | (uint32_t)(value.bits & 0x8000) << 16);
}

TC_FN tc_bfloat16 tc_bfloat16_of(float value) {
  const uint32_t bits = TC_BITS(uint32_t, value);
  if ((bits & 0x7fffffff) > 0x7f800000) return tc_bfloat16_bits((uint16_t)(bits >> 16 | 0x40));
  return tc_bfloat16_bits((uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16));
}
TC_FN float tc_bfloat16_single(tc_bfloat16 value) { return TC_BITS(float, (uint32_t)value.bits << 16); }

TC_FN tc_fp8_e4m3 tc_fp8_e4m3_of(float value) {
  const uint32_t all = TC_BITS(uint32_t, value), magnitude = all & 0x7fffffff, sign = (all >> 24) & 0x80;
  if (magnitude > 0x7f800000) return tc_fp8_e4m3_bits((uint8_t)(sign | 0x7f));
  if (magnitude >= 0x43e00000) return tc_fp8_e4m3_bits((uint8_t)(sign | 0x7e)); /* 448 */
  return tc_fp8_e4m3_bits((uint8_t)(sign | tc_rounded_bits(magnitude, 3, 7)));
}
TC_FN float tc_fp8_e4m3_single(tc_fp8_e4m3 value) {
  const uint32_t magnitude = value.bits & 0x7f;
  const float made = magnitude == 0x7f ? TC_NAN : tc_scaled(magnitude, 3, 7);
  return TC_BITS(float, TC_BITS(uint32_t, made) | (uint32_t)(value.bits & 0x80) << 24);
}

TC_FN tc_fp8_e5m2 tc_fp8_e5m2_of(float value) {
  const uint32_t all = TC_BITS(uint32_t, value), magnitude = all & 0x7fffffff, sign = (all >> 24) & 0x80;
  if (magnitude > 0x7f800000) return tc_fp8_e5m2_bits((uint8_t)(sign | 0x7f));
  if (magnitude >= 0x47600000) return tc_fp8_e5m2_bits((uint8_t)(sign | 0x7b)); /* 57344 */
  return tc_fp8_e5m2_bits((uint8_t)(sign | tc_rounded_bits(magnitude, 2, 15)));
}
TC_FN float tc_fp8_e5m2_single(tc_fp8_e5m2 value) {
  const uint32_t magnitude = value.bits & 0x7f;
  const float made = tc_scaled(magnitude, 2, 15);
  const uint32_t bits = TC_BITS(uint32_t, made) | (magnitude >= 0x7c ? 0x7f800000 : 0);
  return TC_BITS(float, bits | (uint32_t)(value.bits & 0x80) << 24);
}

TC_FN tc_fp4_e2m1 tc_fp4_e2m1_of(float value) { /* NaN becomes 6 */
  const uint32_t all = TC_BITS(uint32_t, value), magnitude = all & 0x7fffffff, sign = (all >> 28) & 8;
  if (magnitude > 0x7f800000) return tc_fp4_e2m1_bits(7);
  if (magnitude >= 0x40c00000) return tc_fp4_e2m1_bits((uint8_t)(sign | 7)); /* 6 */
  return tc_fp4_e2m1_bits((uint8_t)(sign | tc_rounded_bits(magnitude, 1, 1)));
}
TC_FN float tc_fp4_e2m1_single(tc_fp4_e2m1 value) {
  const float made = tc_scaled(value.bits & 7, 1, 1);
  return value.bits & 8 ? -made : made;
}

#define tc_single(value)                                                                                         \
  ({                                                                                                             \
    __auto_type narrow_ = (value);                                                                               \
    _Generic(narrow_, tc_half: tc_half_single, tc_bfloat16: tc_bfloat16_single, tc_fp8_e4m3: tc_fp8_e4m3_single, \
             tc_fp8_e5m2: tc_fp8_e5m2_single, tc_fp4_e2m1: tc_fp4_e2m1_single)(narrow_);                          \
  })

/* A double as a float whose last bit tells that something was cut off: rounding it once more is exact. */
TC_FN float tc_rounded_to_odd(double value) {
  const float near = (float)value;
  const double back = near;
  if (back == value || value != value) return near;
  uint32_t bits = TC_BITS(uint32_t, near);
  if ((back > value) == (value > 0)) --bits; /* towards zero */
  return TC_BITS(float, bits | 1);
}
/* From any other number, rounded once. */
#define TC_NARROW_FROM(to, value)                                                    \
  ({                                                                                 \
    __auto_type wide_ = (value);                                                     \
    to(_Generic(wide_, float: wide_, default: tc_rounded_to_odd((double)wide_)));    \
  })
#define tc_half_from(value) TC_NARROW_FROM(tc_half_of, value)
#define tc_bfloat16_from(value) TC_NARROW_FROM(tc_bfloat16_of, value)
#define tc_fp8_e4m3_from(value) TC_NARROW_FROM(tc_fp8_e4m3_of, value)
#define tc_fp8_e5m2_from(value) TC_NARROW_FROM(tc_fp8_e5m2_of, value)
#define tc_fp4_e2m1_from(value) TC_NARROW_FROM(tc_fp4_e2m1_of, value)

/* The functions that are not computed in float. */
TC_FN tc_half tc_half_fma(tc_half a, tc_half b, tc_half c) {
  const double product = (double)tc_half_single(a) * tc_half_single(b);
  return tc_half_from(product + tc_half_single(c));
}
TC_FN tc_bfloat16 tc_bfloat16_fma(tc_bfloat16 a, tc_bfloat16 b, tc_bfloat16 c) {
  return tc_bfloat16_from(fma(tc_bfloat16_single(a), tc_bfloat16_single(b), tc_bfloat16_single(c)));
}
#define tc_fma(a, b, c)                                                                                       \
  ({                                                                                                          \
    __auto_type fma_a_ = (a);                                                                                 \
    __auto_type fma_b_ = (b);                                                                                 \
    __auto_type fma_c_ = (c);                                                                                 \
    _Generic(fma_a_, tc_half: tc_half_fma, tc_bfloat16: tc_bfloat16_fma)(fma_a_, fma_b_, fma_c_);             \
  })

/* The next value from x in the direction of y. */
#define TC_NEXTAFTER(T, BITS, SIGN)                                                      \
  TC_FN T T##_nextafter(T x, T y) {                                                      \
    const float a = T##_single(x), b = T##_single(y);                                    \
    if (a != a || b != b) return T##_of(a + b);                                          \
    if (a == b) return y;                                                                \
    if (a == 0.0f) return (T){(BITS)(b > 0.0f ? 1 : (SIGN) | 1)};                        \
    return (T){(BITS)(x.bits + ((b > a) == (a > 0.0f) ? 1 : -1))};                       \
  }
TC_NEXTAFTER(tc_half, uint16_t, 0x8000)
TC_NEXTAFTER(tc_bfloat16, uint16_t, 0x8000)
TC_NEXTAFTER(tc_fp8_e4m3, uint8_t, 0x80)
TC_NEXTAFTER(tc_fp8_e5m2, uint8_t, 0x80)
TC_NEXTAFTER(tc_fp4_e2m1, uint8_t, 0x8)
#undef TC_NEXTAFTER
#define tc_nextafter(x, y)                                                                                         \
  ({                                                                                                               \
    __auto_type next_x_ = (x);                                                                                     \
    __auto_type next_y_ = (y);                                                                                     \
    _Generic(next_x_, tc_half: tc_half_nextafter, tc_bfloat16: tc_bfloat16_nextafter,                              \
             tc_fp8_e4m3: tc_fp8_e4m3_nextafter, tc_fp8_e5m2: tc_fp8_e5m2_nextafter,                               \
             tc_fp4_e2m1: tc_fp4_e2m1_nextafter)(next_x_, next_y_);                                                \
  })

#endif
