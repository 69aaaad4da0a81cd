// Functions that Metal's library lacks.
#pragma once

// log(1 + x) = power * log(2) + log(1 + part), with part in [-1/4, 1/2): 1 + part is (1 + x) / 2^power.
// There log(1 + part) = part - part^2 / 2 + part^3 * P(part), P of degree 8 fitted to it for the least relative error
// (2^-30, before rounding).
TC_FN float tc_log1p(float x) {
  if (!(x > -1.0f)) return x == -1.0f ? -TC_INFINITY : TC_NAN;
  if (tc_isinf(x)) return x;
  const int power = (as_type<int>(1.0f + x) - as_type<int>(0.75f)) >> 23;
  const float scale = as_type<float>((127 - (power < 100 ? power : 100)) * 0x800000);  // 2^-power; at 100 it counts no more
  const float scaled = as_type<float>(as_type<int>(x) - power * 0x800000);
  const float part = power == 0 ? x : scaled + (scale - 1.0f);  // keeps the sign of 0
  float fit = 0.037615918f;
  fit = metal::fma(fit, part, -0.091078326f);
  fit = metal::fma(fit, part, 0.11697414f);
  fit = metal::fma(fit, part, -0.12728311f);
  fit = metal::fma(fit, part, 0.1427675f);
  fit = metal::fma(fit, part, -0.16655317f);
  fit = metal::fma(fit, part, 0.1999958f);
  fit = metal::fma(fit, part, -0.25000164f);
  fit = metal::fma(fit, part, 0.3333334f);
  const float rest = metal::fma(part * part, metal::fma(fit, part, -0.5f), part);
  return power == 0 ? rest : metal::fma((float)power, 0.6931472f, rest);
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

// Near 0 erf(x) = x + x * P(x^2); beyond erf(x) = 1 - exp(-Q(|x|)), where Q is -log(erfc). P and Q, both of degree 6, are
// fitted to them for the least error of erf (2^-28 of it, before rounding). From 4 on the nearest float is 1.
TC_FN float tc_erf(float x) {
  const float size = metal::fabs(x);
  if (size < 0.9296875f) {
    const float square = x * x;
    float fit = 7.996539e-5f;
    fit = metal::fma(fit, square, -0.0008049755f);
    fit = metal::fma(fit, square, 0.0051924046f);
    fit = metal::fma(fit, square, -0.026855731f);
    fit = metal::fma(fit, square, 0.11283626f);
    fit = metal::fma(fit, square, -0.3761263f);
    fit = metal::fma(fit, square, 0.12837917f);
    return metal::fma(x, fit, x);
  }
  const float t = size > 4.0f ? 4.0f : size;  // not fmin: NaN stays
  float fit = -0.00019385638f;
  fit = metal::fma(fit, t, 0.0030229148f);
  fit = metal::fma(fit, t, -0.022146469f);
  fit = metal::fma(fit, t, 0.10376578f);
  fit = metal::fma(fit, t, 0.6373699f);
  fit = metal::fma(fit, t, 1.127565f);
  fit = metal::fma(fit, t, 0.00022223812f);
  return metal::copysign(1.0f - TC_PRECISE::exp(-fit), x);
}
