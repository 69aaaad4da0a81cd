// What the host calls: one launch of one kernel.
#pragma once
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include "asynchronous.h"
#include "clusters.h"
#include "signals.h"
#include "tensors.h"

namespace tcsim {

thread_local Worker* current_worker __attribute__((tls_model("initial-exec"), visibility("hidden"))) = nullptr;

inline void start_fiber() {
  Worker* worker = current_worker;
  Fiber* fiber = worker->running;
  worker->launch->request->entry();
  worker = current_worker;
  if (worker->deferred.bytes) flush_deferred(*worker);
  require_work_awaited(*worker, *fiber);
  leave_cluster(*worker, *fiber);
  fiber->state = State::exited;
  switch_context(fiber->context, worker->scheduler);
  abort();
}

inline uint64_t mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return (value ^ (value >> 31)) | 1;
}

inline int find_module_segment(dl_phdr_info* info, size_t, void* data) {
  auto& launch = *static_cast<Launch*>(data);
  if (info->dlpi_addr != launch.module_begin) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD) {
      const uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
      if (end > launch.module_end) launch.module_end = end;
    }
  return 1;
}

inline void find_module(Launch& launch) {
  Dl_info facts;
  if (!dladdr(reinterpret_cast<void*>(launch.request->entry), &facts)) return;
  launch.module_begin = reinterpret_cast<uintptr_t>(facts.dli_fbase);
  dl_iterate_phdr(find_module_segment, &launch);
}

inline void prepare_worker(Worker& worker, Launch& launch, uint32_t number) {
  worker.launch = &launch;
  worker.random = mix(launch.request->seed + number);
  worker.arena_begin = launch.arena_begin;
  worker.arena_bytes = launch.arena.size();
  if (launch.request->count_banks) {
    worker.banks = std::make_unique<BankCounter>();
    worker.banks->warp = launch.request->warp;
    worker.banks->phases = launch.request->bank_phases;
    worker.banks->phases_count = launch.request->bank_phases_count;
    worker.banks->threads = launch.request->block[0] * launch.request->block[1] * launch.request->block[2];
  }
}

inline void run_worker(Worker& worker) {
  TrapStack stack;
  current_worker = &worker;
  if (sigsetjmp(worker.after_trap, 0) == 0) run_blocks(worker);
  current_worker = nullptr;
}

inline void* worker_thread(void* worker) {
  run_worker(*static_cast<Worker*>(worker));
  return nullptr;
}

inline void run_workers(std::vector<std::unique_ptr<Worker>>& workers) {
  std::vector<pthread_t> threads(workers.size());
  std::vector<bool> started(workers.size());
  for (size_t i = 1; i < workers.size(); ++i)
    started[i] = pthread_create(&threads[i], nullptr, worker_thread, workers[i].get()) == 0;
  run_worker(*workers[0]);
  for (size_t i = 1; i < workers.size(); ++i)
    if (started[i]) pthread_join(threads[i], nullptr);
}

// Blocks by the turn in which they run, those of a cluster one after another in the order of their ranks.
inline void order_blocks(Launch& launch) {
  const uint32_t *grid = launch.request->grid, *cluster = launch.request->cluster;
  const uint32_t across = grid[0] / cluster[0], down = grid[1] / cluster[1], deep = grid[2] / cluster[2];
  std::vector<uint32_t> clusters(size_t(across) * down * deep);
  for (uint32_t i = 0; i < clusters.size(); ++i) clusters[i] = i;
  Worker shuffler;
  shuffler.random = mix(~launch.request->seed);
  for (size_t i = clusters.size(); i > 1; --i) std::swap(clusters[i - 1], clusters[shuffler.draw(i)]);
  for (const uint32_t number : clusters)
    for (uint32_t z = 0; z < cluster[2]; ++z)
      for (uint32_t y = 0; y < cluster[1]; ++y)
        for (uint32_t x = 0; x < cluster[0]; ++x)
          launch.order.push_back(number % across * cluster[0] + x +
                                 grid[0] * (number / across % down * cluster[1] + y +
                                            grid[1] * (number / across / down * cluster[2] + z)));
}

inline void add_counts(TcSimCounts& total, const TcSimCounts& part) {
  auto* to = reinterpret_cast<uint64_t*>(&total);
  const auto* from = reinterpret_cast<const uint64_t*>(&part);
  for (size_t i = 0; i < sizeof(TcSimCounts) / sizeof(uint64_t); ++i) to[i] += from[i];
}

// Kept for the questions after a run.
struct LastRun {
  std::string printed;
  std::vector<TcSimBankLine> banks;
};
inline LastRun& last_run() {
  static LastRun run;
  return run;
}

inline void collect(std::vector<std::unique_ptr<Worker>>& workers, TcSimCounts& counts) {
  LastRun& last = last_run();
  last = LastRun();
  std::unordered_map<uint32_t, TcSimBankLine> lines;
  for (auto& worker : workers) {
    add_counts(counts, worker->counts);
    last.printed += worker->printed;
    if (!worker->banks) continue;
    for (auto& entry : worker->banks->lines) {
      TcSimBankLine& line = lines[entry.first];
      line.site = entry.first;
      line.worst = std::max(line.worst, entry.second.worst);
      line.requests += entry.second.requests;
      line.passes += entry.second.passes;
      line.least_passes += entry.second.least_passes;
    }
  }
  for (auto& entry : lines) last.banks.push_back(entry.second);
}

inline int run(const TcSimLaunch& request, TcSimReport& report, TcSimCounts& counts) {
  Launch launch;
  launch.request = &request;
  if (request.seconds > 0) launch.deadline = now() + request.seconds;
  find_module(launch);
  std::vector<std::unique_ptr<Worker>> workers;
  for (uint32_t i = 0; i < (request.workers ? request.workers : 1); ++i) workers.push_back(std::make_unique<Worker>());
  if (!place_tensors(launch) || !cover_tensors(*workers[0], launch)) return 2;
  point_slots(launch);
  point_words(launch);
  order_blocks(launch);
  for (size_t i = 0; i < workers.size(); ++i) prepare_worker(*workers[i], launch, static_cast<uint32_t>(i));
  {
    TrapHandlers handlers;
    run_workers(workers);
  }
  collect(workers, counts);
  for (auto& worker : workers)
    if (worker->failed) {
      report = worker->report;
      return 1;
    }
  fetch_tensors(launch);
  return 0;
}

}  // namespace tcsim

TC_SIM_EXPORT int tc_sim_run(const TcSimLaunch* request, TcSimReport* report, TcSimCounts* counts) {
  return tcsim::run(*request, *report, *counts);
}
TC_SIM_EXPORT uint64_t tc_sim_layout() {  // the sizes that both sides must agree on
  return sizeof(TcSimLaunch) + 1000 * sizeof(TcSimReport) + 10000000 * sizeof(TcSimCounts);
}
TC_SIM_EXPORT const char* tc_sim_printed() { return tcsim::last_run().printed.c_str(); }
TC_SIM_EXPORT uint32_t tc_sim_bank_lines(TcSimBankLine* lines, uint32_t most) {
  const auto& banks = tcsim::last_run().banks;
  for (uint32_t i = 0; i < banks.size() && i < most; ++i) lines[i] = banks[i];
  return static_cast<uint32_t>(banks.size());
}
