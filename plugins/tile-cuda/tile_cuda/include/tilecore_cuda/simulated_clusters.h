// Clusters of blocks on the simulated device.
#pragma once

TC_FN void tc_cluster_arrive(int line = TC_LINE) { tc_sim_cluster_arrive(line); }
// As tc_cluster_arrive: that the relaxed form orders no accesses is not checked.
TC_FN void tc_cluster_arrive_relaxed(int line = TC_LINE) { tc_sim_cluster_arrive(line); }
TC_FN void tc_cluster_wait(int line = TC_LINE) { tc_sim_cluster_wait(line); }
TC_FN void tc_cluster_barrier(int line = TC_LINE) {
  tc_sim_cluster_arrive(line);
  tc_sim_cluster_wait(line);
}
TC_FN unsigned tc_cluster_rank() { return tc_sim_cluster_rank(); }
template <class T>
TC_FN T* tc_remote_shared(T* own, unsigned rank, int line = TC_LINE) {
  return static_cast<T*>(tc_sim_remote_shared(own, rank, line));
}
template <class T>
TC_FN void tc_store_remote(T* own, T value, unsigned rank, int line = TC_LINE) {
  tc_store(tc_remote_shared(own, rank, line), value, line);
}
template <class T>
TC_FN void tc_store_remote_async(T* own, T value, void* barrier, unsigned rank, int line = TC_LINE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "one word or two");
  T* to = tc_remote_shared(own, rank, line);
  tc_async_work(tc_sim_remote_shared(barrier, rank, line), sizeof(T), line).writes(to, sizeof(T)).start([=] {
    __builtin_memcpy(to, &value, sizeof(T));
  });
}
template <int N, class T>
TC_FN void tc_add_remote(T* registers, T* own, unsigned rank, int line = TC_LINE) {
  const T* remote = tc_remote_shared(own, rank, line);
  for (int n = 0; n < N; ++n) registers[n] += tc_load(remote + n, line);
}
TC_FN void tc_transaction_release_remote(void* barrier, unsigned rank, int line = TC_LINE) {
  tc_sim_transaction_arrive(tc_sim_remote_shared(barrier, rank, line), 1, 0, line);
}
TC_FN void tc_transaction_wait_cluster(void* barrier, unsigned parity, int line = TC_LINE) {
  tc_transaction_wait(barrier, parity, line);
}
TC_FN void tc_transaction_arrive_remote(void* barrier, unsigned rank, int line = TC_LINE) {
  tc_sim_transaction_arrive(tc_sim_remote_shared(barrier, rank, line), 1, 0, line);
}
