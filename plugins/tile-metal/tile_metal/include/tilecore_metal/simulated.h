// The header on tilecore's simulated device: C++ of the host, with the words of the Metal Shading Language.
// tile_metal/simulated_text.py rewrites what macros cannot.
#pragma once
#include "tilecore_sim.h"

#define TC_FN inline __attribute__((always_inline))
#include "tilecore_c.h"
#include "tilecore_sim/further.h"
#include "tilecore_sim/hinted_moves.h"

typedef tc_half half;
typedef tc_bfloat16 bfloat;
#define uchar unsigned char
#define ushort unsigned short
#define uint unsigned
#define ulong unsigned long long

#define TC_SMALL_FLOAT(NAME, ...)       \
  template <class T>                    \
  TC_FN NAME NAME##_from(T x) {         \
    return NAME(x);                     \
  }
TC_SMALL_FLOATS(TC_SMALL_FLOAT)
#undef TC_SMALL_FLOAT
template <class T>
TC_FN float tc_single(T x) {
  return (float)x;
}
template <class T>
TC_FN T tc_value(T x) {
  return x;
}
template <class T>
struct tc_aliased {
  typedef T __attribute__((may_alias)) type;
};

#define tc_shared_barrier tc_barrier
#define tc_shuffle_idx_of_part(VALUE, LANE, WIDTH, OWN) tc_shuffle_idx(VALUE, LANE, WIDTH)
#define tc_shuffle_up_of_part(VALUE, LANE, WIDTH, OWN) tc_shuffle_up(VALUE, LANE, WIDTH)
#define tc_shuffle_down_of_part(VALUE, LANE, WIDTH, OWN) tc_shuffle_down(VALUE, LANE, WIDTH)
#define tc_atomic_ulong_max tc_atomic_max
#define tc_atomic_ulong_min tc_atomic_min
#define tc_threadgroup_any(VOTES, PREDICATE) tc_block_vote_any(PREDICATE)
#define tc_threadgroup_all(VOTES, PREDICATE) tc_block_vote_all(PREDICATE)
#define tc_threadgroup_count(VOTES, PREDICATE) tc_block_vote_count(PREDICATE)
#include "tilecore_metal/simulated_reductions.h"
#include "tilecore_metal/simulated_matrix.h"
#include "tilecore_metal/simulated_matmul2d.h"

// The simulator prints at once, and has the numbers of assertions.
#undef tc_print
#undef tc_assert
#define tc_print(MESSAGES, NUMBER, ...) tc_sim_print(__VA_ARGS__)
#define tc_assert(MESSAGES, CONDITION, NUMBER, ...) ((CONDITION) ? (void)0 : tc_sim_assert_failed((NUMBER), __LINE__))

// The words that the text has and C++ has not, after all that is C++.
#define device
#define threadgroup
#define thread
#define constant const
#define coherent(SCOPE)
#define tc_block (tc_sim_block_index())
#define tc_thread (tc_sim_thread_index())
