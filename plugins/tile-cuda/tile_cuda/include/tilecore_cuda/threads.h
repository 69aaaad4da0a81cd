// Operations of the threads of a block. All lanes of a warp take part in the operations of a warp.
#pragma once

#ifdef TC_SPINS
// The kernel has atomics, which may be loops of compare-and-swap. ptxas lets their threads YIELD, which splits a warp, and
// yet takes it for whole at __syncthreads() behind the next branch: threads pass one that others of their warp have not
// reached (docs/notes/compilers.md). Barriers without .aligned check that the warp has converged; where it has not, its
// threads meet at the warp barrier in front, since the path of ptxas for a split warp lets threads pass as well.
#define TC_ALIGNED ""
#define TC_CONVERGE() __syncwarp()
TC_FN void tc_barrier() {
  TC_CONVERGE();
  asm volatile("barrier.sync 0;" ::: "memory");
}
#define TC_BLOCK_VOTE(NAME, OPERATION)                                                                       \
  TC_FN bool tc_block_vote_##NAME(bool p) {                                                                  \
    unsigned holds;                                                                                          \
    TC_CONVERGE();                                                                                           \
    asm volatile("{\n.reg .pred p, q;\nsetp.ne.u32 p, %1, 0;\nbarrier.red." OPERATION                       \
                 ".pred q, 0, p;\nselp.u32 %0, 1, 0, q;\n}" : "=r"(holds) : "r"(unsigned(p)) : "memory"); \
    return holds;                                                                                            \
  }
TC_BLOCK_VOTE(any, "or")
TC_BLOCK_VOTE(all, "and")
#undef TC_BLOCK_VOTE
TC_FN int tc_block_vote_count(bool p) {
  int count;
  TC_CONVERGE();
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %1, 0;\nbarrier.red.popc.u32 %0, 0, p;\n}"
               : "=r"(count) : "r"(unsigned(p)) : "memory");
  return count;
}
#else
#define TC_ALIGNED ".aligned"
#define TC_CONVERGE() ((void)0)
TC_FN void tc_barrier() { __syncthreads(); }
TC_FN bool tc_block_vote_any(bool p) { return __syncthreads_or(p); }
TC_FN bool tc_block_vote_all(bool p) { return __syncthreads_and(p); }
TC_FN int tc_block_vote_count(bool p) { return __syncthreads_count(p); }
#endif
TC_FN void tc_warp_barrier() { __syncwarp(); }
// A barrier of the threads that pass this `id` (1 to 15); threads: their number, a multiple of the warp size.
TC_FN void tc_named_barrier(int id, int threads) {
  TC_CONVERGE();
  asm volatile("barrier.sync" TC_ALIGNED " %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
TC_FN void tc_named_barrier_arrive(int id, int threads) {
  TC_CONVERGE();
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

TC_FN bool tc_vote_any(bool p) { return __any_sync(0xffffffffu, p); }
TC_FN bool tc_vote_all(bool p) { return __all_sync(0xffffffffu, p); }
TC_FN unsigned tc_vote_ballot(bool p) { return __ballot_sync(0xffffffffu, p); }

template <int Bytes>
struct tc_word;
template <>
struct tc_word<1> {
  using type = unsigned char;
  using wide = unsigned;
};
template <>
struct tc_word<2> {
  using type = unsigned short;
  using wide = unsigned;
};
template <>
struct tc_word<4> {
  using type = unsigned;
  using wide = unsigned;
};
template <>
struct tc_word<8> {
  using type = unsigned long long;
  using wide = unsigned long long;
};

// width: lanes of a group, a power of two up to 32.
#define TC_SHUFFLE(KIND, BUILTIN)                                                           \
  template <class T>                                                                        \
  TC_FN T tc_shuffle_##KIND(T value, int lane, int width = 32) {                            \
    using word = typename tc_word<int(sizeof(T))>::type;                                    \
    using wide = typename tc_word<int(sizeof(T))>::wide;                                    \
    return tc_bits<T>(word(BUILTIN(0xffffffffu, wide(tc_bits<word>(value)), lane, width))); \
  }
TC_SHUFFLE(idx, __shfl_sync)
TC_SHUFFLE(xor, __shfl_xor_sync)
TC_SHUFFLE(up, __shfl_up_sync)
TC_SHUFFLE(down, __shfl_down_sync)
#undef TC_SHUFFLE

// The lanes with an equal value of 4 or 8 bytes (sm_70); all: all lanes if their values are equal, else 0.
template <class T>
TC_FN unsigned tc_match_any(T value) {
  return __match_any_sync(0xffffffffu, value);
}
template <class T>
TC_FN unsigned tc_match_all(T value) {
  int same;
  return __match_all_sync(0xffffffffu, value, &same);
}
// The mask of the active lanes.
TC_FN unsigned tc_active_mask() { return __activemask(); }

#define tc_print(...) printf(__VA_ARGS__)
#define tc_assert(CONDITION, NUMBER, MESSAGE)                                                                      \
  do {                                                                                                             \
    if (!(CONDITION)) {                                                                                            \
      printf("device assertion %d failed in block (%d, %d, %d), thread (%d, %d, %d): %s\n", NUMBER, blockIdx.x,    \
             blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, MESSAGE);                              \
      __trap();                                                                                                    \
    }                                                                                                              \
  } while (0)
#define tc_assume(CONDITION) __builtin_assume(CONDITION)
// A value that is the same in all lanes; the compiler then uses a uniform register.
TC_FN int tc_uniform(int value) { return __shfl_sync(0xffffffffu, value, 0); }
