// What the threads of a work-group do together, and what they tell the host. tc_votes and tc_failed are parameters of
// every kernel: a counter of the work-group, and where the number of an assertion that does not hold is left.

#define tc_barrier() barrier(TC_BOTH)

TC_FN int tc_count_votes(local int* votes, int vote) {
  barrier(TC_BOTH);
  if (get_local_id(0) == 0 && get_local_id(1) == 0 && get_local_id(2) == 0) *votes = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (vote) atomic_inc(votes);
  barrier(CLK_LOCAL_MEM_FENCE);
  return *votes;
}
#define TC_THREADS ((int)(get_local_size(0) * get_local_size(1) * get_local_size(2)))
#define tc_block_vote_any(vote) (tc_count_votes(tc_votes, vote) != 0)
#define tc_block_vote_all(vote) (tc_count_votes(tc_votes, vote) == TC_THREADS)
#define tc_block_vote_count(vote) tc_count_votes(tc_votes, vote)

#define tc_print(...) printf(__VA_ARGS__)
#define tc_assert(condition, number, text)          \
  do {                                              \
    if (!(condition)) *tc_failed = number;          \
  } while (0)
#define tc_assume(condition) ((void)0)
