// Narrow floats: structs without operators. Conversions to them round once, to nearest even; the 8-bit ones saturate.

typedef struct __attribute__((may_alias)) { ushort bits; } tc_half;
typedef struct __attribute__((may_alias)) { ushort bits; } tc_bfloat16;
typedef struct __attribute__((may_alias)) { uchar bits; } tc_fp8_e4m3;
typedef struct __attribute__((may_alias)) { uchar bits; } tc_fp8_e5m2;
typedef struct __attribute__((may_alias)) { uchar bits; } tc_fp4_e2m1;  // in the lower half of a byte

#define tc_half_bits(value) ((tc_half){value})
#define tc_bfloat16_bits(value) ((tc_bfloat16){value})
#define tc_fp8_e4m3_bits(value) ((tc_fp8_e4m3){value})
#define tc_fp8_e5m2_bits(value) ((tc_fp8_e5m2){value})
#define tc_fp4_e2m1_bits(value) ((tc_fp4_e2m1){value})

// The bits of a value as a word of its size.
#define TC_WORD(T, WORD) TC_FN WORD tc_word(T x) { return as_##WORD(x); }
#define TC_STRUCT_WORD(T, WORD) TC_FN WORD tc_word(T x) { return x.bits; }
TC_WORD(char, uchar) TC_WORD(uchar, uchar) TC_WORD(short, ushort) TC_WORD(ushort, ushort)
TC_WORD(int, uint) TC_WORD(uint, uint) TC_WORD(float, uint) TC_WORD(long, ulong) TC_WORD(ulong, ulong)
#ifdef cl_khr_fp64
TC_WORD(double, ulong)
#endif
TC_STRUCT_WORD(tc_half, ushort) TC_STRUCT_WORD(tc_bfloat16, ushort)
TC_STRUCT_WORD(tc_fp8_e4m3, uchar) TC_STRUCT_WORD(tc_fp8_e5m2, uchar) TC_STRUCT_WORD(tc_fp4_e2m1, uchar)
#undef TC_WORD
#undef TC_STRUCT_WORD
#define TC_INFINITY (as_float(0x7f800000u))
#define TC_NAN (as_float(0x7fc00000u))

// The size of a float, by its bits, rounded to a format with so many bits of fraction. Below the format's normal
// numbers the sum with a power of two, whose last place is the format's smallest number, does the rounding.
TC_FN uint tc_narrow_size(uint size, int fraction, int bias) {
  const int cut = 23 - fraction;
  if (size < (uint)(128 - bias) << 23) {
    const uint power = (uint)(128 - bias + cut) << 23;
    return as_uint(as_float(size) + as_float(power)) - power;
  }
  size += (1u << (cut - 1)) - 1 + (size >> cut & 1);
  return (size >> cut) - ((uint)(127 - bias) << fraction);
}
TC_FN float tc_wide_size(uint size, int fraction, int bias) {
  if (size >> fraction == 0) return (float)size * as_float((uint)(128 - bias - fraction) << 23);
  return as_float((size << (23 - fraction)) + ((uint)(127 - bias) << 23));
}

