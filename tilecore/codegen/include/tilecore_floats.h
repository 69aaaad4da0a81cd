// Narrow floats for headers of devices: conversions by integer arithmetic, and macros that define the types and their
// arithmetic. A backend's header includes it after tilecore_c.h and its own tc_half_value.
#pragma once

#include "tilecore_float_conversions.h"

// -- types, whose other operations are by float: exact enough to round once -------------------------------------------

// Needs tc_round_to_odd: a double as a float that rounds once more as the double does.
#define TC_NARROW(NAME, BITS, TO_BITS, TO_VALUE)                                                   \
  struct NAME {                                                                                    \
    BITS bits;                                                                                     \
    NAME() = default;                                                                              \
    TC_FN static NAME from_bits(BITS raw) {                                                        \
      NAME value;                                                                                  \
      value.bits = raw;                                                                            \
      return value;                                                                                \
    }                                                                                              \
    TC_FN explicit NAME(float x) : bits(TO_BITS(x)) {}                                             \
    TC_FN explicit NAME(double x) : bits(TO_BITS(tc_round_to_odd(x))) {}                           \
    TC_FN explicit NAME(bool x) : bits(TO_BITS(x ? 1.0f : 0.0f)) {}                                \
    TC_FN explicit NAME(int x) : bits(TO_BITS(tc_round_to_odd(double(x)))) {}                      \
    TC_FN explicit NAME(unsigned x) : bits(TO_BITS(tc_round_to_odd(double(x)))) {}                 \
    TC_FN explicit NAME(long long x) : bits(TO_BITS(tc_round_to_odd(double(x)))) {}                \
    TC_FN explicit NAME(unsigned long long x) : bits(TO_BITS(tc_round_to_odd(double(x)))) {}       \
    TC_FN explicit NAME(signed char x) : bits(TO_BITS(float(x))) {}                                \
    TC_FN explicit NAME(unsigned char x) : bits(TO_BITS(float(x))) {}                              \
    TC_FN explicit NAME(short x) : bits(TO_BITS(float(x))) {}                                      \
    TC_FN explicit NAME(unsigned short x) : bits(TO_BITS(float(x))) {}                             \
    TC_FN explicit operator float() const { return TO_VALUE(bits); }                               \
    TC_FN explicit operator double() const { return double(TO_VALUE(bits)); }                      \
  };                                                                                               \
  TC_FN bool operator==(NAME a, NAME b) { return float(a) == float(b); }                           \
  TC_FN bool operator!=(NAME a, NAME b) { return float(a) != float(b); }                           \
  TC_FN bool operator<(NAME a, NAME b) { return float(a) < float(b); }                             \
  TC_FN bool operator<=(NAME a, NAME b) { return float(a) <= float(b); }                           \
  TC_FN bool operator>(NAME a, NAME b) { return float(a) > float(b); }                             \
  TC_FN bool operator>=(NAME a, NAME b) { return float(a) >= float(b); }                           \
  TC_FN NAME operator/(NAME a, NAME b) { return NAME(float(a) / float(b)); }                       \
  TC_FN NAME tc_nextafter(NAME a, NAME b) { return tc_neighbour<NAME, BITS>(a, b); }
#define TC_IN_FLOAT(NAME)                                                                          \
  TC_FN NAME operator+(NAME a, NAME b) { return NAME(float(a) + float(b)); }                       \
  TC_FN NAME operator-(NAME a, NAME b) { return NAME(float(a) - float(b)); }                       \
  TC_FN NAME operator*(NAME a, NAME b) { return NAME(float(a) * float(b)); }
// Needs tc_min and tc_max of float.
#define TC_EXTREMES_IN_FLOAT(NAME)                                                                 \
  TC_FN NAME tc_min(NAME a, NAME b) { return NAME(tc_min(float(a), float(b))); }                   \
  TC_FN NAME tc_max(NAME a, NAME b) { return NAME(tc_max(float(a), float(b))); }
