// The reductions of reductions.h on the simulated device: exchanges, which check that all lanes take part.
#pragma once
#define TC_REDUCTION(NAME, COMBINED)                                      \
  template <class T>                                                      \
  TC_INLINE T NAME(T value, int line = TC_LINE) {                         \
    for (unsigned step = 16; step != 0; step /= 2) {                      \
      const T other = tc_shuffle_xor(value, step, 0, 0, line);            \
      value = (T)(COMBINED);                                              \
    }                                                                     \
    return value;                                                         \
  }
TC_REDUCTION(tc_lanes_sum, value + other)
TC_REDUCTION(tc_lanes_product, value * other)
TC_REDUCTION(tc_lanes_min, other < value ? other : value)
TC_REDUCTION(tc_lanes_max, value < other ? other : value)
TC_REDUCTION(tc_lanes_and, value & other)
TC_REDUCTION(tc_lanes_or, value | other)
TC_REDUCTION(tc_lanes_xor, value ^ other)
#undef TC_REDUCTION
