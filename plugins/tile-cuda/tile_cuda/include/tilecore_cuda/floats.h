// The narrow floats. Each operation rounds to the type, to nearest even; the 8-bit ones saturate.
#pragma once

// A double as a float whose last bit tells that something was cut off, so that rounding it once more is exact.
TC_FN float tc_round_to_odd(double x) {
  const float cut = __double2float_rz(x);
  return double(cut) == x || x != x ? cut : __uint_as_float(__float_as_uint(cut) | 1u);
}

// ptxas 13.0 stores the low byte of a 16-bit register that a floating-point instruction wrote as the number converted to
// an 8-bit integer (F2I), not as the byte; NVVM splits copies of 16-bit values into bytes. So each such instruction writes
// a register of its own, and a move without a type takes the bits out of it. The move costs no instruction.
#define TC_HALF_ASM(INSTRUCTION, OPERANDS) "{\n.reg .b16 result;\n" INSTRUCTION " result, " OPERANDS ";\nmov.b16 %0, result;\n}"

// -- conversions ---------------------------------------------------------------------------------------------------

TC_FN unsigned short tc_half_bits(float x) {
  unsigned short bits;
  asm(TC_HALF_ASM("cvt.rn.f16.f32", "%1") : "=h"(bits) : "f"(x));
  return bits;
}
TC_FN float tc_half_value(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}

TC_FN unsigned short tc_bfloat16_bits(float x) {
#if TC_ARCH >= 800
  unsigned short bits;
  asm(TC_HALF_ASM("cvt.rn.bf16.f32", "%1") : "=h"(bits) : "f"(x));
  return bits;
#else
  const unsigned bits = __float_as_uint(x);
  if (x != x) return (unsigned short)(bits >> 16 | 0x40);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
}
TC_FN float tc_bfloat16_value(unsigned short bits) { return __uint_as_float(unsigned(bits) << 16); }

// Conversions without instructions of their own. F: bits of the fraction; BIAS of the exponent; LARGEST: bits of the
// largest finite value as a float.
template <int F, int BIAS, unsigned LARGEST>
TC_FN unsigned char tc_fp8_bits(float x) {
  const unsigned all = __float_as_uint(x), sign = all >> 24 & 0x80;
  unsigned size = all & 0x7fffffff;
  if (size > 0x7f800000) return (unsigned char)(sign | 0x7f);
  if (size > LARGEST) size = LARGEST;
  if (size < unsigned(128 - BIAS) << 23) {  // a denormal: adding this aligns its last bit with the float's
    const unsigned aligner = unsigned(127 + (1 - BIAS - F) + 23) << 23;
    return (unsigned char)(sign | (__float_as_uint(__uint_as_float(size) + __uint_as_float(aligner)) - aligner));
  }
  size += (1u << (22 - F)) - 1 + (size >> (23 - F) & 1);
  return (unsigned char)(sign | ((size >> (23 - F)) - ((127 - BIAS) << F)));
}

TC_FN unsigned char tc_e4m3_bits(float x) {
#if TC_ARCH >= 890
  unsigned short pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return (unsigned char)pair;
#else
  return tc_fp8_bits<3, 7, 0x43e00000>(x);
#endif
}
TC_FN float tc_e4m3_value(unsigned char bits) {
#if TC_ARCH >= 890
  unsigned pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"((unsigned short)bits));
  return tc_half_value((unsigned short)pair);
#else
  const unsigned sign = unsigned(bits & 0x80) << 24, rest = bits & 0x7f;
  if (rest == 0x7f) return __uint_as_float(sign | 0x7fc00000);
  return __uint_as_float(sign | __float_as_uint(__uint_as_float(rest << 20) * 0x1p120f));
#endif
}

TC_FN unsigned char tc_e5m2_bits(float x) {
#if TC_ARCH >= 890
  unsigned short pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return (unsigned char)pair;
#else
  return tc_fp8_bits<2, 15, 0x47600000>(x);
#endif
}
TC_FN float tc_e5m2_value(unsigned char bits) { return tc_half_value((unsigned short)(bits << 8)); }

// OCP microscaling formats 1.0, 5.3.3: a sign, 2 bits of exponent (bias 1), 1 of fraction; no NaN, which becomes 6.
TC_FN unsigned char tc_e2m1_bits(float x) {
  const unsigned all = __float_as_uint(x), sign = all >> 28 & 8;
  unsigned size = all & 0x7fffffff;
  if (size > 0x7f800000) return 7;
  if (size > 0x40c00000) size = 0x40c00000;  // 6
  if (size < 0x3f800000)  // below 1 in steps of a half, as floats at 2 to the 22nd are
    return (unsigned char)(sign | (__float_as_uint(__uint_as_float(size) + 4194304.0f) - 0x4a800000));
  size += 0x1fffff + (size >> 22 & 1);
  return (unsigned char)(sign | ((size >> 22) - 252));
}
// As a half, whose fields it fits into, the value is 2 to the 14th too small.
TC_FN float tc_e2m1_value(unsigned char bits) {
  return tc_half_value((unsigned short)((bits & 8) << 12 | (bits & 7) << 9)) * 16384.0f;
}

