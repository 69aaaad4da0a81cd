// Who runs next: fibers in an order drawn from the seed, blocks one after another unless they wait for each other.
#pragma once
#include <time.h>

#include "access.h"
#include "blocks.h"
#include "stuck.h"

namespace tcsim {

inline double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline void refuel(Worker& worker) { worker.fuel = 16384 + static_cast<uint32_t>(worker.draw(16384)); }

// Leaves the running fiber, which waits in the given way until somebody wakes it.
inline void suspend(Worker& worker, State state, int line) {
  Fiber* fiber = worker.running;
  if (worker.deferred.bytes) flush_deferred(worker);
  fiber->state = state;
  fiber->line = line;
  switch_context(fiber->context, worker.scheduler);
}

inline void wake(Worker& worker, Fiber* fiber) {
  fiber->state = State::ready;
  worker.ready.push_back(fiber);
}

// Lets others go first.
inline void step_aside(Worker& worker, int line) {
  worker.ready.push_back(worker.running);
  suspend(worker, State::ready, line);
}

// Waits until somebody has done something; for loops that look at memory again and again.
inline void poll(Worker& worker, int line) {
  worker.running->polled_at = worker.progress;
  worker.polling.push_back(worker.running);
  suspend(worker, State::polling, line);
}

inline void tick(Worker& worker) {
  refuel(worker);
  ++worker.ticks;
  Fiber* fiber = worker.running;
  if (!fiber || worker.meeting) return;
  if (fiber->polled_at == worker.progress) return poll(worker, 0);  // it reads and reads
  fiber->polled_at = worker.progress;
  step_aside(worker, 0);
}

inline void flush_deferred(Worker& worker) {
  auto& deferred = worker.deferred;
  const unsigned bytes = deferred.bytes;
  deferred.bytes = 0;
  if (memcmp(reinterpret_cast<void*>(deferred.address), deferred.before, bytes) == 0 || worker.failed) return;
  worker.report = deferred.report;
  give_up(worker);
}

// Looks at the time, and at whether the user has had enough.
inline void look_up(Worker& worker) {
  worker.actor = nullptr;
  worker.ticks = 0;
  const auto* request = worker.launch->request;
  if (request->interrupt && *request->interrupt) fail(worker, "interrupted", 0, "the run was interrupted");
  if (worker.launch->deadline > 0 && now() > worker.launch->deadline) {
    fail(worker, "timeout", 0, "the kernel did not end within %g s", worker.launch->request->seconds);
  }
}

inline void resume(Worker& worker, Fiber* fiber) {
  if (worker.block != fiber->block) enter_block(worker, *fiber->block);
  fiber->state = State::running;
  worker.running = worker.actor = fiber;
  ++worker.counts.switches;
  switch_context(worker.scheduler, fiber->context);
  worker.running = nullptr;
  if (fiber->state == State::exited && !worker.failed) leave_block(worker, *fiber->block);
}

inline Fiber* take_ready(Worker& worker) {
  auto& ready = worker.ready;
  const size_t at = ready.size() == 1 ? 0 : worker.draw(ready.size());
  Fiber* fiber = ready[at];
  ready[at] = ready.back();
  ready.pop_back();
  return fiber;
}

// Fibers that poll get another turn; all of them when nothing has happened for a few rounds only.
inline bool revive_pollers(Worker& worker) {
  if (worker.polling.empty()) return false;
  bool news = false;
  for (Fiber* fiber : worker.polling) news = news || fiber->polled_at != worker.progress;
  worker.idle_rounds = news ? 0 : worker.idle_rounds + 1;
  const bool alone = worker.launch->request->workers <= 1;
  const uint64_t patience = blocks_left(worker) || has_landing(worker) ? 4 : alone ? 2000 : 1u << 24;
  if (!news && worker.idle_rounds > patience) return false;
  for (Fiber* fiber : worker.polling) wake(worker, fiber);
  worker.polling.clear();
  return true;
}

void land_one(Worker& worker);

inline void run_blocks(Worker& worker) {
  refuel(worker);
  uint32_t turns = 0;
  while (!worker.failed && !worker.launch->stop.load(std::memory_order_relaxed)) {
    if (++turns % 65536 == 0 || worker.ticks >= 64) look_up(worker);
    if (!worker.ready.empty()) {
      resume(worker, take_ready(worker));
    } else if (worker.resident.empty()) {
      if (!admit_block(worker)) return;
    } else if (revive_pollers(worker)) {
    } else if (has_landing(worker)) {
      land_one(worker);
      worker.idle_rounds = 0;
    } else if (worker.resident.size() < worker.launch->request->most_resident && admit_block(worker)) {
      worker.idle_rounds = 0;
    } else {
      report_stuck(worker);
    }
  }
}

}  // namespace tcsim
