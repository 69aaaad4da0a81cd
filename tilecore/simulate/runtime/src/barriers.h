// Barriers of a block, and of some of its threads.
#pragma once
#include "scheduler.h"

namespace tcsim {

inline std::vector<Fiber*> all_fibers(Block& block) {
  std::vector<Fiber*> fibers;
  for (Fiber& fiber : block.fibers) fibers.push_back(&fiber);
  return fibers;
}

// After a barrier of the whole block everybody is ordered after all readers of shared memory, but for asynchronous work
// that nobody has waited for.
inline bool readers_are_done(const Block& block) {
  if (block.read_by_others) return false;
  const Clock& known = block.fibers.front().known;
  for (uint32_t agent : block.shared_readers)
    if (known.at(agent) < block.agents[agent - block.threads].shared_read) return false;
  return true;
}

inline uint64_t vote_result(int kind, uint32_t count, uint32_t threads) {
  return kind == 1 ? count != 0 : kind == 2 ? count == threads : count;
}

// kind: 0 a plain barrier, 1 any, 2 all, 3 count.
inline uint64_t block_barrier(Worker& worker, bool predicate, int kind, int line) {
  Fiber& fiber = *worker.running;
  Block& block = *fiber.block;
  BlockBarrier& barrier = block.barrier;
  if (barrier.arrived == 0) {
    barrier.line = line;
    barrier.kind = kind;
    barrier.first = fiber.thread;
    barrier.count = 0;
  } else if (barrier.line != line || barrier.kind != kind) {
    fail(worker, "divergent_barrier", site_of_line(line),
         "thread %u waits at the barrier of line %d, thread %u at the barrier of line %d", fiber.thread, line,
         barrier.first, barrier.line);
  }
  barrier.count += predicate;
  ++barrier.arrived;
  if (barrier.arrived < block.threads) {
    suspend(worker, State::barrier, line);
    return fiber.result;
  }
  ++worker.counts.barriers;
  ++worker.progress;
  const uint64_t result = vote_result(kind, barrier.count, block.threads);
  barrier = BlockBarrier();
  const std::vector<Fiber*> fibers = all_fibers(block);
  synchronise(worker, fibers);
  if (readers_are_done(block)) block.readers.forget();
  for (Fiber* other : fibers) {
    other->result = result;
    if (other != &fiber) wake(worker, other);
  }
  step_aside(worker, line);
  return result;
}

inline void release_named(Worker& worker, NamedBarrier& barrier) {
  const Clock total = barrier.known.total(), proxied = barrier.proxied.total();
  for (Fiber* fiber : barrier.waiting) {
    learn(*fiber, total);
    fiber->proxied = join(fiber->proxied, proxied);
    fiber->foreign = join(fiber->foreign, barrier.foreign);
    if (fiber != worker.running) wake(worker, fiber);
  }
  barrier = NamedBarrier();
  ++worker.counts.barriers;
  ++worker.progress;
}

inline void named_barrier(Worker& worker, int id, uint32_t threads, bool waits, int line) {
  Fiber& fiber = *worker.running;
  NamedBarrier& barrier = fiber.block->named[id];
  if (barrier.arrived == 0) {
    barrier.threads = threads;
    barrier.line = line;
  } else if (barrier.threads != threads) {
    fail(worker, "divergent_barrier", site_of_line(line),
         "named barrier %d is for %u threads at line %d, for %u at line %d", id, threads, line, barrier.threads,
         barrier.line);
  }
  publish_into(fiber, barrier.known);
  barrier.proxied.add(fiber.proxied);
  barrier.foreign = join(barrier.foreign, fiber.foreign);
  next_time(fiber);
  ++barrier.arrived;
  if (waits) barrier.waiting.push_back(&fiber);
  if (barrier.arrived == barrier.threads) {
    release_named(worker, barrier);
    if (waits) step_aside(worker, line);
  } else if (waits) {
    fiber.barrier_name = id;
    suspend(worker, State::named_barrier, line);
    fiber.barrier_name = 0;
  }
}

}  // namespace tcsim
