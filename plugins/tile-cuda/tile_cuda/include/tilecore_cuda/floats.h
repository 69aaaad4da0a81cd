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

#include "tilecore_floats.h"

TC_FN unsigned short tc_bfloat16_bits(float x) {
#if TC_ARCH >= 800
  unsigned short bits;
  asm(TC_HALF_ASM("cvt.rn.bf16.f32", "%1") : "=h"(bits) : "f"(x));
  return bits;
#else
  return tc_computed_bfloat16_bits(x);
#endif
}

TC_FN unsigned char tc_e4m3_bits(float x) {
#if TC_ARCH >= 890
  unsigned short pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return (unsigned char)pair;
#else
  return tc_computed_e4m3_bits(x);
#endif
}
TC_FN float tc_e4m3_value(unsigned char bits) {
#if TC_ARCH >= 890
  unsigned pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"((unsigned short)bits));
  return tc_half_value((unsigned short)pair);
#else
  return tc_computed_e4m3_value(bits);
#endif
}

TC_FN unsigned char tc_e5m2_bits(float x) {
#if TC_ARCH >= 890
  unsigned short pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return (unsigned char)pair;
#else
  return tc_computed_e5m2_bits(x);
#endif
}

TC_FN float tc_e5m2_value(unsigned char bits) { return tc_computed_e5m2_value(bits); }

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

TC_NARROW(tc_half, unsigned short, tc_half_bits, tc_half_value)
TC_NARROW(tc_bfloat16, unsigned short, tc_bfloat16_bits, tc_bfloat16_value)
// The types of at most 8 bits, each with the functions of its conversions.
#define TC_SMALL_FLOATS(ROW)                     \
  ROW(tc_fp8_e4m3, tc_e4m3_bits, tc_e4m3_value)  \
  ROW(tc_fp8_e5m2, tc_e5m2_bits, tc_e5m2_value)  \
  ROW(tc_fp8_e4m3fnuz, tc_computed_e4m3fnuz_bits, tc_computed_e4m3fnuz_value) \
  ROW(tc_fp8_e5m2fnuz, tc_computed_e5m2fnuz_bits, tc_computed_e5m2fnuz_value) \
  ROW(tc_fp4_e2m1, tc_e2m1_bits, tc_e2m1_value) /* in the lower half of a byte */
#define TC_SMALL_FLOAT(NAME, TO_BITS, TO_VALUE) TC_NARROW(NAME, unsigned char, TO_BITS, TO_VALUE)
TC_SMALL_FLOATS(TC_SMALL_FLOAT)
#undef TC_SMALL_FLOAT
#undef TC_NARROW

// -- arithmetic: sums and products that the processor has, else in float, which is exact enough to round once -------

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
