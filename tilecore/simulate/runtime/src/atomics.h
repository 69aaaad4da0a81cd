// Atomic operations: they never race among themselves, and order memory as their memory order says.
#pragma once
#include "scheduler.h"

namespace tcsim {

// Numbers as the compilers' __ATOMIC_*.
enum Order { kRelaxed = 0, kConsume = 1, kAcquire = 2, kRelease = 3, kAcquireRelease = 4, kSequential = 5 };
inline bool acquires(int order) { return order != kRelaxed && order != kRelease; }
inline bool releases(int order) { return order >= kRelease; }

inline bool tracks_order(const Worker& worker, uintptr_t address) {
  return address - worker.shared_begin < worker.shared_bytes || checks_global(*worker.launch);
}

inline SyncVariables& sync_of(Worker& worker, uintptr_t address) {
  return address - worker.shared_begin < worker.shared_bytes ? worker.block->sync : worker.sync;
}

// Several host threads run blocks: operations on global memory are serialised.
inline void lock_atomics(Worker& worker) {
  if (worker.launch->request->workers > 1)
    while (worker.launch->atomics.test_and_set(std::memory_order_acquire)) {
    }
}
inline void unlock_atomics(Worker& worker) {
  if (worker.launch->request->workers > 1) worker.launch->atomics.clear(std::memory_order_release);
}

inline void acquire_from(Worker& worker, uintptr_t address, int order) {
  SyncVariables& variables = sync_of(worker, address);
  if (variables.empty() || !tracks_order(worker, address)) return;
  const auto found = variables.find(address);
  if (found == variables.end()) return;
  Fiber& fiber = *worker.actor;
  for (const Knowledge& knowledge : found->second.published) {
    if (acquires(order))
      acquire(fiber, knowledge);
    else
      fiber.loaded.push_back(knowledge);
  }
}

// update: a read-modify-write, which keeps what earlier releases published.
inline void release_to(Worker& worker, uintptr_t address, int order, bool update) {
  if (!tracks_order(worker, address)) return;
  Fiber& fiber = *worker.actor;
  SyncVariables& variables = sync_of(worker, address);
  if (!update && !variables.empty()) variables.erase(address);
  if (releases(order))
    variables[address].published.push_back(publish(worker, fiber, true));
  else if (fiber.fenced)
    variables[address].published.push_back(fiber.fence);
}

inline void fence(Worker& worker, bool device) {
  Fiber& fiber = *worker.actor;
  std::vector<Knowledge> loaded = std::move(fiber.loaded);
  fiber.loaded.clear();
  for (const Knowledge& knowledge : loaded) acquire(fiber, knowledge);
  fiber.fence = publish(worker, fiber, device);
  fiber.fenced = true;
}

enum class Atomic { load, store, update };

// Checks the operation and hands out the old value; finish_atomic must follow unless it is a load.
inline void begin_atomic(Worker& worker, void* pointer, unsigned size, Atomic what, int order, int line, void* old) {
  const uint32_t site = site_of_line(line);
  require_aligned(worker, pointer, size, "atomic operation", site);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (worker.running->looked_at == address && !worker.meeting) poll(worker, line);
  worker.running->looked_at = what == Atomic::load ? address : 0;
  ++worker.counts.atomics;
  const uint64_t progress = worker.progress;
  if (what == Atomic::update) touch(worker, pointer, size, false, true, site);
  touch(worker, pointer, size, what != Atomic::load, true, site);
  worker.progress = progress;
  lock_atomics(worker);
  if (what != Atomic::store) memcpy(old, pointer, size);
  if (what == Atomic::load) {
    unlock_atomics(worker);
    acquire_from(worker, address, order);
  }
}

inline void finish_atomic(Worker& worker, void* pointer, unsigned size, Atomic what, int order, const void* fresh) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const bool changes = memcmp(pointer, fresh, size) != 0;
  if (changes) memcpy(pointer, fresh, size);
  unlock_atomics(worker);
  if (what == Atomic::update) acquire_from(worker, address, order);
  release_to(worker, address, order, what == Atomic::update);
  if (changes) ++worker.progress;
  worker.running->looked_at = !changes && what == Atomic::update ? address : 0;
}

}  // namespace tcsim
