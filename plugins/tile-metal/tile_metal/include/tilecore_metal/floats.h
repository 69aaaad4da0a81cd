// The narrow floats. half and bfloat are Metal's own; those of at most 8 bits are structures of a byte. Kernels compute in
// float and round to the type, to nearest even; the 8-bit types saturate.
#pragma once

// The next value from x in the direction of y.
#define TC_NEIGHBOUR(T, BITS)                                                      \
  TC_FN T tc_nextafter(T x, T y) {                                                 \
    const float a = (float)x, b = (float)y;                                        \
    if (tc_isnan(a) || tc_isnan(b)) return TC_NARROWED(T, a + b);                  \
    if (a == b) return y;                                                          \
    const BITS sign = (BITS)(tc_bits<BITS>(TC_NARROWED(T, -1.0f)) ^ tc_bits<BITS>(TC_NARROWED(T, 1.0f))); \
    if (a == 0.0f) return tc_bits<T>(b > 0.0f ? (BITS)1 : (BITS)(sign | 1));       \
    const bool away = (b > a) == (a > 0.0f);                                       \
    const BITS bits = (BITS)(tc_bits<BITS>(x) + (away ? 1 : -1));                  \
    return bits == sign ? TC_NARROWED(T, -0.0f) : tc_bits<T>(bits);                \
  }
#define TC_NARROWED(T, VALUE) ((T)(VALUE))
TC_NEIGHBOUR(half, ushort)
#if __METAL_VERSION__ >= 310
TC_NEIGHBOUR(bfloat, ushort)
#endif
#undef TC_NARROWED

// An integer as a float whose last bit tells that something was cut off, so that rounding it once more is exact.
TC_FN float tc_to_odd(ulong size) {
  const int shift = 64 - (int)metal::clz(size) - 24;
  if (shift <= 0) return (float)size;
  const ulong kept = size >> shift, lost = size & ((1ul << shift) - 1ul);
  return metal::ldexp((float)(uint)(kept | (lost != 0ul ? 1ul : 0ul)), shift);
}
TC_FN float tc_to_odd(long x) { return x < 0 ? -tc_to_odd(0ul - (ulong)x) : tc_to_odd((ulong)x); }

template <typename T>
struct tc_lane_value;  // threads.h
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
  TC_FN NAME NAME##_from(uint x) { return NAME##_from((ulong)x); }                             \
  template <typename To>                                                                       \
  struct tc_bit_cast<To, NAME> {                                                               \
    static To of(NAME from) { return as_type<To>(from.bits); }                                 \
  };                                                                                           \
  template <typename From>                                                                     \
  struct tc_bit_cast<NAME, From> {                                                             \
    static NAME of(From from) { return NAME{(uchar)from}; }                                    \
  };                                                                                           \
  template <>                                                                                  \
  struct tc_lane_value<NAME> {                                                                 \
    typedef uchar type;                                                                        \
    static uchar to(NAME value) { return value.bits; }                                         \
    static NAME from(uchar value) { return NAME{value}; }                                      \
  };                                                                                           \
  TC_NEIGHBOUR(NAME, uchar)                                                                    \
  TC_FN NAME tc_added(NAME a, NAME b) { return NAME##_from((float)a + (float)b); }             \
  TC_FN NAME tc_smaller(NAME a, NAME b) { return NAME##_from(metal::fmin((float)a, (float)b)); } \
  TC_FN NAME tc_larger(NAME a, NAME b) { return NAME##_from(metal::fmax((float)a, (float)b)); }
#define TC_NARROWED(T, VALUE) (T##_from(VALUE))
TC_SMALL_FLOAT(tc_fp8_e4m3, tc_computed_e4m3_bits, tc_computed_e4m3_value)
TC_SMALL_FLOAT(tc_fp8_e5m2, tc_computed_e5m2_bits, tc_computed_e5m2_value)
TC_SMALL_FLOAT(tc_fp8_e4m3fnuz, tc_computed_e4m3fnuz_bits, tc_computed_e4m3fnuz_value)
TC_SMALL_FLOAT(tc_fp8_e5m2fnuz, tc_computed_e5m2fnuz_bits, tc_computed_e5m2fnuz_value)
TC_SMALL_FLOAT(tc_fp4_e2m1, tc_e2m1_bits, tc_e2m1_value)  // in the lower half of a byte
#undef TC_SMALL_FLOAT
#undef TC_NARROWED
#undef TC_NEIGHBOUR

// float32 with 10 bits of fraction, to nearest, ties away from zero.
TC_FN float tc_round_tf32(float x) {
  return tc_isfinite(x) ? as_type<float>((as_type<uint>(x) + 0x1000u) & 0xffffe000u) : x;
}
