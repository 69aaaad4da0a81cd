// The header on tilecore's simulated device: the keywords of HIP, and waves of TC_WAVE lanes.
#pragma once
#include "tilecore_sim.h"

#define TC_FN inline __attribute__((always_inline))
#include "tilecore_c.h"
#include "tilecore_sim/further.h"
#include "tilecore_sim/hinted_moves.h"

#define __global__
#define __launch_bounds__(...)
#define TC_LAUNCH_BOUNDS(...)
#define blockIdx tc_sim_block_index()
#define threadIdx tc_sim_thread_index()

// -- operations of a part of a wave ------------------------------------------------------------------------------------
// A wave has no masks: the lanes that are active take part, and an inactive lane has no value. So the lanes of each group
// of `width` must come to an operation together, but not the groups of a wave.

TC_FN unsigned tc_wave_lane() {
  const auto index = tc_sim_thread_index(), size = tc_sim_block_size();
  return unsigned(index.x + size.x * (index.y + size.y * index.z)) % TC_WAVE;
}
TC_FN unsigned long long tc_group_mask(unsigned width) {
  const unsigned long long lanes = width >= 64 ? ~0ull : (1ull << width) - 1;
  return lanes << (tc_wave_lane() & ~(width - 1));
}
#define TC_GROUPED(KIND)                                                                    \
  template <class T>                                                                        \
  TC_FN T tc_grouped_##KIND(T value, unsigned lane, unsigned width = 32, int line = TC_LINE) { \
    return tc_shuffle_##KIND(value, lane, width, tc_group_mask(width), line);               \
  }
TC_GROUPED(idx)
TC_GROUPED(xor)
TC_GROUPED(up)
TC_GROUPED(down)
#undef TC_GROUPED
TC_FN unsigned tc_grouped_ballot(bool p, int line = TC_LINE) {
  return unsigned(tc_vote_ballot(p, tc_group_mask(32), line) >> (tc_wave_lane() & 32));
}
TC_FN bool tc_grouped_any(bool p, int line = TC_LINE) { return tc_grouped_ballot(p, line) != 0; }
TC_FN bool tc_grouped_all(bool p, int line = TC_LINE) { return tc_grouped_ballot(!p, line) == 0; }
TC_FN void tc_grouped_barrier(int line = TC_LINE) { tc_warp_barrier(tc_group_mask(32), line); }
#define tc_shared_barrier tc_barrier

// A copy of each lane of a wave to LDS, as hardware does it: where the lanes write follows from the first one's place.
struct tc_lds_copy {
  unsigned char* to;
  const void* from;
  bool valid;
};
template <unsigned Bytes>
TC_FN void tc_copy_to_lds(void* to, const void* from, bool valid = true, int line = TC_LINE) {
  tc_lds_copy copy{static_cast<unsigned char*>(to), from, valid};
  tc_collective(
      "a copy to LDS", copy,
      [line](tc_lds_copy* const* lanes, unsigned count) {
        for (unsigned lane = 0; lane < count; ++lane) {
          tc_sim_act_as(lane);
          tc_sim_copy_async(lanes[0]->to + lane * Bytes, lanes[lane]->from, Bytes, lanes[lane]->valid ? Bytes : 0, line);
        }
      },
      0, 0, line);
  tc_commit_async(line);  // each copy may be waited for
}
template <unsigned Remaining>
TC_FN void tc_wait_copies(int line = TC_LINE) {
  tc_wait_async<Remaining>(line);
}

#define tc_shuffle_idx tc_grouped_idx
#define tc_shuffle_xor tc_grouped_xor
#define tc_shuffle_up tc_grouped_up
#define tc_shuffle_down tc_grouped_down
#define tc_vote_ballot tc_grouped_ballot
#define tc_vote_any tc_grouped_any
#define tc_vote_all tc_grouped_all
#define tc_warp_barrier tc_grouped_barrier

#include "tilecore_hip/simulated_matrix.h"
