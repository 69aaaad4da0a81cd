#pragma once

// A value in the form in which simdgroup functions take it: they take no long, bool or structure.
template <typename T>
struct tc_lane_value {
  typedef T type;
  static T to(T value) { return value; }
  static T from(T value) { return value; }
};
#define TC_LANE_VALUE(T, FORM, TO, FROM)                   \
  template <>                                              \
  struct tc_lane_value<T> {                                \
    typedef FORM type;                                     \
    static FORM to(T value) { return TO; }                 \
    static T from(FORM value) { return FROM; }             \
  };
TC_LANE_VALUE(bool, ushort, value, value != 0)  // provides: tc_lane_value
TC_LANE_VALUE(long, uint2, as_type<uint2>(value), as_type<long>(value))  // provides: tc_lane_value
TC_LANE_VALUE(ulong, uint2, as_type<uint2>(value), as_type<ulong>(value))  // provides: tc_lane_value
#if __METAL_VERSION__ >= 310  // provides: tc_lane_value; for: bfloat
TC_LANE_VALUE(bfloat, ushort, as_type<ushort>(value), as_type<bfloat>(value))
#endif
TC_LANE_VALUE(tc_fp8_e4m3, uchar, value.bits, tc_fp8_e4m3{value})  // provides: tc_lane_value; for: tc_fp8_e4m3
TC_LANE_VALUE(tc_fp8_e5m2, uchar, value.bits, tc_fp8_e5m2{value})  // provides: tc_lane_value; for: tc_fp8_e5m2
TC_LANE_VALUE(tc_fp8_e4m3fnuz, uchar, value.bits, tc_fp8_e4m3fnuz{value})  // provides: tc_lane_value; for: tc_fp8_e4m3fnuz
TC_LANE_VALUE(tc_fp8_e5m2fnuz, uchar, value.bits, tc_fp8_e5m2fnuz{value})  // provides: tc_lane_value; for: tc_fp8_e5m2fnuz
TC_LANE_VALUE(tc_fp4_e2m1, uchar, value.bits, tc_fp4_e2m1{value})  // provides: tc_lane_value; for: tc_fp4_e2m1
