// A value of each lane of a simdgroup, reduced to one that all lanes get. All 32 lanes take part.
#pragma once

// The form in which simdgroup functions take a value: they take no bool, and bfloat and bytes are computed wider.
template <typename T>
struct tc_reduced {
  typedef T type;
};
template <>
struct tc_reduced<bool> {
  typedef ushort type;
};
template <>
struct tc_reduced<char> {
  typedef int type;
};
template <>
struct tc_reduced<uchar> {
  typedef uint type;
};
#if __METAL_VERSION__ >= 310
template <>
struct tc_reduced<bfloat> {
  typedef float type;
};
#endif
#define TC_REDUCTION(NAME, CALL)                                         \
  template <typename T>                                                  \
  TC_FN T NAME(T value) {                                                \
    return (T)metal::CALL((typename tc_reduced<T>::type)value);          \
  }
TC_REDUCTION(tc_lanes_sum, simd_sum)
TC_REDUCTION(tc_lanes_product, simd_product)
TC_REDUCTION(tc_lanes_min, simd_min)
TC_REDUCTION(tc_lanes_max, simd_max)
TC_REDUCTION(tc_lanes_and, simd_and)
TC_REDUCTION(tc_lanes_or, simd_or)
TC_REDUCTION(tc_lanes_xor, simd_xor)
#undef TC_REDUCTION
