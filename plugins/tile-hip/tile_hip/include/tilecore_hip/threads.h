// Operations of the threads of a block. The lanes of a wave run in lockstep. "Warps" of the language are 32 neighbouring
// threads, which are half of a wave of 64 lanes.
#pragma once

TC_FN int tc_lane() { return int(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0))); }

// The compiler moves no access of memory across it. Barriers and fences need it, as clang would sink a load past them
// into a branch that alone uses its value (LLVM's MachineSink: it looks for stores, and these are none).
TC_FN void tc_keep_order() { asm volatile("" ::: "memory"); }

TC_FN void tc_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  tc_keep_order();
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
// Orders accesses of LDS alone: loads of global memory stay in flight. On CDNA a barrier waits for LDS only, anyway; on
// RDNA, clang before version 22 waits for global memory at every fence.
TC_FN void tc_shared_barrier() {
#if defined(__gfx950__)  // a fence of LDS waits for copies from global memory, which tc_wait_copies does
  asm volatile("s_waitcnt lgkmcnt(0)\n\ts_barrier" ::: "memory");
#elif defined(__GFX9__)
  tc_barrier();
#elif __clang_major__ >= 22
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  tc_keep_order();
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
#elif defined(__GFX12__)
  asm volatile("s_wait_dscnt 0x0\n\ts_barrier_signal -1\n\ts_barrier_wait -1" ::: "memory");
#else
  asm volatile("s_waitcnt lgkmcnt(0)\n\ts_barrier" ::: "memory");
#endif
}
TC_FN void tc_warp_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  tc_keep_order();
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

// The lanes of the wave in which the predicate holds, a bit for each.
TC_FN unsigned long long tc_wave_ballot(bool p) {
#if TC_WAVE == 64
  return __builtin_amdgcn_ballot_w64(p);
#else
  return __builtin_amdgcn_ballot_w32(p);
#endif
}
// The lanes of this thread's 32 in which the predicate holds.
TC_FN unsigned tc_vote_ballot(bool p) { return unsigned(tc_wave_ballot(p) >> (tc_lane() & 32)); }
TC_FN unsigned tc_active_mask() { return tc_vote_ballot(true); }
TC_FN bool tc_vote_any(bool p) { return tc_vote_ballot(p) != 0; }
TC_FN bool tc_vote_all(bool p) { return tc_vote_ballot(!p) == 0; }

