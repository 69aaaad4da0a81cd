// Integers, and functions of floats by OpenCL's built-in ones.

#define tc_bits_float64(x) (as_double(tc_word(x)))
#define tc_bits_float32(x) (as_float(tc_word(x)))
#define tc_bits_tfloat32(x) (as_float(tc_word(x)))
#define tc_bits_float16(x) ((tc_half){tc_word(x)})
#define tc_bits_bfloat16(x) ((tc_bfloat16){tc_word(x)})
#define tc_bits_float8_e4m3fn(x) ((tc_fp8_e4m3){tc_word(x)})
#define tc_bits_float8_e5m2(x) ((tc_fp8_e5m2){tc_word(x)})
#define tc_bits_int8(x) (as_char(tc_word(x)))
#define tc_bits_int16(x) (as_short(tc_word(x)))
#define tc_bits_int32(x) (as_int(tc_word(x)))
#define tc_bits_int64(x) (as_long(tc_word(x)))
#define tc_bits_uint8(x) (as_uchar(tc_word(x)))
#define tc_bits_uint16(x) (as_ushort(tc_word(x)))
#define tc_bits_uint32(x) (as_uint(tc_word(x)))
#define tc_bits_uint64(x) (as_ulong(tc_word(x)))
#define tc_bits_bool(x) (as_uchar(tc_word(x)))

// What is divided by in place of b: no processor may be asked to divide by 0. The result then means nothing.
#define TC_INTEGER(T, UNSIGNED)                                                                     \
  TC_FN T tc_divisor(T b) { return b == 0 ? 1 : b; }                                                \
  TC_FN T tc_min(T a, T b) { return min(a, b); }                                                    \
  TC_FN T tc_max(T a, T b) { return max(a, b); }                                                    \
  TC_FN T tc_sum(T a, T b) { return (T)((UNSIGNED)a + (UNSIGNED)b); }                               \
  TC_FN T tc_larger(T a, T b) { return max(a, b); }                                                 \
  TC_FN T tc_smaller(T a, T b) { return min(a, b); }
TC_INTEGER(int, uint)
TC_INTEGER(uint, uint)
TC_INTEGER(long, ulong)
TC_INTEGER(ulong, ulong)
#undef TC_INTEGER

// Division towards zero and rounded down, with their remainders. The lowest number by -1 is itself, with remainder 0.
#define TC_SIGNED(T, UNSIGNED)                                                                      \
  TC_FN T tc_abs(T x) { return x < 0 ? (T)(0 - (UNSIGNED)x) : x; }                                  \
  TC_FN T tc_div(T a, T b) { return b == -1 ? (T)(0 - (UNSIGNED)a) : a / tc_divisor(b); }           \
  TC_FN T tc_mod(T a, T b) { return b == -1 ? 0 : a % tc_divisor(b); }                              \
  TC_FN T tc_floor_div(T a, T b) {                                                                  \
    const T quotient = tc_div(a, b), rest = tc_mod(a, b);                                           \
    return quotient - (rest != 0 && (rest ^ b) < 0);                                                \
  }                                                                                                 \
  TC_FN T tc_floor_mod(T a, T b) {                                                                  \
    const T rest = tc_mod(a, b);                                                                    \
    return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;                                           \
  }
TC_SIGNED(int, uint)
TC_SIGNED(long, ulong)
#undef TC_SIGNED

#define TC_COUNTS(T)                                         \
  TC_FN int tc_popcount(T x) { return (int)popcount(x); }    \
  TC_FN int tc_clz(T x) { return (int)clz(x); }
TC_COUNTS(uint)
TC_COUNTS(ulong)
#undef TC_COUNTS

// Towards zero, out of range the nearest limit, NaN 0. ABOVE: the first power of two that is too large.
#define TC_TRUNCATE(NAME, T, F, LOW, HIGH, ABOVE)            \
  TC_FN T tc_truncate_##NAME(F x) {                          \
    if (!(x > (F)(LOW))) return x != x ? (T)0 : (T)(LOW);    \
    return x >= (F)ABOVE ? (T)(HIGH) : (T)x;                 \
  }
