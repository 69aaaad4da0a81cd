// Work that lands later: on commit groups, or on transaction barriers.
#pragma once
#include "calls.h"
#include "floats.h"

// Channels of commit groups: a thread waits for each on its own.
enum tc_channel { tc_channel_copies = 0, tc_channel_bulk = 1, tc_channel_matrix = 2, tc_channel_other = 3 };

template <unsigned Bytes>
TC_INLINE void tc_copy_async(void* to, const void* from, bool valid = true, int line = TC_LINE) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "an asynchronous copy moves 4, 8 or 16 bytes");
  tc_sim_copy_async(to, from, Bytes, valid ? Bytes : 0, line);
}
TC_INLINE void tc_commit_async(int line = TC_LINE) { tc_sim_commit(tc_channel_copies, line); }
template <unsigned Remaining>
TC_INLINE void tc_wait_async(int line = TC_LINE) {
  tc_sim_wait(tc_channel_copies, Remaining, 0, line);
}
TC_INLINE void tc_commit_group(unsigned channel, int line = TC_LINE) { tc_sim_commit(channel, line); }
// reads_only: what the groups read has been read; what they write may be still to come.
TC_INLINE void tc_wait_group(unsigned channel, unsigned remaining, bool reads_only = false, int line = TC_LINE) {
  tc_sim_wait(channel, remaining, reads_only, line);
}

// Work under construction: say what it reads and writes, then start it. The body is copied, runs when it lands, and
// holds plain values and pointers only.
class tc_async_work {
 public:
  TC_INLINE explicit tc_async_work(unsigned channel, int line = TC_LINE) : work_(tc_sim_async_begin(channel, line)) {}
  // Completes `bytes` of the barrier's phase when it lands.
  TC_INLINE tc_async_work(void* barrier, unsigned bytes, int line = TC_LINE)
      : work_(tc_sim_async_begin_on(barrier, bytes, line)) {}
  TC_INLINE tc_async_work& reads(const void* from, size_t bytes) {
    tc_sim_async_reads(work_, from, bytes);
    return *this;
  }
  TC_INLINE tc_async_work& writes(void* to, size_t bytes) {
    tc_sim_async_writes(work_, to, bytes);
    return *this;
  }
  TC_INLINE tc_async_work& updates(void* to, size_t bytes) {
    tc_sim_async_updates(work_, to, bytes);
    return *this;
  }
  template <class Body>
  TC_INLINE void start(Body body) {
    static_assert(__is_trivially_copyable(Body), "the body of asynchronous work holds plain values only");
    tc_sim_async_start(work_, [](void* state) { (*static_cast<Body*>(state))(); }, &body, sizeof(Body));
  }

 private:
  void* work_;
};

// A copy of any size that completes on a transaction barrier, or on a channel's next group.
TC_INLINE void tc_bulk_copy_async(void* to, const void* from, unsigned bytes, void* barrier, int line = TC_LINE) {
  tc_async_work(barrier, bytes, line).reads(from, bytes).writes(to, bytes).start([=] {
    __builtin_memcpy(to, from, bytes);
  });
}
TC_INLINE void tc_bulk_copy_async_group(void* to, const void* from, unsigned bytes, unsigned channel = tc_channel_bulk,
                                        int line = TC_LINE) {
  tc_async_work(channel, line).reads(from, bytes).writes(to, bytes).start([=] { __builtin_memcpy(to, from, bytes); });
}

// Transaction barriers: 8 bytes of shared memory each.
TC_INLINE void tc_transaction_init(void* barrier, unsigned count, int line = TC_LINE) {
  tc_sim_transaction_init(barrier, count, line);
}
TC_INLINE void tc_transaction_drop(void* barrier, int line = TC_LINE) { tc_sim_transaction_drop(barrier, line); }
// These return the parity of the phase that the arrival belongs to.
TC_INLINE unsigned tc_transaction_arrive(void* barrier, unsigned arrivals = 1, int line = TC_LINE) {
  return tc_sim_transaction_arrive(barrier, arrivals, 0, line);
}
TC_INLINE unsigned tc_transaction_arrive_expect(void* barrier, unsigned bytes, int line = TC_LINE) {
  return tc_sim_transaction_arrive(barrier, 1, bytes, line);
}
TC_INLINE void tc_transaction_expect(void* barrier, unsigned bytes, int line = TC_LINE) {
  tc_sim_transaction_arrive(barrier, 0, bytes, line);
}
TC_INLINE void tc_transaction_complete(void* barrier, unsigned bytes, int line = TC_LINE) {
  tc_sim_transaction_complete(barrier, bytes, line);
}
// Arrives when this thread's tc_copy_async so far have landed; counted: among the arrivals of tc_transaction_init.
TC_INLINE void tc_transaction_arrive_on_copies(void* barrier, bool counted, int line = TC_LINE) {
  tc_sim_transaction_arrive_on_copies(barrier, counted, line);
}
// Has the phase of this parity ended? A barrier starts in phase 0, so parity 1 is at once true.
TC_INLINE bool tc_transaction_try_wait(void* barrier, unsigned parity, int line = TC_LINE) {
  return tc_sim_transaction_try_wait(barrier, parity, line) != 0;
}
TC_INLINE void tc_transaction_wait(void* barrier, unsigned parity, int line = TC_LINE) {
  tc_sim_transaction_wait(barrier, parity, line);
}
