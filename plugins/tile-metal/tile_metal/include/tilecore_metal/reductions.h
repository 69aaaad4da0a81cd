// A value of each lane of a simdgroup, reduced to one that all lanes get. All 32 lanes take part.
#pragma once

// The form in which simdgroup functions take a value: they take no bool, and bfloat and bytes are computed wider.
template <typename T>
struct tc_reduced {
  typedef T type;
};
#define TC_REDUCED(T, FORM)  \
  template <>                \
  struct tc_reduced<T> {     \
    typedef FORM type;       \
  };
TC_REDUCED(bool, ushort)  // provides: tc_reduced
TC_REDUCED(char, int)  // provides: tc_reduced
TC_REDUCED(uchar, uint)  // provides: tc_reduced
#if __METAL_VERSION__ >= 310  // provides: tc_reduced; for: bfloat
TC_REDUCED(bfloat, float)
#endif

#define TC_REDUCTION(NAME, CALL)                                         \
  template <typename T>                                                  \
  TC_FN T NAME(T value) {                                                \
    return (T)metal::CALL((typename tc_reduced<T>::type)value);          \
  }
TC_REDUCTION(tc_lanes_sum, simd_sum)  // provides: tc_lanes_sum
TC_REDUCTION(tc_lanes_product, simd_product)  // provides: tc_lanes_product
TC_REDUCTION(tc_lanes_min, simd_min)  // provides: tc_lanes_min
TC_REDUCTION(tc_lanes_max, simd_max)  // provides: tc_lanes_max
TC_REDUCTION(tc_lanes_and, simd_and)  // provides: tc_lanes_and
TC_REDUCTION(tc_lanes_or, simd_or)  // provides: tc_lanes_or
TC_REDUCTION(tc_lanes_xor, simd_xor)  // provides: tc_lanes_xor
