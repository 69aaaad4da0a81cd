// What emitted source asks of plain C++, the same on every device: a backend's header includes it.
// TC_FN: qualifiers of a function that a kernel may call. TC_MEMCPY: copies bytes.
#pragma once
#ifndef TC_MEMCPY
#define TC_MEMCPY __builtin_memcpy
#endif
#ifndef TC_FN
#define TC_FN inline
#endif

// The bits of a value as another type of the same size.
template <class To, class From>
TC_FN To tc_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "the sizes differ");
  To to;
  TC_MEMCPY(&to, &from, sizeof(To));
  return to;
}

#define TC_INFINITY (tc_bits<float>(0x7f800000u))
#define TC_NAN (tc_bits<float>(0x7fc00000u))

// What is divided by in place of b: no processor may be asked to divide by 0. The result then means nothing.
template <class T>
TC_FN T tc_divisor(T b) {
  return b == 0 ? T(1) : b;
}

// Division towards zero and rounded down, each with its remainder; tc_floor_mod has the sign of the divisor. The lowest
// number by -1 wraps to itself, with the remainder 0; by 0 the result means nothing.
#define TC_DIVISION(T, UNSIGNED)                                               \
  TC_FN T tc_div(T a, T b) {                                                   \
    return b == -1 ? (T)(0 - (UNSIGNED)a) : a / tc_divisor(b);                  \
  }                                                                            \
  TC_FN T tc_mod(T a, T b) { return b == -1 ? 0 : a % tc_divisor(b); }         \
  TC_FN T tc_floor_div(T a, T b) {                                             \
    const T quotient = tc_div(a, b), rest = tc_mod(a, b);                      \
    return rest != 0 && (rest ^ b) < 0 ? quotient - 1 : quotient;              \
  }                                                                            \
  TC_FN T tc_floor_mod(T a, T b) {                                             \
    const T rest = tc_mod(a, b);                                               \
    return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;                      \
  }
TC_DIVISION(int, unsigned)
TC_DIVISION(long long, unsigned long long)
#undef TC_DIVISION

// A float as an integer: towards zero, out of range the nearest limit, NaN 0. T: the integer type; F: float or double.
template <class T, class F>
TC_FN T tc_truncate(F x) {
  constexpr bool is_signed = T(-1) < T(0);
  constexpr int bits = 8 * int(sizeof(T));
  constexpr T high = T(~0ull >> (is_signed ? 65 - bits : 64 - bits));
  constexpr T low = is_signed ? T(-high - 1) : T(0);
  constexpr F above = F(2) * F(1ull << (is_signed ? bits - 2 : bits - 1));
  if (!(x >= F(low))) return x != x ? T(0) : low;
  return x >= above ? high : T(x);
}

// The next value of a narrow float from x in the direction of y.
template <class T, class Bits>
TC_FN T tc_neighbour(T x, T y) {
  const float a = float(x), b = float(y);
  if (a != a || b != b) return T(a + b);
  if (a == b) return y;
  const Bits sign = T(1.0f).bits ^ T(-1.0f).bits;
  if (a == 0.0f) return T::from_bits(b > 0.0f ? Bits(1) : Bits(sign | 1));
  const bool away = (b > a) == (a > 0.0f);
  const Bits bits = Bits(x.bits + (away ? 1 : -1));
  return bits == sign ? T(-0.0f) : T::from_bits(bits);  // a type without -0 has NaN there
}
