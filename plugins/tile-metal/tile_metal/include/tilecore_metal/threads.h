// What the threads of a threadgroup do together. A simdgroup has 32 threads.
#pragma once

TC_FN void tc_barrier() { metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device); }
// Orders accesses of threadgroup memory alone.
TC_FN void tc_shared_barrier() { metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup); }
TC_FN void tc_warp_barrier() { metal::simdgroup_barrier(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device); }

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
TC_LANE_VALUE(bool, ushort, value, value != 0)
TC_LANE_VALUE(long, uint2, as_type<uint2>(value), as_type<long>(value))
TC_LANE_VALUE(ulong, uint2, as_type<uint2>(value), as_type<ulong>(value))
#if __METAL_VERSION__ >= 310
TC_LANE_VALUE(bfloat, ushort, as_type<ushort>(value), as_type<bfloat>(value))
#endif
#undef TC_LANE_VALUE

// The value of another lane of the simdgroup; without such a lane the own value (6.9.2 of the specification: lanes at the
// edge of simd_shuffle_up and simd_shuffle_down keep theirs).
#define TC_SHUFFLE(NAME, CALL, FORM)                                                \
  template <typename T>                                                             \
  TC_FN T tc_shuffle_##NAME(T value, int lane) {                                    \
    typedef tc_lane_value<T> form;                                                  \
    return form::from(metal::CALL(form::to(value), (ushort)(FORM)));                \
  }
TC_SHUFFLE(idx, simd_shuffle, lane & 31)
TC_SHUFFLE(xor, simd_shuffle_xor, lane)
TC_SHUFFLE(up, simd_shuffle_up, lane)
TC_SHUFFLE(down, simd_shuffle_down, lane)
#undef TC_SHUFFLE
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
#define TC_SHUFFLE(NAME)                                                            \
  template <typename T>                                                             \
  TC_FN T tc_shuffle_##NAME(T value, int lane, int width) {                         \
    return tc_shuffle_##NAME##_of_part(value, lane, width, tc_own_lane());          \
  }
TC_SHUFFLE(idx)
TC_SHUFFLE(up)
TC_SHUFFLE(down)
#undef TC_SHUFFLE

TC_FN bool tc_vote_any(bool p) { return metal::simd_any(p); }
TC_FN bool tc_vote_all(bool p) { return metal::simd_all(p); }
TC_FN uint tc_vote_ballot(bool p) { return (uint)(ulong)(metal::simd_vote::vote_t)metal::simd_ballot(p); }

// Votes of the threadgroup. `votes`: a word of threadgroup memory that the kernel declares. The first barrier lets all
// threads read the vote before, the second one sees the word cleared.
TC_FN int tc_threadgroup_count(threadgroup metal::atomic_uint* votes, bool p) {
  tc_barrier();
  metal::atomic_store_explicit(votes, 0u, metal::memory_order_relaxed);
  tc_barrier();
  const uint lanes = tc_vote_ballot(p);
  if (metal::simd_is_first()) metal::atomic_fetch_add_explicit(votes, metal::popcount(lanes), metal::memory_order_relaxed);
  tc_barrier();
  return (int)metal::atomic_load_explicit(votes, metal::memory_order_relaxed);
}
TC_FN bool tc_threadgroup_any(threadgroup metal::atomic_uint* votes, bool p) { return tc_threadgroup_count(votes, p) != 0; }
TC_FN bool tc_threadgroup_all(threadgroup metal::atomic_uint* votes, bool p) { return tc_threadgroup_count(votes, !p) == 0; }
