// Integers, bits, and operations of floats that are instructions.
#pragma once
#define TC_INFINITY INFINITY
#define TC_NAN NAN

// The bits of a value as another type of the same size. Structures of one byte and bools have none for as_type.
template <typename To, typename From>
struct tc_bit_cast {
  static To of(From from) { return as_type<To>(from); }
};
template <typename To>
struct tc_bit_cast<To, bool> {
  static To of(bool from) { return To(from); }
};
template <typename From>
struct tc_bit_cast<bool, From> {
  static bool of(From from) { return from != From(0); }
};
template <typename To, typename From>
TC_FN To tc_bits(From from) {
  return tc_bit_cast<To, From>::of(from);
}

// A narrow float as a float32, and a value out of memory of any address space: of structures, `?:` takes two of one space.
template <typename T>
TC_FN float tc_single(T x) {
  return (float)x;
}
template <typename T>
TC_FN T tc_value(T x) {
  return x;
}

// What is divided by in place of b: by 0 the result means nothing.
template <typename T>
TC_FN T tc_divisor(T b) {
  return b == 0 ? T(1) : b;
}
// Division towards zero and rounded down, each with its remainder; tc_floor_mod has the sign of the divisor. The lowest
// number by -1 wraps to itself, with the remainder 0. MSL specifies % for numbers that are not negative (6.1), so the
// remainder is what the product leaves.
#define TC_DIVISION(T, UNSIGNED)                                                       \
  TC_FN T tc_div(T a, T b) {                                                           \
    return b == -1 ? (T)(0 - (UNSIGNED)a) : a / tc_divisor(b);                         \
  }                                                                                    \
  TC_FN T tc_mod(T a, T b) { return (T)((UNSIGNED)a - (UNSIGNED)tc_div(a, b) * (UNSIGNED)b); } \
  TC_FN T tc_floor_div(T a, T b) {                                                     \
    const T quotient = tc_div(a, b), rest = tc_mod(a, b);                              \
    return rest != 0 && (rest ^ b) < 0 ? quotient - 1 : quotient;                      \
  }                                                                                    \
  TC_FN T tc_floor_mod(T a, T b) {                                                     \
    const T rest = tc_mod(a, b);                                                       \
    return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;                              \
  }                                                                                    \
  TC_FN T tc_abs(T x) { return x < 0 ? (T)(0 - (UNSIGNED)x) : x; }
TC_DIVISION(int, uint)
TC_DIVISION(long, ulong)
#undef TC_DIVISION

#define TC_INTEGER(T)                                    \
  TC_FN T tc_min(T a, T b) { return b < a ? b : a; }     \
  TC_FN T tc_max(T a, T b) { return a < b ? b : a; }
TC_INTEGER(int)
TC_INTEGER(uint)
TC_INTEGER(long)
TC_INTEGER(ulong)
#undef TC_INTEGER
TC_FN int tc_popcount(uint x) { return (int)metal::popcount(x); }
TC_FN int tc_popcount(ulong x) { return (int)metal::popcount(x); }
TC_FN int tc_clz(uint x) { return (int)metal::clz(x); }
TC_FN int tc_clz(ulong x) { return (int)metal::clz(x); }

// Of floats the one that is a number.
TC_FN float tc_min(float a, float b) { return metal::fmin(a, b); }
TC_FN float tc_max(float a, float b) { return metal::fmax(a, b); }
TC_FN float tc_abs(float x) { return metal::fabs(x); }
TC_FN bool tc_isnan(float x) { return (as_type<uint>(x) & 0x7fffffffu) > 0x7f800000u; }
TC_FN bool tc_isinf(float x) { return (as_type<uint>(x) & 0x7fffffffu) == 0x7f800000u; }
TC_FN bool tc_isfinite(float x) { return (as_type<uint>(x) & 0x7fffffffu) < 0x7f800000u; }

// A float as an integer: towards zero, out of range the nearest limit, NaN 0. ABOVE: the first power of two that is too
// large. Metal's own conversion has no meaning out of range, so what it gets is inside. There are selections alone and
// no branches: lanes differ.
template <typename T>
T tc_truncate(float x);
#define TC_TRUNCATE(T, LOW, HIGH, ABOVE)                         \
  template <>                                                    \
  TC_FN T tc_truncate<T>(float x) {                              \
    const float inside = x < (ABOVE) ? metal::fmax(x, (float)(LOW)) : 0.0f; \
    return x >= (ABOVE) ? (T)(HIGH) : (T)inside;                 \
  }
TC_TRUNCATE(char, -128, 127, 128.0f)
TC_TRUNCATE(short, -32768, 32767, 32768.0f)
TC_TRUNCATE(int, -2147483647 - 1, 2147483647, 2147483648.0f)
TC_TRUNCATE(long, -9223372036854775807l - 1, 9223372036854775807l, 9223372036854775808.0f)
TC_TRUNCATE(uchar, 0, 255, 256.0f)
TC_TRUNCATE(ushort, 0, 65535, 65536.0f)
TC_TRUNCATE(uint, 0, 4294967295u, 4294967296.0f)
TC_TRUNCATE(ulong, 0, 18446744073709551615ul, 18446744073709551616.0f)
#undef TC_TRUNCATE

TC_FN float tc_quotient(float a, float b) { return a / b; }
// Operations with a rounding of their own: nothing is contracted across a function.
TC_FN float tc_rounded(float x) { return x; }
TC_FN float tc_rounded_add(float a, float b) { return a + b; }
TC_FN float tc_rounded_sub(float a, float b) { return a - b; }
TC_FN float tc_rounded_mul(float a, float b) { return a * b; }
#define tc_assume(CONDITION) ((void)0)
