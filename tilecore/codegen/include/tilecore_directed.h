// Arithmetic of float and double rounded towards zero (rz), up (ru) or down (rd), from arithmetic to nearest even, for
// headers of devices without such instructions. A header includes it after it defines TC_FN, such as `inline`; the
// compiler must contract nothing (-ffp-contract=off).
//
// An operation gives its result to nearest, and a number with the sign of what that lacks to the exact result. Where it
// lacks something in the direction of the rounding, the result moves to the neighbouring number. Errors of sums are those
// of Fast2Sum and TwoSum, remainders those of fused multiply-adds (J.-M. Muller and others, Handbook of Floating-Point
// Arithmetic, 2nd edition, chapters 4 and 5). float is computed in double, which holds every product of two, and no
// result underflows. Doubles are first scaled to about 1, so that what is lacking never underflows.
#pragma once

struct tc_near {
  double near, lacking;  // lacking: 0 or NaN where near is exact
};
TC_FN unsigned long long tc_double_bits(double x) { return __builtin_bit_cast(unsigned long long, x); }
TC_FN double tc_double_of(unsigned long long bits) { return __builtin_bit_cast(double, bits); }
TC_FN bool tc_is_negative(double x) { return tc_double_bits(x) >> 63; }
TC_FN bool tc_has_size(double x) { return __builtin_fabs(x) < __builtin_inf(); }
TC_FN bool tc_can_scale(double x) { return tc_has_size(x) && x != 0.0; }

// -- error-free operations -----------------------------------------------------------------------------------------------

TC_FN tc_near tc_two_sum(double a, double b) {
  const double sum = a + b, back = sum - a;
  return {sum, (a - (sum - back)) + (b - back)};
}
// Of a sum that overflows the error is infinite, with the other sign.
TC_FN tc_near tc_sorted_sum(double a, double b) {
  const bool larger = __builtin_fabs(a) >= __builtin_fabs(b);
  const double big = larger ? a : b, small = larger ? b : a, sum = big + small;
  return {sum, small - (sum - big)};
}

// -- scaling -------------------------------------------------------------------------------------------------------------

struct tc_scaled {
  double mantissa;  // from 1 to below 2 in size
  int exponent;
};
TC_FN tc_scaled tc_scale(double x) {
  unsigned long long bits = tc_double_bits(x);
  int bias = 1023;
  if ((bits >> 52 & 0x7ff) == 0) bits = tc_double_bits(x * 0x1p54), bias += 54;
  return {tc_double_of((bits & 0x800fffffffffffffull) | 0x3ff0000000000000ull), int(bits >> 52 & 0x7ff) - bias};
}
TC_FN double tc_power_of_two(int exponent) { return tc_double_of((unsigned long long)(exponent + 1023) << 52); }
// x * 2^exponent, exact up to about 2^1000 in size, and for what is larger about that; 0 and infinities as they are.
TC_FN double tc_times_power(double x, int exponent) {
  if (!tc_can_scale(x)) return x;
  const tc_scaled scaled = tc_scale(x);
  const int sum = scaled.exponent + exponent;
  return scaled.mantissa * tc_power_of_two(sum > 1000 ? 1000 : sum < -1000 ? -1000 : sum);
}

// -- operations ----------------------------------------------------------------------------------------------------------

TC_FN tc_near tc_near_add(float a, float b) { return tc_two_sum(a, b); }
TC_FN tc_near tc_near_add(double a, double b) { return tc_sorted_sum(a, b); }

TC_FN tc_near tc_near_mul(float a, float b) { return {double(a) * double(b), 0.0}; }
TC_FN tc_near tc_near_mul(double a, double b) {
  const double near = a * b;
  if (!tc_can_scale(a) || !tc_can_scale(b)) return {near, 0.0};
  const tc_scaled x = tc_scale(a), y = tc_scale(b);
  return {near, __builtin_fma(x.mantissa, y.mantissa, -tc_times_power(near, -(x.exponent + y.exponent)))};
}

TC_FN tc_near tc_near_div(float a, float b) {
  const double x = a, y = b, near = x / y, rest = __builtin_fma(-near, y, x);
  return {near, y < 0.0 ? -rest : rest};
}
TC_FN tc_near tc_near_div(double a, double b) {
  const double near = a / b;
  if (!tc_can_scale(a) || !tc_can_scale(b)) return {near, 0.0};
  const tc_scaled x = tc_scale(a), y = tc_scale(b);
  const double rest = __builtin_fma(-tc_times_power(near, y.exponent - x.exponent), y.mantissa, x.mantissa);
  return {near, b < 0.0 ? -rest : rest};
}

TC_FN tc_near tc_near_sqrt(float a) {
  const double x = a, near = __builtin_sqrt(x);
  return {near, __builtin_fma(-near, near, x)};
}
TC_FN tc_near tc_near_sqrt(double a) {
  const double near = __builtin_sqrt(a);
  if (!tc_can_scale(near)) return {near, 0.0};
  const tc_scaled x = tc_scale(a);
  const int odd = x.exponent & 1;
  const double root = tc_times_power(near, -((x.exponent - odd) / 2));
  return {near, __builtin_fma(-root, root, x.mantissa * (odd ? 2.0 : 1.0))};
}

