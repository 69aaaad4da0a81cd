// Asynchronous copies: in groups of each thread (sm_80), and with completion on mbarriers (sm_90).
#pragma once

// Starts a copy of 4, 8 or 16 bytes from global to shared memory. It writes zeros where valid is false.
template <int Bytes>
TC_FN void tc_copy_async(void* to, const void* from, bool valid = true) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "an asynchronous copy moves 4, 8 or 16 bytes");
#if TC_ARCH >= 800
  const unsigned place = tc_shared_address(to), size = valid ? Bytes : 0;
  const unsigned long long source = __cvta_generic_to_global(from);
  if (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(place), "l"(source), "r"(size)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(place), "l"(source), "n"(Bytes), "r"(size)
                 : "memory");
  }
#else
  using vector = typename tc_vector<Bytes>::type;
  vector value = {};
  if (valid) value = *static_cast<const vector*>(from);
  *static_cast<vector*>(to) = value;
#endif
}
TC_FN void tc_commit_async() {
#if TC_ARCH >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until all groups of this thread but the last N have landed.
template <int N>
TC_FN void tc_wait_async() {
#if TC_ARCH >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

// -- mbarriers (tc_transaction_*): 8 bytes of shared memory each -----------------------------------------------------

#if TC_ARCH >= 800
TC_FN void tc_transaction_init(void* barrier, unsigned count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(tc_shared_address(barrier)), "r"(count) : "memory");
}
TC_FN void tc_transaction_drop(void* barrier) {
  asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(tc_shared_address(barrier)) : "memory");
}
TC_FN void tc_transaction_arrive(void* barrier) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(tc_shared_address(barrier))
               : "memory");
}
// Arrives when the earlier tc_copy_async of this thread have landed; counted: as one arrival of tc_transaction_init.
TC_FN void tc_transaction_arrive_on_copies(void* barrier, bool counted) {
  if (counted) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(tc_shared_address(barrier)) : "memory");
  } else {
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(tc_shared_address(barrier)) : "memory");
  }
}
#endif
#if TC_ARCH >= 900
TC_FN void tc_transaction_arrive_expect(void* barrier, unsigned bytes) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1; }" ::"r"(
                   tc_shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
TC_FN void tc_transaction_expect(void* barrier, unsigned bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(tc_shared_address(barrier)), "r"(bytes)
               : "memory");
}
// Whether the phase of this parity has ended. A barrier starts in phase 0, so this is true at once for parity 1.
TC_FN bool tc_transaction_try_wait(void* barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{ .reg .pred done; mbarrier.try_wait.parity.shared.b64 done, [%1], %2; selp.u32 %0, 1, 0, done; }"
      : "=r"(done)
      : "r"(tc_shared_address(barrier)), "r"(parity)
      : "memory");
  return done != 0;
}
// Waits until the kernel before this one has ended; its writes are then visible (programmatic dependent launch).
TC_FN void tc_grid_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
// This thread allows the next kernel to start (programmatic dependent launch).
TC_FN void tc_grid_release() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
// Makes initialized mbarriers visible to the copy engine and, in a cluster, to other blocks.
TC_FN void tc_transaction_fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// Makes the writes of this thread to shared memory visible to the copy engine and to wgmma (a proxy fence).
TC_FN void tc_fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// THREADS threads write SIZE bytes of zeros, a multiple of 16, to shared memory.
template <int SIZE, int THREADS>
TC_FN void tc_clear_shared(void* to, int thread) {
#pragma unroll
  for (int at = 0; at < SIZE; at += THREADS * 16) {
    const int byte = at + thread * 16;
    if (byte < SIZE) *reinterpret_cast<uint4*>(static_cast<char*>(to) + byte) = make_uint4(0, 0, 0, 0);
  }
}
// A copy of a multiple of 16 bytes from global to shared memory, which completes on an mbarrier.
TC_FN void tc_bulk_copy_async(void* to, const void* from, unsigned bytes, void* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          tc_shared_address(to)),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(tc_shared_address(barrier))
      : "memory");
}
#elif TC_ARCH >= 800
TC_FN bool tc_transaction_try_wait(void* barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{ .reg .pred done; mbarrier.test_wait.parity.shared.b64 done, [%1], %2; selp.u32 %0, 1, 0, done; }"
      : "=r"(done)
      : "r"(tc_shared_address(barrier)), "r"(parity)
      : "memory");
  return done != 0;
}
#endif
#if TC_ARCH >= 800
TC_FN void tc_transaction_wait(void* barrier, unsigned parity) {
  while (!tc_transaction_try_wait(barrier, parity)) {
  }
}
#endif
