/* Integers and functions of floats. Macros take any type and evaluate an operand once. */
#ifndef TILECORE_TPU_NUMBERS_H
#define TILECORE_TPU_NUMBERS_H

/* Of floats the one that is not NaN. */
#define TC_EXTREME(a, b, worse)                          \
  ({                                                     \
    __auto_type a_ = (a);                                \
    __auto_type b_ = (b);                                \
    a_ != a_ || a_ worse b_ ? b_ : a_;                   \
  })
#define tc_min(a, b) TC_EXTREME(a, b, >)
#define tc_max(a, b) TC_EXTREME(a, b, <)
#define tc_abs(a)                \
  ({                             \
    __auto_type a_ = (a);        \
    a_ < 0 ? -a_ : a_;           \
  })

/* What is divided by in place of b: nothing may be divided by 0. The result then means nothing. */
#define tc_divisor(b)            \
  ({                             \
    __auto_type b_ = (b);        \
    b_ == 0 ? 1 : b_;            \
  })

/* Division towards zero and rounded down, each with its remainder; tc_floor_mod has the sign of the divisor. The lowest
 * number by -1 wraps to itself, with the remainder 0; by 0 the result means nothing. */
#define TC_DIVISION(SUFFIX, T, UNSIGNED)                                                                          \
  TC_FN T tc_div_##SUFFIX(T a, T b) { return b == -1 ? (T)(0 - (UNSIGNED)a) : a / (b == 0 ? 1 : b); }              \
  TC_FN T tc_mod_##SUFFIX(T a, T b) { return b == -1 ? 0 : a % (b == 0 ? 1 : b); }                                 \
  TC_FN T tc_floor_div_##SUFFIX(T a, T b) {                                                                       \
    const T quotient = tc_div_##SUFFIX(a, b), rest = tc_mod_##SUFFIX(a, b);                                        \
    return rest != 0 && (rest ^ b) < 0 ? quotient - 1 : quotient;                                                 \
  }                                                                                                               \
  TC_FN T tc_floor_mod_##SUFFIX(T a, T b) {                                                                       \
    const T rest = tc_mod_##SUFFIX(a, b);                                                                         \
    return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;                                                         \
  }
TC_DIVISION(int32, int, unsigned)
TC_DIVISION(int64, long long, unsigned long long)
#undef TC_DIVISION
TC_FN float tc_floor_mod_float32(float a, float b) {
  const float rest = fmodf(a, b);
  return rest != 0.0f && (rest < 0.0f) != (b < 0.0f) ? rest + b : rest;
}
TC_FN double tc_floor_mod_float64(double a, double b) {
  const double rest = fmod(a, b);
  return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}
/* of int, long long, and of smaller ones as int */
#define TC_BY_SIZE(name, a, b)                                                                               \
  ({                                                                                                         \
    __auto_type a_ = (a);                                                                                    \
    __auto_type b_ = (b);                                                                                    \
    _Generic(a_ + b_, int: name##_int32, long: name##_int64, long long: name##_int64)(a_, b_);               \
  })
#define tc_div(a, b) TC_BY_SIZE(tc_div, a, b)
#define tc_mod(a, b) TC_BY_SIZE(tc_mod, a, b)
#define tc_floor_div(a, b) TC_BY_SIZE(tc_floor_div, a, b)
#define tc_floor_mod(a, b)                                                                                 \
  ({                                                                                                       \
    __auto_type a_ = (a);                                                                                  \
    __auto_type b_ = (b);                                                                                  \
    _Generic(a_ + b_, float: tc_floor_mod_float32, double: tc_floor_mod_float64, int: tc_floor_mod_int32,  \
             long: tc_floor_mod_int64, long long: tc_floor_mod_int64)(a_, b_);                             \
  })

/* A float as an integer: towards zero, out of range the nearest limit, NaN 0. ABOVE: the first power of two beyond. */
#define TC_TRUNCATE(NAME, T, LOW, HIGH, ABOVE)                    \
  TC_FN T tc_truncate_##NAME(double x) {                          \
    if (!(x >= (double)(LOW))) return x != x ? (T)0 : (T)(LOW);   \
    return x >= (ABOVE) ? (T)(HIGH) : (T)x;                       \
  }