TC_FN tc_near tc_near_fma(float a, float b, float c) { return tc_two_sum(double(a) * double(b), double(c)); }
// The sign of the exact sum of the product's two halves, the term and the negated result: that of the highest part that is
// not 0 of their expansion (J. R. Shewchuk, "Adaptive precision floating-point arithmetic", 1997, Grow-Expansion). A part
// that is 2^400 times smaller than another one only has a sign.
TC_FN tc_near tc_near_fma(double a, double b, double c) {
  const double near = __builtin_fma(a, b, c);
  if (!tc_can_scale(a) || !tc_can_scale(b) || !tc_has_size(c)) return {near, 0.0};
  if (!tc_has_size(near)) return {near, -near};
  const tc_scaled x = tc_scale(a), y = tc_scale(b), z = tc_scale(c);
  const int of_product = x.exponent + y.exponent, of_term = c != 0.0 ? z.exponent : of_product;
  const int base = of_product > of_term ? of_product : of_term;
  const double scale = tc_power_of_two(of_product - base < -400 ? -400 : of_product - base);
  const double product = x.mantissa * y.mantissa, low = __builtin_fma(x.mantissa, y.mantissa, -product) * scale;
  const double term = c != 0.0 ? z.mantissa * tc_power_of_two(of_term - base < -400 ? -400 : of_term - base) : 0.0;
  const tc_near first = tc_two_sum(term, low), second = tc_two_sum(first.near, product * scale);
  const tc_near lowest = tc_two_sum(-tc_times_power(near, -base), first.lacking);
  const tc_near middle = tc_two_sum(lowest.near, second.lacking), highest = tc_two_sum(middle.near, second.near);
  const double parts[4] = {highest.near, highest.lacking, middle.lacking, lowest.lacking};
  for (int i = 0; i < 3; ++i)
    if (parts[i] != 0.0) return {near, parts[i]};
  return {near, parts[3]};
}

// -- the last steps ------------------------------------------------------------------------------------------------------

template <class Bits>
TC_FN Bits tc_moved(Bits bits, int mode, double lacking) {
  const Bits sign = Bits(1) << (8 * sizeof(Bits) - 1);
  const bool is_negative = (bits & sign) != 0;
  if (mode == 0) return (is_negative ? lacking > 0.0 : lacking < 0.0) ? bits - 1 : bits;
  if (mode > 0 ? !(lacking > 0.0) : !(lacking < 0.0)) return bits;
  if ((bits & ~sign) == 0) return mode > 0 ? Bits(1) : sign | 1;
  return is_negative == (mode > 0) ? bits - 1 : bits + 1;
}
// mode: 0 towards zero, 1 up, -1 down
TC_FN double tc_directed(int mode, tc_near x, double) {
  return tc_double_of(tc_moved(tc_double_bits(x.near), mode, x.lacking));
}
TC_FN float tc_directed(int mode, tc_near x, float) {
  const float near = float(x.near);
  const double back = near, lacking = x.near < back ? -1.0 : x.near > back ? 1.0 : x.lacking;
  return __builtin_bit_cast(float, tc_moved(__builtin_bit_cast(unsigned, near), mode, lacking));
}
// A sum that is exactly 0 is -0 when rounded down, unless both its terms are +0 (IEEE 754-2019, 6.3).
TC_FN tc_near tc_sum_rounded(int mode, tc_near x, bool first_is_negative, bool second_is_negative) {
  if (mode >= 0 || x.near != 0.0 || x.lacking != 0.0) return x;
  return {first_is_negative || second_is_negative ? -0.0 : 0.0, 0.0};
}

#define TC_DIRECTED(WORD, MODE, T)                                                                          \
  TC_FN T tc_add_##WORD(T a, T b) {                                                                         \
    return tc_directed(MODE, tc_sum_rounded(MODE, tc_near_add(a, b), tc_is_negative(a), tc_is_negative(b)), T()); \
  }                                                                                                         \
  TC_FN T tc_sub_##WORD(T a, T b) { return tc_add_##WORD(a, -b); }                                          \
  TC_FN T tc_mul_##WORD(T a, T b) { return tc_directed(MODE, tc_near_mul(a, b), T()); }                     \
  TC_FN T tc_div_##WORD(T a, T b) { return tc_directed(MODE, tc_near_div(a, b), T()); }                     \
  TC_FN T tc_rcp_##WORD(T a) { return tc_directed(MODE, tc_near_div(T(1), a), T()); }                       \
  TC_FN T tc_sqrt_##WORD(T a) { return tc_directed(MODE, tc_near_sqrt(a), T()); }                           \
  TC_FN T tc_fma_##WORD(T a, T b, T c) {                                                                    \
    const bool is_product_negative = tc_is_negative(a) != tc_is_negative(b);                                \
    return tc_directed(MODE, tc_sum_rounded(MODE, tc_near_fma(a, b, c), is_product_negative, tc_is_negative(c)), T()); \
  }
#define TC_DIRECTED_MODES(T) TC_DIRECTED(rz, 0, T) TC_DIRECTED(ru, 1, T) TC_DIRECTED(rd, -1, T)
TC_DIRECTED_MODES(float)
TC_DIRECTED_MODES(double)
#undef TC_DIRECTED_MODES
#undef TC_DIRECTED