// float32 with 10 bits of fraction, as the matrix instructions take it.
TC_FN float tc_round_tf32(float x) {
#if TC_ARCH >= 800
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
#else
  return x;
#endif
}

// -- types ---------------------------------------------------------------------------------------------------------

#define TC_NARROW(NAME, BITS, TO_BITS, TO_VALUE)                                                   \
  struct NAME {                                                                                    \
    BITS bits;                                                                                     \
    NAME() = default;                                                                              \
    TC_FN static NAME from_bits(BITS raw) {                                                        \
      NAME made;                                                                                   \
      made.bits = raw;                                                                             \
      return made;                                                                                 \
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

// -- arithmetic: sums and products that the processor has, else in float, which is exact enough to round once -------

#define TC_IN_FLOAT(NAME)                                                                          \
  TC_FN NAME operator+(NAME a, NAME b) { return NAME(float(a) + float(b)); }                       \
  TC_FN NAME operator-(NAME a, NAME b) { return NAME(float(a) - float(b)); }                       \
  TC_FN NAME operator*(NAME a, NAME b) { return NAME(float(a) * float(b)); }
#define TC_EXTREMES_IN_FLOAT(NAME)                                                                 \
  TC_FN NAME tc_min(NAME a, NAME b) { return NAME(fminf(float(a), float(b))); }                    \
  TC_FN NAME tc_max(NAME a, NAME b) { return NAME(fmaxf(float(a), float(b))); }
#define TC_NATIVE(NAME, NAMED, INSTRUCTION)                                                        \
  TC_FN NAME NAMED(NAME a, NAME b) {                                                               \
    unsigned short bits;                                                                           \
    asm(TC_HALF_ASM(INSTRUCTION, "%1, %2") : "=h"(bits) : "h"(a.bits), "h"(b.bits));               \
    return NAME::from_bits(bits);                                                                  \
  }
#define TC_NATIVE_FMA(NAME, INSTRUCTION)                                                           \
  TC_FN NAME tc_fma(NAME a, NAME b, NAME c) {                                                      \
    unsigned short bits;                                                                           \
    asm(TC_HALF_ASM(INSTRUCTION, "%1, %2, %3") : "=h"(bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits)); \
    return NAME::from_bits(bits);                                                                  \
  }

TC_NATIVE(tc_half, operator+, "add.rn.f16")
TC_NATIVE(tc_half, operator-, "sub.rn.f16")
TC_NATIVE(tc_half, operator*, "mul.rn.f16")
TC_NATIVE_FMA(tc_half, "fma.rn.f16")
#if TC_ARCH >= 800
TC_NATIVE(tc_half, tc_min, "min.f16")
TC_NATIVE(tc_half, tc_max, "max.f16")
TC_NATIVE(tc_bfloat16, tc_min, "min.bf16")
TC_NATIVE(tc_bfloat16, tc_max, "max.bf16")
TC_NATIVE_FMA(tc_bfloat16, "fma.rn.bf16")
#else
TC_EXTREMES_IN_FLOAT(tc_half)
TC_EXTREMES_IN_FLOAT(tc_bfloat16)
TC_FN tc_bfloat16 tc_fma(tc_bfloat16 a, tc_bfloat16 b, tc_bfloat16 c) {
  const double product = double(a) * double(b), low = __dadd_rd(product, double(c)), high = __dadd_ru(product, double(c));
  return tc_bfloat16(__double_as_longlong(low) & 1 ? low : high);  // of two neighbours the odd one: rounded once, then
}
#endif
#if TC_ARCH >= 900
TC_NATIVE(tc_bfloat16, operator+, "add.rn.bf16")
TC_NATIVE(tc_bfloat16, operator-, "sub.rn.bf16")
TC_NATIVE(tc_bfloat16, operator*, "mul.rn.bf16")
#else
TC_IN_FLOAT(tc_bfloat16)
#endif
#define TC_SMALL_FLOAT(NAME, ...) TC_IN_FLOAT(NAME) TC_EXTREMES_IN_FLOAT(NAME)
TC_SMALL_FLOATS(TC_SMALL_FLOAT)
#undef TC_SMALL_FLOAT
#undef TC_SMALL_FLOATS
#undef TC_IN_FLOAT
#undef TC_EXTREMES_IN_FLOAT
#undef TC_NATIVE
#undef TC_NATIVE_FMA