// Votes of the block: each wave adds its lanes to a word of LDS. The first barrier lets all threads read the vote before,
// the second one sees the word cleared.
TC_FN int tc_block_vote_count(bool p) {
  static __shared__ int count;
  const bool is_first = (threadIdx.x | threadIdx.y | threadIdx.z) == 0;
  tc_barrier();
  if (is_first) count = 0;
  tc_barrier();
  const unsigned long long lanes = tc_wave_ballot(p), active = tc_wave_ballot(true);
  const int first_lane = __builtin_ctzll(active);
  if (tc_lane() == first_lane)
    __scoped_atomic_fetch_add(&count, __builtin_popcountll(lanes), __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  tc_barrier();
  return count;
}
TC_FN bool tc_block_vote_any(bool p) { return tc_block_vote_count(p) != 0; }
TC_FN bool tc_block_vote_all(bool p) { return tc_block_vote_count(!p) == 0; }

// -- values of other lanes ---------------------------------------------------------------------------------------------

template <int Bytes>
struct tc_word;
template <>
struct tc_word<1> {
  using type = unsigned char;
};
template <>
struct tc_word<2> {
  using type = unsigned short;
};
template <>
struct tc_word<4> {
  using type = unsigned;
};
template <>
struct tc_word<8> {
  using type = unsigned long long;
};

// Moves a value of 1 to 8 bytes between lanes, in words of 4 bytes. Move: its `word` moves one of them.
template <class T, class Move>
TC_FN T tc_move_lanes(T value, Move move) {
  using word = typename tc_word<int(sizeof(T))>::type;
  const word bits = tc_bits<word>(value);
  if constexpr (sizeof(T) == 8) {
    const unsigned low = move.word(int(unsigned(bits)));
    const unsigned high = move.word(int(unsigned(bits >> 32)));
    return tc_bits<T>(word(low) | word(high) << 32);
  } else {
    return tc_bits<T>(word(unsigned(move.word(int(bits)))));
  }
}

// The value of another lane of the wave, which must be active. It goes through the crossbar of LDS.
struct tc_lane_mover {
  int lane;
  TC_FN int word(int bits) const { return __builtin_amdgcn_ds_bpermute(4 * lane, bits); }
};
template <class T>
TC_FN T tc_from_lane(T value, int lane) {
  return tc_move_lanes(value, tc_lane_mover{lane});
}

// -- exchanges between lanes whose numbers differ in one bit, which is known to the compiler ------------------------------
// Within a row of 16 lanes an instruction reads its operand from another lane by DPP ("data parallel primitives" in
// AMD's ISA documents). Beyond a row: gfx950 and RDNA have instructions, the others go through the crossbar of LDS.

template <int Control>
TC_FN int tc_dpp(int bits) {
  return __builtin_amdgcn_update_dpp(0, bits, Control, 0xf, 0xf, true);
}
constexpr int tc_quad_perm(int a, int b, int c, int d) { return a | b << 2 | c << 4 | d << 6; }
constexpr int tc_row_rotate_8 = 0x128, tc_row_half_mirror = 0x141, tc_row_xor = 0x160;

// gfx9 and RDNA; Mask is 1, 2, 4, 8, 16 or 32
template <int Mask>
struct tc_xor_mover {
  TC_FN int word(int bits) const {
    if constexpr (Mask == 1) return tc_dpp<tc_quad_perm(1, 0, 3, 2)>(bits);
    if constexpr (Mask == 2) return tc_dpp<tc_quad_perm(2, 3, 0, 1)>(bits);
#if defined(__GFX9__)
    if constexpr (Mask == 4)  // the lane ^ 7, and of that the lane ^ 3
      return tc_dpp<tc_quad_perm(3, 2, 1, 0)>(tc_dpp<tc_row_half_mirror>(bits));
    if constexpr (Mask == 8) return tc_dpp<tc_row_rotate_8>(bits);
#if defined(__gfx950__)
    if constexpr (Mask == 16) {
      // exchanges rows 1 and 3 of the first operand with rows 0 and 2 of the second one
      const auto swapped = __builtin_amdgcn_permlane16_swap(bits, bits, false, false);
      return tc_lane() & 16 ? swapped[0] : swapped[1];
    }
    if constexpr (Mask == 32) {
      const auto swapped = __builtin_amdgcn_permlane32_swap(bits, bits, false, false);
      return tc_lane() & 32 ? swapped[0] : swapped[1];
    }
#endif
    if constexpr (Mask == 16) return __builtin_amdgcn_ds_swizzle(bits, 16 << 10 | 0x1f);
    return __builtin_amdgcn_ds_bpermute(4 * (tc_lane() ^ Mask), bits);
#else
    if constexpr (Mask < 16) return tc_dpp<tc_row_xor + Mask % 16>(bits);
    if constexpr (Mask == 16) return __builtin_amdgcn_permlanex16(0, bits, 0x76543210, 0xfedcba98, false, true);
    return __builtin_amdgcn_permlane64(bits);
#endif
  }
};
template <int Mask, class T>
TC_FN T tc_xor_lane(T value) {
  return tc_move_lanes(value, tc_xor_mover<Mask>());
}

// -- shuffles -----------------------------------------------------------------------------------------------------------

// width: lanes of a group, a power of two up to the wave's; without such a lane in the group the own value.
template <class T>
TC_FN T tc_shuffle_idx(T value, int lane, int width = 32) {
  return tc_from_lane(value, (tc_lane() & -width) | (lane & (width - 1)));
}
template <class T>
TC_FN T tc_shuffle_xor(T value, int mask, int width = 32) {
  if (__builtin_constant_p(mask) && __builtin_constant_p(width) && mask < width) {
    if (mask == 1) return tc_xor_lane<1>(value);
    if (mask == 2) return tc_xor_lane<2>(value);
    if (mask == 4) return tc_xor_lane<4>(value);
    if (mask == 8) return tc_xor_lane<8>(value);
    if (mask == 16) return tc_xor_lane<16>(value);
    if (mask == 32) return tc_xor_lane<32>(value);
  }
  const int own = tc_lane(), other = own ^ mask;
  return tc_from_lane(value, other < (own & -width) + width ? other : own);
}
template <class T>
TC_FN T tc_shuffle_up(T value, int distance, int width = 32) {
  const int own = tc_lane();
  return tc_from_lane(value, (own & (width - 1)) >= distance ? own - distance : own);
}
template <class T>
TC_FN T tc_shuffle_down(T value, int distance, int width = 32) {
  const int own = tc_lane();
  return tc_from_lane(value, (own & (width - 1)) + distance < width ? own + distance : own);
}
// The lanes of this thread's 32 with an equal value of 4 or 8 bytes; all: all lanes if their values are equal, else 0.
template <class T>
TC_FN unsigned tc_match_any(T value) {
  const unsigned active = tc_active_mask();
  unsigned equal = 0;
  for (int lane = 0; lane < 32; ++lane)
    if (active >> lane & 1 && tc_shuffle_idx(value, lane) == value) equal |= 1u << lane;
  return equal;
}
template <class T>
TC_FN unsigned tc_match_all(T value) {
  const unsigned active = tc_active_mask();
  return tc_match_any(value) == active ? active : 0;
}
#define tc_assume(CONDITION) __builtin_assume(CONDITION)
