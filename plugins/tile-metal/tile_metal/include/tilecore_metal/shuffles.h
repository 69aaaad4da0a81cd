#pragma once

// The value of another lane of the simdgroup; without such a lane the own value (6.9.2 of the specification: lanes at the
// edge of simd_shuffle_up and simd_shuffle_down keep theirs).
#define TC_SHUFFLE(NAME, CALL, FORM)                                                \
  template <typename T>                                                             \
  TC_FN T NAME(T value, int lane) {                                                 \
    typedef tc_lane_value<T> form;                                                  \
    return form::from(metal::CALL(form::to(value), (ushort)(FORM)));                \
  }
TC_SHUFFLE(tc_shuffle_idx, simd_shuffle, lane & 31)  // provides: tc_shuffle_idx
TC_SHUFFLE(tc_shuffle_xor, simd_shuffle_xor, lane)  // provides: tc_shuffle_xor
TC_SHUFFLE(tc_shuffle_up, simd_shuffle_up, lane)  // provides: tc_shuffle_up
TC_SHUFFLE(tc_shuffle_down, simd_shuffle_down, lane)  // provides: tc_shuffle_down

template <typename T>
TC_FN T tc_shuffle_xor(T value, int mask, int width) {
  return mask < width ? tc_shuffle_xor(value, mask) : value;
}

// The same within parts of `width` lanes, a power of two. own: this thread's lane, a parameter of the kernel.
template <typename T>
TC_FN T tc_shuffle_idx_of_part(T value, int lane, int width, uint own) {
  return tc_shuffle_idx(value, ((int)own & -width) | (lane & (width - 1)));
}
template <typename T>
TC_FN T tc_shuffle_up_of_part(T value, int distance, int width, uint own) {
  return tc_shuffle_idx(value, ((int)own & (width - 1)) >= distance ? (int)own - distance : (int)own);
}
template <typename T>
TC_FN T tc_shuffle_down_of_part(T value, int distance, int width, uint own) {
  return tc_shuffle_idx(value, ((int)own & (width - 1)) + distance < width ? (int)own + distance : (int)own);
}

// For functions of the user's own, which have no such parameter: all lanes of the simdgroup must call them.
TC_FN uint tc_own_lane() { return metal::simd_prefix_exclusive_sum(1u); }
#define TC_SHUFFLE_OF_PART(NAME, OF_PART)                                           \
  template <typename T>                                                             \
  TC_FN T NAME(T value, int lane, int width) {                                      \
    return OF_PART(value, lane, width, tc_own_lane());                              \
  }
TC_SHUFFLE_OF_PART(tc_shuffle_idx, tc_shuffle_idx_of_part)  // provides: tc_shuffle_idx
TC_SHUFFLE_OF_PART(tc_shuffle_up, tc_shuffle_up_of_part)  // provides: tc_shuffle_up
TC_SHUFFLE_OF_PART(tc_shuffle_down, tc_shuffle_down_of_part)  // provides: tc_shuffle_down
