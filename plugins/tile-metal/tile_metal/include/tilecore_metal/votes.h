#pragma once

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
