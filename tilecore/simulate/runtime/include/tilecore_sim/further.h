// What emitted kernels call besides: the usual form of it, for a backend's header to take after tilecore_sim.h and
// tilecore_c.h. Needs TC_FN, such as `inline`.
#pragma once
#include <cstdint>
#include <type_traits>

// -- mathematics -----------------------------------------------------------------------------------------------------

// Of a size that does not overflow, so that results are right down to the smallest.
TC_FN float tc_sigmoid(float x) {
  const float e = __builtin_expf(-__builtin_fabsf(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
TC_FN double tc_sigmoid(double x) {
  const double e = __builtin_exp(-__builtin_fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}
TC_FN float tc_ldexp(float x, int power) { return __builtin_ldexpf(x, power); }
TC_FN double tc_ldexp(double x, int power) { return __builtin_ldexp(x, power); }
TC_FN float tc_nextafter(float x, float y) { return __builtin_nextafterf(x, y); }
TC_FN double tc_nextafter(double x, double y) { return __builtin_nextafter(x, y); }
TC_FN float tc_floor_mod(float a, float b) { return a - __builtin_floorf(a / b) * b; }
TC_FN double tc_floor_mod(double a, double b) { return a - __builtin_floor(a / b) * b; }
TC_FN float tc_rounded(float x) { return x; }
TC_FN double tc_rounded(double x) { return x; }
#define TC_ROUNDED(T)                                 \
  TC_FN T tc_rounded_add(T a, T b) { return a + b; }  \
  TC_FN T tc_rounded_sub(T a, T b) { return a - b; }  \
  TC_FN T tc_rounded_mul(T a, T b) { return a * b; }
TC_ROUNDED(float)
TC_ROUNDED(double)
#undef TC_ROUNDED
#include "tilecore_directed.h"
TC_FN tc_half tc_nextafter(tc_half x, tc_half y) { return tc_neighbour<tc_half, uint16_t>(x, y); }
TC_FN tc_bfloat16 tc_nextafter(tc_bfloat16 x, tc_bfloat16 y) { return tc_neighbour<tc_bfloat16, uint16_t>(x, y); }
#define TC_SMALL_FLOAT_FUNCTIONS(T, ...)                                      \
  TC_FN T tc_nextafter(T x, T y) { return tc_neighbour<T, uint8_t>(x, y); }   \
  TC_FN T tc_min(T a, T b) { return T(tc_min(float(a), float(b))); }          \
  TC_FN T tc_max(T a, T b) { return T(tc_max(float(a), float(b))); }
TC_SMALL_FLOATS(TC_SMALL_FLOAT_FUNCTIONS)
#undef TC_SMALL_FLOAT_FUNCTIONS
// `long long` is another type than the runtime's int64_t on some hosts.
template <class T, class Other>
using tc_if_other = std::enable_if_t<(std::is_same<T, long long>::value || std::is_same<T, unsigned long long>::value) &&
                                     !std::is_same<T, Other>::value, T>;
template <class T, class Fixed = std::conditional_t<std::is_signed<T>::value, int64_t, uint64_t>>
TC_FN tc_if_other<T, Fixed> tc_min(T a, T b) { return a < b ? a : b; }
template <class T, class Fixed = std::conditional_t<std::is_signed<T>::value, int64_t, uint64_t>>
TC_FN tc_if_other<T, Fixed> tc_max(T a, T b) { return a < b ? b : a; }
template <class T, std::enable_if_t<std::is_same<T, long long>::value && !std::is_same<T, int64_t>::value, int> = 0>
TC_FN T tc_abs(T a) { return a < 0 ? -a : a; }
template <class T, std::enable_if_t<std::is_same<T, unsigned long long>::value && !std::is_same<T, uint64_t>::value, int> = 0>
TC_FN int tc_popcount(T x) { return __builtin_popcountll(x); }
template <class T, std::enable_if_t<std::is_same<T, unsigned long long>::value && !std::is_same<T, uint64_t>::value, int> = 0>
TC_FN int tc_clz(T x) { return x ? __builtin_clzll(x) : 64; }

// -- lanes that hold one value: a bit for each, of the lanes that a block has --------------------------------------------

TC_FN unsigned tc_active_mask(int line = TC_LINE) { return unsigned(tc_vote_ballot(true, 0, line)); }
template <class T>
inline unsigned tc_match_any(T value, int line = TC_LINE) {
  struct Operands {
    T value;
    unsigned same;
  } mine{value, 0};
  tc_collective(
      "tc_match_any", mine,
      [](Operands* const* lanes, unsigned count) {
        for (unsigned i = 0; i < count; ++i)
          for (unsigned j = 0; j < count && lanes[i]; ++j)
            if (lanes[j] && lanes[i]->value == lanes[j]->value) lanes[i]->same |= 1u << j;
      },
      0, 0, line);
  return mine.same;
}
// All lanes, if they hold one value; else 0.
template <class T>
TC_FN unsigned tc_match_all(T value, int line = TC_LINE) {
  const unsigned all = unsigned(tc_vote_ballot(true, 0, line)), same = tc_match_any(value, line);
  return same == all ? all : 0;
}
