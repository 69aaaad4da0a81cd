// Operations of the blocks of a cluster (sm_90). All lanes of a warp take part in the barrier. PTX ISA 8.7, sections
// "barrier.cluster", "mapa" and "mbarrier.arrive".
#pragma once

#if TC_ARCH >= 900
// The barrier of all threads of the cluster, in two parts and whole: earlier writes to memory are visible after it.
TC_FN void tc_cluster_arrive() { asm volatile("barrier.cluster.arrive.release" TC_ALIGNED ";" ::: "memory"); }
TC_FN void tc_cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed" TC_ALIGNED ";"); }
TC_FN void tc_cluster_wait() { asm volatile("barrier.cluster.wait.acquire" TC_ALIGNED ";" ::: "memory"); }
TC_FN void tc_cluster_barrier() {
  tc_cluster_arrive();
  tc_cluster_wait();
}
TC_FN unsigned tc_cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// The address of another block's shared memory, in the form of instructions on shared::cluster.
TC_FN unsigned tc_cluster_address(const void* own, unsigned rank) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(tc_shared_address(own)), "r"(rank));
  return address;
}
// The same offset in the shared memory of the block of this rank, for plain loads and stores.
template <class T>
TC_FN T* tc_remote_shared(T* own, unsigned rank) {
  unsigned long long address;
  asm("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"(own), "r"(rank));
  return reinterpret_cast<T*>(address);
}
template <class T>
TC_FN void tc_store_remote(T* own, T value, unsigned rank) {
  *tc_remote_shared(own, rank) = value;
}
// Starts a store of 4 or 8 bytes to this offset in the block of this rank; the mbarrier at that block's offset of
// ``barrier`` counts them as they land, and who has waited for it sees them. PTX ISA, "st.async".
template <class T>
TC_FN void tc_store_remote_async(T* own, T value, void* barrier, unsigned rank) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "one word or two");
  const unsigned to = tc_cluster_address(own, rank), counter = tc_cluster_address(barrier, rank);
  if constexpr (sizeof(T) == 4) {
    unsigned word;
    memcpy(&word, &value, 4);
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to), "r"(word),
                 "r"(counter)
                 : "memory");
  } else {
    unsigned long long words;
    memcpy(&words, &value, 8);
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(to), "l"(words),
                 "r"(counter)
                 : "memory");
  }
}
// Adds N elements of 4 bytes, at this offset in the block of this rank, to registers; four at a time lie at a multiple of
// 16 bytes.
template <int N, class T>
TC_FN void tc_add_remote(T* registers, T* own, unsigned rank) {
  static_assert(sizeof(T) == 4 && (N == 1 || N == 4), "one word or four");
  struct alignas(4 * N) Words {
    T word[N];
  };
  const Words added = *reinterpret_cast<const Words*>(tc_remote_shared(own, rank));
#pragma unroll
  for (int n = 0; n < N; ++n) registers[n] += added.word[n];
}
// Arrives at the mbarrier at this offset in the block of this rank, and shows it what the block has written to its memory
// before; tc_transaction_wait_cluster sees it.
TC_FN void tc_transaction_release_remote(void* barrier, unsigned rank) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(tc_cluster_address(barrier, rank))
               : "memory");
}
TC_FN void tc_transaction_wait_cluster(void* barrier, unsigned parity) {
  unsigned done = 0;
  while (!done) {
    asm volatile(
        "{ .reg .pred ended; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [%1], %2; "
        "selp.u32 %0, 1, 0, ended; }"
        : "=r"(done)
        : "r"(tc_shared_address(barrier)), "r"(parity)
        : "memory");
  }
}
// Arrives at the mbarrier at this offset in the block of this rank. It orders no plain memory accesses
// beyond the block: with .release.cluster it would, and each would cost a fence of the whole device.
TC_FN void tc_transaction_arrive_remote(void* barrier, unsigned rank) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(tc_cluster_address(barrier, rank)) : "memory");
}
#endif