// LIMIT: from which size on a float becomes LARGEST; NAN_BITS: what NaN becomes. SIGN: the place of the sign.
#define TC_NARROW(NAME, BITS, FRACTION, BIAS, SIGN, LIMIT, LARGEST, NAN_BITS, WIDE)                         \
  TC_FN NAME NAME##_from(float x) {                                                                         \
    const uint all = as_uint(x), size = all & 0x7fffffffu;                                                  \
    const uint sign = (all >> 31) << SIGN;                                                                  \
    if (size > 0x7f800000u) return (NAME){(BITS)(NAN_BITS)};                                                \
    return (NAME){(BITS)(sign | (size >= LIMIT ? LARGEST : tc_narrow_size(size, FRACTION, BIAS)))};         \
  }                                                                                                         \
  TC_FN float tc_single(NAME x) {                                                                           \
    const uint size = x.bits & ((1u << SIGN) - 1);                                                          \
    return as_float(as_uint(WIDE) | ((uint)x.bits >> SIGN & 1) << 31);                                      \
  }                                                                                                         \
  TC_NARROW_FROM_OTHERS(NAME)                                                                               \
  TC_FN NAME tc_nextafter(NAME x, NAME y) {                                                                 \
    const float a = tc_single(x), b = tc_single(y);                                                         \
    if (a != a || b != b) return NAME##_from(a + b);                                                        \
    if (a == b) return y;                                                                                   \
    if (a == 0.0f) return (NAME){(BITS)(b > 0.0f ? 1 : 1 | 1 << SIGN)};                                     \
    return (NAME){(BITS)(x.bits + ((b > a) == (a > 0.0f) ? 1 : -1))};                                       \
  }                                                                                                         \
  TC_FN NAME tc_sum(NAME a, NAME b) { return NAME##_from(tc_single(a) + tc_single(b)); }                    \
  TC_FN NAME tc_larger(NAME a, NAME b) { return NAME##_from(fmax(tc_single(a), tc_single(b))); }            \
  TC_FN NAME tc_smaller(NAME a, NAME b) { return NAME##_from(fmin(tc_single(a), tc_single(b))); }

// Numbers as floats whose last bit tells that something was cut off: rounding those once more is exact.
TC_FN float tc_to_odd(ulong size) {
  const int more = 40 - (int)clz(size);  // bits beyond the 24 that a float has
  if (more > 0) size = ((size >> more) | ((size << (64 - more)) != 0)) << more;
  return (float)size;
}
TC_FN float tc_to_odd(long x) { return x < 0 ? -tc_to_odd(0 - (ulong)x) : tc_to_odd((ulong)x); }
#ifdef cl_khr_fp64
TC_FN float tc_to_odd(double x) {
  const float near = (float)x;
  if ((double)near == x || x != x) return near;
  const uint beyond = fabs((double)near) > fabs(x);
  return as_float((as_uint(near) - beyond) | 1);
}
#define TC_NARROW_FROM_DOUBLE(NAME) TC_FN NAME NAME##_from(double x) { return NAME##_from(tc_to_odd(x)); }
#else
#define TC_NARROW_FROM_DOUBLE(NAME)
#endif
#define TC_NARROW_FROM_OTHERS(NAME)                                                            \
  TC_FN NAME NAME##_from(long x) { return NAME##_from(tc_to_odd(x)); }                         \
  TC_FN NAME NAME##_from(ulong x) { return NAME##_from(tc_to_odd(x)); }                        \
  TC_FN NAME NAME##_from(int x) { return NAME##_from((long)x); }                               \
  TC_FN NAME NAME##_from(uint x) { return NAME##_from((long)x); }                              \
  TC_NARROW_FROM_DOUBLE(NAME)

TC_NARROW(tc_half, ushort, 10, 15, 15, 0x47800000u, 0x7c00u, sign | 0x7e00u,
          size < 0x7c00u ? tc_wide_size(size, 10, 15) : as_float(0x7f800000u | size << 13))
TC_NARROW(tc_bfloat16, ushort, 7, 127, 15, 0x7f800000u, 0x7f80u, sign | 0x7fc0u, as_float(size << 16))
TC_NARROW(tc_fp8_e4m3, uchar, 3, 7, 7, 0x43e00000u, 0x7eu, sign | 0x7fu,
          size == 0x7fu ? TC_NAN : tc_wide_size(size, 3, 7))
TC_NARROW(tc_fp8_e5m2, uchar, 2, 15, 7, 0x47600000u, 0x7bu, sign | 0x7fu,
          size < 0x7cu ? tc_wide_size(size, 2, 15) : as_float(0x7f800000u | size << 21))
TC_NARROW(tc_fp4_e2m1, uchar, 1, 1, 3, 0x40c00000u, 7u, 7u, tc_wide_size(size, 1, 1))
#undef TC_NARROW
#undef TC_NARROW_FROM_OTHERS
#undef TC_NARROW_FROM_DOUBLE

#ifdef cl_khr_fp64
// The sum of two doubles; where it is not exact its last bit is set, so that rounding it to fewer bits is as if the sum
// had been exact (round to odd).
TC_FN double tc_sum_to_odd(double x, double y) {
  const double sum = x + y, back = sum - x, rest = (x - (sum - back)) + (y - back);
  const ulong bits = as_ulong(sum);
  if ((bits & 1) || !(rest < 0 || rest > 0)) return sum;
  return as_double((rest > 0) == (sum > 0) ? bits + 1 : bits - 1);
}
TC_FN tc_half tc_fma(tc_half a, tc_half b, tc_half c) {
  return tc_half_from(tc_sum_to_odd((double)tc_single(a) * tc_single(b), (double)tc_single(c)));
}
TC_FN tc_bfloat16 tc_fma(tc_bfloat16 a, tc_bfloat16 b, tc_bfloat16 c) {
  return tc_bfloat16_from(tc_sum_to_odd((double)tc_single(a) * tc_single(b), (double)tc_single(c)));
}
#endif
