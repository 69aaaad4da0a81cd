// The floats of at most 8 bits are structures of a byte. Kernels compute in float and round to the type, to nearest even;
// the 8-bit types saturate.
#pragma once

// An integer as a float whose last bit tells that something was cut off, so that rounding it once more is exact.
TC_FN float tc_to_odd(ulong size) {
  const int shift = 64 - (int)metal::clz(size) - 24;
  if (shift <= 0) return (float)size;
  const ulong kept = size >> shift, lost = size & ((1ul << shift) - 1ul);
  return metal::ldexp((float)(uint)(kept | (lost != 0ul ? 1ul : 0ul)), shift);
}
TC_FN float tc_to_odd(long x) { return x < 0 ? -tc_to_odd(0ul - (ulong)x) : tc_to_odd((ulong)x); }

#define TC_SMALL_FLOAT(NAME, TO_BITS, TO_VALUE)                                                \
  struct NAME {                                                                                \
    uchar bits;                                                                                \
    explicit operator float() const thread { return TO_VALUE(bits); }                          \
    explicit operator float() const threadgroup { return TO_VALUE(bits); }                     \
    explicit operator float() const device { return TO_VALUE(bits); }                          \
    explicit operator float() const constant { return TO_VALUE(bits); }                        \
  };                                                                                           \
  TC_FN NAME NAME##_from(float x) { return NAME{TO_BITS(x)}; }                                 \
  TC_FN NAME NAME##_from(long x) { return NAME{TO_BITS(tc_to_odd(x))}; }                       \
  TC_FN NAME NAME##_from(ulong x) { return NAME{TO_BITS(tc_to_odd(x))}; }                      \
  TC_FN NAME NAME##_from(int x) { return NAME##_from((long)x); }                               \
  TC_FN NAME NAME##_from(uint x) { return NAME##_from((ulong)x); }
// provides: tc_fp8_e4m3 tc_fp8_e4m3_from
TC_SMALL_FLOAT(tc_fp8_e4m3, tc_computed_e4m3_bits, tc_computed_e4m3_value)
// provides: tc_fp8_e5m2 tc_fp8_e5m2_from
TC_SMALL_FLOAT(tc_fp8_e5m2, tc_computed_e5m2_bits, tc_computed_e5m2_value)
// provides: tc_fp8_e4m3fnuz tc_fp8_e4m3fnuz_from
TC_SMALL_FLOAT(tc_fp8_e4m3fnuz, tc_computed_e4m3fnuz_bits, tc_computed_e4m3fnuz_value)
// provides: tc_fp8_e5m2fnuz tc_fp8_e5m2fnuz_from
TC_SMALL_FLOAT(tc_fp8_e5m2fnuz, tc_computed_e5m2fnuz_bits, tc_computed_e5m2fnuz_value)
// provides: tc_fp4_e2m1 tc_fp4_e2m1_from
TC_SMALL_FLOAT(tc_fp4_e2m1, tc_e2m1_bits, tc_e2m1_value)

#define TC_SMALL_BITS(NAME)                                     \
  template <typename To>                                        \
  struct tc_bit_cast<To, NAME> {                                \
    static To of(NAME from) { return as_type<To>(from.bits); }  \
  };                                                            \
  template <typename From>                                      \
  struct tc_bit_cast<NAME, From> {                              \
    static NAME of(From from) { return NAME{(uchar)from}; }     \
  };
TC_SMALL_BITS(tc_fp8_e4m3)  // provides: tc_bit_cast; for: tc_fp8_e4m3
TC_SMALL_BITS(tc_fp8_e5m2)  // provides: tc_bit_cast; for: tc_fp8_e5m2
TC_SMALL_BITS(tc_fp8_e4m3fnuz)  // provides: tc_bit_cast; for: tc_fp8_e4m3fnuz
TC_SMALL_BITS(tc_fp8_e5m2fnuz)  // provides: tc_bit_cast; for: tc_fp8_e5m2fnuz
TC_SMALL_BITS(tc_fp4_e2m1)  // provides: tc_bit_cast; for: tc_fp4_e2m1
