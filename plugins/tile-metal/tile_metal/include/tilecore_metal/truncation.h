#pragma once

// A float as an integer: towards zero, out of range the nearest limit, NaN 0. ABOVE: the first power of two that is too
// large. Metal's own conversion has no meaning out of range, so what it gets is inside. There are selections alone and
// no branches: lanes differ.
template <typename T>
TC_FN T tc_truncate(float x);
#define TC_TRUNCATE(T, LOW, HIGH, ABOVE)                         \
  template <>                                                    \
  TC_FN T tc_truncate<T>(float x) {                              \
    const float inside = x < (ABOVE) ? metal::fmax(x, (float)(LOW)) : 0.0f; \
    return x >= (ABOVE) ? (T)(HIGH) : (T)inside;                 \
  }
TC_TRUNCATE(char, -128, 127, 128.0f)  // provides: tc_truncate; for: char
TC_TRUNCATE(short, -32768, 32767, 32768.0f)  // provides: tc_truncate; for: short
TC_TRUNCATE(int, -2147483647 - 1, 2147483647, 2147483648.0f)  // provides: tc_truncate; for: int
TC_TRUNCATE(long, -9223372036854775807l - 1, 9223372036854775807l, 9223372036854775808.0f)  // provides: tc_truncate; for: long
TC_TRUNCATE(uchar, 0, 255, 256.0f)  // provides: tc_truncate; for: uchar
TC_TRUNCATE(ushort, 0, 65535, 65536.0f)  // provides: tc_truncate; for: ushort
TC_TRUNCATE(uint, 0, 4294967295u, 4294967296.0f)  // provides: tc_truncate; for: uint
TC_TRUNCATE(ulong, 0, 18446744073709551615ul, 18446744073709551616.0f)  // provides: tc_truncate; for: ulong