TC_TRUNCATE(int8, signed char, INT8_MIN, INT8_MAX, 0x1p7)
TC_TRUNCATE(int16, short, INT16_MIN, INT16_MAX, 0x1p15)
TC_TRUNCATE(int32, int, INT32_MIN, INT32_MAX, 0x1p31)
TC_TRUNCATE(int64, long long, INT64_MIN, INT64_MAX, 0x1p63)
TC_TRUNCATE(uint8, unsigned char, 0, UINT8_MAX, 0x1p8)
TC_TRUNCATE(uint16, unsigned short, 0, UINT16_MAX, 0x1p16)
TC_TRUNCATE(uint32, unsigned, 0, UINT32_MAX, 0x1p32)
TC_TRUNCATE(uint64, unsigned long long, 0, UINT64_MAX, 0x1p64)
#undef TC_TRUNCATE

#define tc_bits_float64(x) TC_BITS(double, x)
#define tc_bits_float32(x) TC_BITS(float, x)
#define tc_bits_tfloat32(x) TC_BITS(float, x)
#define tc_bits_float16(x) TC_BITS(tc_half, x)
#define tc_bits_bfloat16(x) TC_BITS(tc_bfloat16, x)
#define tc_bits_float8_e4m3fn(x) TC_BITS(tc_fp8_e4m3, x)
#define tc_bits_float8_e5m2(x) TC_BITS(tc_fp8_e5m2, x)
#define tc_bits_int8(x) TC_BITS(signed char, x)
#define tc_bits_int16(x) TC_BITS(short, x)
#define tc_bits_int32(x) TC_BITS(int, x)
#define tc_bits_int64(x) TC_BITS(long long, x)
#define tc_bits_uint8(x) TC_BITS(unsigned char, x)
#define tc_bits_uint16(x) TC_BITS(unsigned short, x)
#define tc_bits_uint32(x) TC_BITS(unsigned, x)
#define tc_bits_uint64(x) TC_BITS(unsigned long long, x)
#define tc_bits_bool(x) TC_BITS(bool, x)

#define tc_isnan(x) (__builtin_isnan(x) != 0)
#define tc_isinf(x) (__builtin_isinf(x) != 0)
#define tc_isfinite(x) (__builtin_isfinite(x) != 0)

TC_FN float tc_exp10f(float x) { return powf(10.0f, x); }
TC_FN double tc_exp10(double x) { return pow(10.0, x); }
TC_FN float tc_rsqrtf(float x) { return 1.0f / sqrtf(x); }
TC_FN double tc_rsqrt(double x) { return 1.0 / sqrt(x); }
TC_FN float tc_sigmoidf(float x) { /* exp of what is not positive: no overflow, no 1 - 1 */
  const float power = expf(-fabsf(x));
  return (x < 0.0f ? power : 1.0f) / (1.0f + power);
}
TC_FN double tc_sigmoid(double x) { /* exp of what is not positive: no overflow, no 1 - 1 */
  const double power = exp(-fabs(x));
  return (x < 0.0 ? power : 1.0) / (1.0 + power);
}

/* Bits of 32 or 64 bits; of smaller numbers as 32. */
#define tc_popcount(x)                                                                               \
  ({                                                                                                 \
    __auto_type x_ = (x);                                                                            \
    sizeof(x_) == 8 ? __builtin_popcountll((unsigned long long)x_) : __builtin_popcount((unsigned)x_); \
  })
#define tc_clz(x)                                                                                    \
  ({                                                                                                 \
    __auto_type x_ = (x);                                                                            \
    x_ == 0 ? (int)(8 * sizeof(x_))                                                                  \
            : sizeof(x_) == 8 ? __builtin_clzll((unsigned long long)x_) : __builtin_clz((unsigned)x_); \
  })

/* The operation as it stands: not merged with those around it. */
TC_FN float tc_rounded_float32(float x) {
  __asm__("" : "+m"(x));
  return x;
}
TC_FN double tc_rounded_float64(double x) {
  __asm__("" : "+m"(x));
  return x;
}
#define tc_rounded(x)                                                                   \
  ({                                                                                    \
    __auto_type x_ = (x);                                                               \
    _Generic(x_, float: tc_rounded_float32, double: tc_rounded_float64)(x_);            \
  })
#define tc_rounded_add(a, b) tc_rounded((a) + (b))
#define tc_rounded_sub(a, b) tc_rounded((a) - (b))
#define tc_rounded_mul(a, b) tc_rounded((a) * (b))

#endif
