// Functions of float32. TC_FAST_MATH selects Metal's fast ones where it has two; the others are correct to some units in
// the last place (Metal Shading Language Specification, 8.3, "safe" mode).
#pragma once
#ifdef TC_FAST_MATH
#define TC_PRECISE metal::fast
#else
#define TC_PRECISE metal::precise
#endif
#define TC_MATH(NAME, CALL) TC_FN float tc_##NAME(float x) { return CALL(x); }
#define TC_MATH2(NAME, CALL) TC_FN float tc_##NAME(float x, float y) { return CALL(x, y); }
TC_MATH(exp, TC_PRECISE::exp)
TC_MATH(exp2, TC_PRECISE::exp2)
TC_MATH(exp10, TC_PRECISE::exp10)
TC_MATH(log, TC_PRECISE::log)
TC_MATH(log2, TC_PRECISE::log2)
TC_MATH(log10, TC_PRECISE::log10)
TC_MATH(sin, TC_PRECISE::sin)
TC_MATH(cos, TC_PRECISE::cos)
TC_MATH(tan, TC_PRECISE::tan)
TC_MATH(asin, TC_PRECISE::asin)
TC_MATH(acos, TC_PRECISE::acos)
TC_MATH(atan, TC_PRECISE::atan)
TC_MATH(sinh, TC_PRECISE::sinh)
TC_MATH(cosh, TC_PRECISE::cosh)
TC_MATH(tanh, TC_PRECISE::tanh)
TC_MATH(asinh, TC_PRECISE::asinh)
TC_MATH(acosh, TC_PRECISE::acosh)
TC_MATH(atanh, TC_PRECISE::atanh)
TC_MATH(sqrt, TC_PRECISE::sqrt)
TC_MATH(rsqrt, TC_PRECISE::rsqrt)
TC_MATH(floor, metal::floor)
TC_MATH(ceil, metal::ceil)
TC_MATH(trunc, metal::trunc)
TC_MATH(nearbyint, metal::rint)
TC_MATH2(pow, TC_PRECISE::pow)
TC_MATH2(atan2, TC_PRECISE::atan2)
TC_MATH2(fmod, TC_PRECISE::fmod)
TC_MATH2(copysign, metal::copysign)
#undef TC_MATH
#undef TC_MATH2
TC_FN float tc_fma(float a, float b, float c) { return metal::fma(a, b, c); }
TC_FN half tc_fma(half a, half b, half c) { return metal::fma(a, b, c); }
#if __METAL_VERSION__ >= 310
// Rounded once: the product is exact in float, and the sum gets a last bit that tells of what was cut off.
TC_FN bfloat tc_fma(bfloat a, bfloat b, bfloat c) {
  const float product = (float)a * (float)b, addend = (float)c, sum = product + addend;
  const float part = sum - product, error = (product - (sum - part)) + (addend - part);  // Knuth's TwoSum
  uint bits = as_type<uint>(sum);
  if (tc_isfinite(sum) && error != 0.0f && (bits & 1u) == 0) bits += (error > 0.0f) == (sum > 0.0f) ? 1u : ~0u;
  return (bfloat)as_type<float>(bits);
}
#endif
TC_FN float tc_ldexp(float x, int power) { return metal::ldexp(x, power); }
TC_FN float tc_floor_mod(float a, float b) { return a - metal::floor(a / b) * b; }
// Of a power that is at most 1: no overflow.
TC_FN float tc_sigmoid(float x) {
  const float power = tc_exp(-metal::fabs(x));
  return (x < 0.0f ? power : 1.0f) / (1.0f + power);
}

// -- functions that Metal's library lacks ------------------------------------------------------------------------------

// log(1 + x): the rounding of 1 + x is made good by the quotient (Kahan; Higham, Accuracy and Stability, section 1.14).
TC_FN float tc_log1p(float x) {
  const float sum = 1.0f + x;
  if (sum == 1.0f || tc_isinf(sum)) return x;
  return tc_log(sum) * (x / (sum - 1.0f));
}
// The larger size is taken out, so that no square overflows.
TC_FN float tc_hypot(float x, float y) {
  const float a = metal::fabs(x), b = metal::fabs(y);
  if (tc_isinf(a) || tc_isinf(b)) return TC_INFINITY;
  const float large = metal::fmax(a, b), small = metal::fmin(a, b);
  if (tc_isnan(x) || tc_isnan(y) || large == 0.0f) return x + y + large;
  const float ratio = small / large;
  return large * tc_sqrt(metal::fma(ratio, ratio, 1.0f));
}
TC_FN float tc_nextafter(float x, float y) {
  if (tc_isnan(x) || tc_isnan(y)) return TC_NAN;
  const int a = as_type<int>(x), b = as_type<int>(y);
  if (a == b || ((a | b) & 0x7fffffff) == 0) return y;
  if ((a & 0x7fffffff) == 0) return as_type<float>((b & (int)0x80000000u) | 1);
  const bool away = (a < 0) != (b < 0) ? false : (b & 0x7fffffff) > (a & 0x7fffffff);
  return as_type<float>(a + (away ? 1 : -1));
}
// Abramowitz and Stegun 7.1.6 near 0: erf(x) = 2/sqrt(pi) exp(-x x) sum over n of 2^n x^(2n+1) / (1 3 5 ... (2n+1));
// beyond, the continued fraction 7.1.14 of erfc.
TC_FN float tc_erf(float x) {
  const float size = metal::fabs(x), square = x * x;
  if (tc_isnan(x)) return x;
  if (size >= 4.0f) return metal::copysign(1.0f, x);
  if (size < 2.0f) {
    float term = 1.0f, sum = 1.0f;
    for (int n = 1; n < 24; ++n) {
      term *= 2.0f * square / (float)(2 * n + 1);
      sum += term;
    }
    return 1.12837917f * x * TC_PRECISE::exp(-square) * sum;
  }
  float fraction = size;
  for (int n = 24; n > 0; --n) fraction = size + 0.5f * (float)n / fraction;
  return metal::copysign(1.0f - TC_PRECISE::exp(-square) * 0.564189584f / fraction, x);
}
