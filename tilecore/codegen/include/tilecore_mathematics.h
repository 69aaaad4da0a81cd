// Functions that are computed from others, for headers of devices. A backend's header includes it after tilecore_c.h and
// its own tc_exp, tc_abs and tc_floor of float and double.
#pragma once

// Of a size that does not overflow, so that results are right down to the smallest.
TC_FN float tc_sigmoid(float x) {
  const float e = tc_exp(-tc_abs(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
TC_FN double tc_sigmoid(double x) {
  const double e = tc_exp(-tc_abs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}
TC_FN float tc_floor_mod(float a, float b) { return a - tc_floor(a / b) * b; }
TC_FN double tc_floor_mod(double a, double b) { return a - tc_floor(a / b) * b; }

#define TC_EXTREMES(T)                               \
  TC_FN T tc_min(T a, T b) { return b < a ? b : a; } \
  TC_FN T tc_max(T a, T b) { return a < b ? b : a; }
TC_EXTREMES(int)
TC_EXTREMES(unsigned)
TC_EXTREMES(long long)
TC_EXTREMES(unsigned long long)
#undef TC_EXTREMES
TC_FN long long tc_abs(long long x) { return x < 0 ? (long long)(0ull - (unsigned long long)x) : x; }