#define TC_TRUNCATES(F)                                          \
  TC_TRUNCATE(int8, char, F, CHAR_MIN, CHAR_MAX, 0x1p7f)         \
  TC_TRUNCATE(int16, short, F, SHRT_MIN, SHRT_MAX, 0x1p15f)      \
  TC_TRUNCATE(int32, int, F, INT_MIN, INT_MAX, 0x1p31f)          \
  TC_TRUNCATE(int64, long, F, LONG_MIN, LONG_MAX, 0x1p63f)       \
  TC_TRUNCATE(uint8, uchar, F, 0, UCHAR_MAX, 0x1p8f)             \
  TC_TRUNCATE(uint16, ushort, F, 0, USHRT_MAX, 0x1p16f)          \
  TC_TRUNCATE(uint32, uint, F, 0, UINT_MAX, 0x1p32f)             \
  TC_TRUNCATE(uint64, ulong, F, 0, ULONG_MAX, 0x1p64f)

#define TC_MATH(F, NAME, CALL) TC_FN F tc_##NAME(F x) { return CALL(x); }
#define TC_MATH2(F, NAME, CALL) TC_FN F tc_##NAME(F x, F y) { return CALL(x, y); }
#define TC_FLOAT(F)                                                                                           \
  TC_MATH(F, exp, exp) TC_MATH(F, exp2, exp2) TC_MATH(F, exp10, exp10) TC_MATH(F, log, log)                   \
  TC_MATH(F, log2, log2) TC_MATH(F, log10, log10) TC_MATH(F, log1p, log1p) TC_MATH(F, sin, sin)               \
  TC_MATH(F, cos, cos) TC_MATH(F, tan, tan) TC_MATH(F, asin, asin) TC_MATH(F, acos, acos)                     \
  TC_MATH(F, atan, atan) TC_MATH(F, sinh, sinh) TC_MATH(F, cosh, cosh) TC_MATH(F, tanh, tanh)                 \
  TC_MATH(F, asinh, asinh) TC_MATH(F, acosh, acosh) TC_MATH(F, atanh, atanh) TC_MATH(F, erf, erf)             \
  TC_MATH(F, sqrt, sqrt) TC_MATH(F, rsqrt, rsqrt) TC_MATH(F, floor, floor) TC_MATH(F, ceil, ceil)             \
  TC_MATH(F, trunc, trunc) TC_MATH(F, nearbyint, rint) TC_MATH(F, abs, fabs)                                  \
  TC_MATH2(F, pow, pow) TC_MATH2(F, atan2, atan2) TC_MATH2(F, fmod, fmod) TC_MATH2(F, hypot, hypot)           \
  TC_MATH2(F, copysign, copysign) TC_MATH2(F, nextafter, nextafter)                                           \
  TC_MATH2(F, min, fmin) TC_MATH2(F, max, fmax) TC_MATH2(F, smaller, fmin) TC_MATH2(F, larger, fmax)          \
  TC_FN F tc_sum(F a, F b) { return a + b; }                                                                  \
  TC_FN F tc_fma(F a, F b, F c) { return fma(a, b, c); }                                                      \
  TC_FN F tc_ldexp(F x, int power) { return ldexp(x, power); }                                                \
  TC_FN F tc_sigmoid(F x) { /* of a power that is at most 1: no overflow */                                   \
    const F power = exp(-fabs(x));                                                                            \
    return (x < 0 ? power : 1) / (1 + power);                                                                 \
  }                                                                                                           \
  TC_FN F tc_floor_mod(F a, F b) { return a - floor(a / b) * b; }                                             \
  TC_FN int tc_isnan(F x) { return isnan(x) != 0; }                                                           \
  TC_FN int tc_isinf(F x) { return isinf(x) != 0; }                                                           \
  TC_FN int tc_isfinite(F x) { return isfinite(x) != 0; }                                                     \
  TC_TRUNCATES(F)
TC_FLOAT(float)
#ifdef cl_khr_fp64
TC_FLOAT(double)
#endif
#undef TC_FLOAT
#undef TC_TRUNCATES
#undef TC_TRUNCATE
#undef TC_MATH
#undef TC_MATH2

// Operations with a rounding of their own: never part of a fused multiply-add.
#define TC_ROUNDED(F)                                                                                \
  TC_FN F tc_rounded(F x) { return x; }                                                              \
  TC_FN F tc_rounded_add(F a, F b) { return a + b; }                                                 \
  TC_FN F tc_rounded_sub(F a, F b) { return a - b; }                                                 \
  TC_FN F tc_rounded_mul(F a, F b) { return a * b; }
TC_ROUNDED(float)
#ifdef cl_khr_fp64
TC_ROUNDED(double)
#endif
#undef TC_ROUNDED
TC_FN float tc_quotient(float a, float b) { return a / b; }
