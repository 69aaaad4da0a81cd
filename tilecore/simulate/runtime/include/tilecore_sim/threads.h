// What threads of a block do together.
#pragma once
#include "calls.h"
#include "floats.h"

TC_INLINE void tc_barrier(int line = TC_LINE) { tc_sim_barrier(line); }
TC_INLINE bool tc_block_vote_any(bool p, int line = TC_LINE) { return tc_sim_block_vote(p, 1, line) != 0; }
TC_INLINE bool tc_block_vote_all(bool p, int line = TC_LINE) { return tc_sim_block_vote(p, 2, line) != 0; }
TC_INLINE int tc_block_vote_count(bool p, int line = TC_LINE) { return int(tc_sim_block_vote(p, 3, line)); }
// threads: all that wait or arrive.
TC_INLINE void tc_named_barrier(int id, unsigned threads, int line = TC_LINE) {
  tc_sim_named_barrier(id, threads, 1, line);
}
TC_INLINE void tc_named_barrier_arrive(int id, unsigned threads, int line = TC_LINE) {
  tc_sim_named_barrier(id, threads, 0, line);
}
TC_INLINE void tc_warp_barrier(uint64_t mask = 0, int line = TC_LINE) { tc_sim_warp_barrier(mask, line); }

template <class T>
TC_INLINE T tc_shuffle_any_kind(T value, unsigned lane, int kind, unsigned width, uint64_t mask, int line) {
  static_assert(sizeof(T) <= 8, "a shuffled value has at most 8 bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = tc_sim_shuffle(bits, lane, kind, width, mask, line);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
// width: lanes of a group, a power of two; 0: the warp. mask: lanes that take part; 0: all.
template <class T>
TC_INLINE T tc_shuffle_idx(T value, unsigned lane, unsigned width = 0, uint64_t mask = 0, int line = TC_LINE) {
  return tc_shuffle_any_kind(value, lane, 0, width, mask, line);
}
template <class T>
TC_INLINE T tc_shuffle_xor(T value, unsigned lane, unsigned width = 0, uint64_t mask = 0, int line = TC_LINE) {
  return tc_shuffle_any_kind(value, lane, 1, width, mask, line);
}
template <class T>
TC_INLINE T tc_shuffle_up(T value, unsigned delta, unsigned width = 0, uint64_t mask = 0, int line = TC_LINE) {
  return tc_shuffle_any_kind(value, delta, 2, width, mask, line);
}
template <class T>
TC_INLINE T tc_shuffle_down(T value, unsigned delta, unsigned width = 0, uint64_t mask = 0, int line = TC_LINE) {
  return tc_shuffle_any_kind(value, delta, 3, width, mask, line);
}
TC_INLINE bool tc_vote_any(bool p, uint64_t mask = 0, int line = TC_LINE) { return tc_sim_vote(p, 1, mask, line) != 0; }
TC_INLINE bool tc_vote_all(bool p, uint64_t mask = 0, int line = TC_LINE) { return tc_sim_vote(p, 2, mask, line) != 0; }
TC_INLINE uint64_t tc_vote_ballot(bool p, uint64_t mask = 0, int line = TC_LINE) {
  return tc_sim_vote(p, 3, mask, line);
}

// One operation of all lanes of a warp (or of `width` neighbouring threads), such as a matrix instruction: body is run
// once, when every lane has brought its operands: body(Operands* const* lanes, unsigned count). A lane that takes no
// part is null. Before it touches memory on behalf of a lane it says tc_sim_act_as(lane).
template <class Operands, class Body>
inline void tc_collective(const char* name, Operands& mine, Body body, unsigned width = 0, uint64_t mask = 0,
                          int line = TC_LINE) {
  tc_sim_collective(
      name, width, mask, &mine,
      [](void* const* operands, unsigned lanes, void* context) {
        (*static_cast<Body*>(context))(reinterpret_cast<Operands* const*>(operands), lanes);
      },
      &body, line);
}

#define tc_print tc_sim_print
// The user's message, which follows the number, is the host's to print.
#define tc_assert(CONDITION, NUMBER, ...) ((CONDITION) ? (void)0 : tc_sim_assert_failed((NUMBER), __LINE__))
#define tc_assume(CONDITION) \
  do {                       \
    if (!(CONDITION)) tc_sim_fail("assumption", "an assumption does not hold: " #CONDITION, __LINE__); \
  } while (0)
