#pragma once

// TC_FAST_MATH selects Metal's fast functions where it has two; the others are correct to some units in the last place
// (Metal Shading Language Specification, 8.3, "safe" mode).
#ifdef TC_FAST_MATH
#define TC_PRECISE metal::fast
#else
#define TC_PRECISE metal::precise
#endif
TC_FN float tc_exp(float x) { return TC_PRECISE::exp(x); }
TC_FN float tc_exp2(float x) { return TC_PRECISE::exp2(x); }
TC_FN float tc_exp10(float x) { return TC_PRECISE::exp10(x); }
TC_FN float tc_log(float x) { return TC_PRECISE::log(x); }
TC_FN float tc_log2(float x) { return TC_PRECISE::log2(x); }
TC_FN float tc_log10(float x) { return TC_PRECISE::log10(x); }
TC_FN float tc_sin(float x) { return TC_PRECISE::sin(x); }
TC_FN float tc_cos(float x) { return TC_PRECISE::cos(x); }
TC_FN float tc_tan(float x) { return TC_PRECISE::tan(x); }
TC_FN float tc_asin(float x) { return TC_PRECISE::asin(x); }
TC_FN float tc_acos(float x) { return TC_PRECISE::acos(x); }
TC_FN float tc_atan(float x) { return TC_PRECISE::atan(x); }
TC_FN float tc_sinh(float x) { return TC_PRECISE::sinh(x); }
TC_FN float tc_cosh(float x) { return TC_PRECISE::cosh(x); }
TC_FN float tc_tanh(float x) { return TC_PRECISE::tanh(x); }
TC_FN float tc_asinh(float x) { return TC_PRECISE::asinh(x); }
TC_FN float tc_acosh(float x) { return TC_PRECISE::acosh(x); }
TC_FN float tc_atanh(float x) { return TC_PRECISE::atanh(x); }
TC_FN float tc_sqrt(float x) { return TC_PRECISE::sqrt(x); }
TC_FN float tc_rsqrt(float x) { return TC_PRECISE::rsqrt(x); }
TC_FN float tc_floor(float x) { return metal::floor(x); }
TC_FN float tc_ceil(float x) { return metal::ceil(x); }
TC_FN float tc_trunc(float x) { return metal::trunc(x); }
TC_FN float tc_nearbyint(float x) { return metal::rint(x); }
TC_FN float tc_pow(float x, float y) { return TC_PRECISE::pow(x, y); }
TC_FN float tc_atan2(float x, float y) { return TC_PRECISE::atan2(x, y); }
TC_FN float tc_fmod(float x, float y) { return TC_PRECISE::fmod(x, y); }
TC_FN float tc_copysign(float x, float y) { return metal::copysign(x, y); }

TC_FN float tc_ldexp(float x, int power) { return metal::ldexp(x, power); }
TC_FN float tc_floor_mod(float a, float b) { return a - metal::floor(a / b) * b; }

// Of a power that is at most 1: no overflow.
TC_FN float tc_sigmoid(float x) {
  const float power = tc_exp(-metal::fabs(x));
  return (x < 0.0f ? power : 1.0f) / (1.0f + power);
}
