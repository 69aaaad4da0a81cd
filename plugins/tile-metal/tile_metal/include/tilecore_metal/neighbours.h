#pragma once

// The next value from x in the direction of y.
#define TC_NEIGHBOUR(T, BITS, NARROWED)                                                        \
  TC_FN T tc_nextafter(T x, T y) {                                                             \
    const float a = (float)x, b = (float)y;                                                    \
    if (tc_isnan(a) || tc_isnan(b)) return NARROWED(a + b);                                    \
    if (a == b) return y;                                                                      \
    const BITS sign = (BITS)(tc_bits<BITS>(NARROWED(-1.0f)) ^ tc_bits<BITS>(NARROWED(1.0f)));  \
    if (a == 0.0f) return tc_bits<T>(b > 0.0f ? (BITS)1 : (BITS)(sign | 1));                   \
    const bool away = (b > a) == (a > 0.0f);                                                   \
    const BITS bits = (BITS)(tc_bits<BITS>(x) + (away ? 1 : -1));                              \
    return bits == sign ? NARROWED(-0.0f) : tc_bits<T>(bits);                                  \
  }
TC_NEIGHBOUR(half, ushort, half)  // provides: tc_nextafter; for: half
#if __METAL_VERSION__ >= 310  // provides: tc_nextafter; for: bfloat
TC_NEIGHBOUR(bfloat, ushort, bfloat)
#endif
TC_NEIGHBOUR(tc_fp8_e4m3, uchar, tc_fp8_e4m3_from)  // provides: tc_nextafter; for: tc_fp8_e4m3
TC_NEIGHBOUR(tc_fp8_e5m2, uchar, tc_fp8_e5m2_from)  // provides: tc_nextafter; for: tc_fp8_e5m2
TC_NEIGHBOUR(tc_fp8_e4m3fnuz, uchar, tc_fp8_e4m3fnuz_from)  // provides: tc_nextafter; for: tc_fp8_e4m3fnuz
TC_NEIGHBOUR(tc_fp8_e5m2fnuz, uchar, tc_fp8_e5m2fnuz_from)  // provides: tc_nextafter; for: tc_fp8_e5m2fnuz
TC_NEIGHBOUR(tc_fp4_e2m1, uchar, tc_fp4_e2m1_from)  // provides: tc_nextafter; for: tc_fp4_e2m1
