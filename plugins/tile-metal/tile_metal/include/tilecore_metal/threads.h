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

TC_FN ushort tc_lane() { return (ushort)metal::simd_prefix_exclusive_sum(1u); }

// width: lanes of a group, a power of two up to 32; without such a lane in the group the own value.
template <typename T>
TC_FN T tc_shuffle_idx(T value, int lane, int width = 32) {
  typedef tc_lane_value<T> form;
  const int from = width == 32 ? lane & 31 : ((int)tc_lane() & -width) | (lane & (width - 1));
  return form::from(metal::simd_shuffle(form::to(value), (ushort)from));
}
template <typename T>
TC_FN T tc_shuffle_xor(T value, int mask, int width = 32) {
  typedef tc_lane_value<T> form;
  return mask < width ? form::from(metal::simd_shuffle_xor(form::to(value), (ushort)mask)) : value;
}
template <typename T>
TC_FN T tc_shuffle_up(T value, int distance, int width = 32) {
  typedef tc_lane_value<T> form;
  const int own = (int)tc_lane();
  return form::from(metal::simd_shuffle(form::to(value), (ushort)((own & (width - 1)) >= distance ? own - distance : own)));
}
template <typename T>
TC_FN T tc_shuffle_down(T value, int distance, int width = 32) {
  typedef tc_lane_value<T> form;
  const int own = (int)tc_lane();
  return form::from(metal::simd_shuffle(form::to(value), (ushort)((own & (width - 1)) + distance < width ? own + distance : own)));
}

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
