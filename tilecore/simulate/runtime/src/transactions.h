// Transaction barriers: a phase ends when all arrivals are in and all announced bytes have landed.
#pragma once
#include "scheduler.h"

namespace tcsim {

uint32_t new_agent(Worker& worker, Block& block);

inline Transaction& find_transaction(Worker& worker, void* pointer, int line) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  Block* other = find_in_cluster(worker, address);
  Block& block = other ? *other : *worker.actor->block;
  require_running(worker, block, site_of_line(line));
  auto found = block.transactions.find(address);
  if (found == block.transactions.end()) {
    fail(worker, "uninitialised_barrier", site_of_line(line),
         "the transaction barrier at byte %lld of shared memory is used before it is initialised",
         static_cast<long long>(address - block.shared.begin));
    __builtin_unreachable();
  }
  return *found->second;
}

inline void initialise_transaction(Worker& worker, void* pointer, uint32_t count, int line) {
  require_aligned(worker, pointer, 8, "transaction barrier", site_of_line(line));
  touch(worker, pointer, 8, true, false, site_of_line(line));
  Block& block = *worker.actor->block;
  auto made = std::make_unique<Transaction>();
  made->block = &block;
  made->address = reinterpret_cast<uintptr_t>(pointer);
  made->count = count;
  made->pending = count;
  made->agent = new_agent(worker, block);
  made->initialiser = worker.actor->thread;
  block.transactions[made->address] = std::move(made);
}

inline void drop_transaction(Worker& worker, void* pointer, int line) {
  Transaction& transaction = find_transaction(worker, pointer, line);
  touch(worker, pointer, 8, true, false, site_of_line(line));
  worker.actor->block->transactions.erase(transaction.address);
}

// Barriers that the thread has initialised are seen by asynchronous work from here on.
inline void publish_transactions(Worker& worker) {
  for (auto& entry : worker.actor->block->transactions)
    if (entry.second->initialiser == worker.actor->thread) entry.second->published = true;
}

inline void require_published(Worker& worker, const Transaction& transaction, int line) {
  if (!worker.launch->request->own_proxy || transaction.published) return;
  fail(worker, "missing_proxy_fence", site_of_line(line),
       "asynchronous work completes on the barrier at byte %lld of shared memory, which no fence stands behind since "
       "thread %u has initialised it",
       static_cast<long long>(transaction.address - worker.actor->block->shared.begin), transaction.initialiser);
}

inline void learn_phase(Fiber& fiber, Transaction& transaction) {
  if (transaction.memo_before.same_as(fiber.known) && transaction.memo_after.size()) {
    fiber.known = transaction.memo_after;
    fiber.forget_passed();
  } else {
    const Clock before = fiber.known;
    learn(fiber, transaction.done);
    transaction.memo_before = before;
    transaction.memo_after = fiber.known;
  }
  fiber.proxied = join(fiber.proxied, transaction.done_proxied);
  if (transaction.done_foreign) {
    fiber.foreign = join(fiber.foreign, transaction.done_foreign);
    fiber.forget_passed();
  }
}

// Has the phase of this parity ended?
inline bool phase_ended(const Transaction& transaction, uint32_t parity) {
  return (transaction.phase & 1) != (parity & 1);
}

// Ends the phase if everything is in.
inline void settle(Worker& worker, Transaction& transaction, int line) {
  if (transaction.pending < 0)
    return fail(worker, "invalid_operation", site_of_line(line),
                "more arrivals at a transaction barrier than the %u it was initialised for", transaction.count);
  if (transaction.pending != 0 || transaction.bytes != 0) return;
  transaction.arriving.add(transaction.done);
  transaction.done = transaction.arriving.total();
  transaction.arriving.clear();
  transaction.arriving_proxied.add(transaction.done_proxied);
  transaction.done_proxied = transaction.arriving_proxied.total();
  transaction.arriving_proxied.clear();
  transaction.done_foreign = join(transaction.done_foreign, transaction.arriving_foreign);
  transaction.memo_before = transaction.memo_after = Clock();
  transaction.pending = transaction.count;
  ++transaction.phase;
  ++worker.progress;
  ++worker.counts.barriers;
  auto waiting = std::move(transaction.waiting);
  transaction.waiting.clear();
  for (auto& waiter : waiting) {
    if (phase_ended(transaction, waiter.second))
      wake(worker, waiter.first);
    else
      transaction.waiting.push_back(waiter);
  }
}

inline void publish_arrival(Worker& worker, Fiber& fiber, Transaction& transaction) {
  Foreign foreign = fiber.foreign;
  if (fiber.block == transaction.block) {
    publish_into(fiber, transaction.arriving);
    transaction.arriving_proxied.add(fiber.proxied);
  } else {
    worker.sum.clear();
    publish_into(fiber, worker.sum);
    foreign = with_block(foreign, fiber.block->tag, worker.sum.total());
    if (const Clock* about_us = find_block(fiber.foreign, transaction.block->tag)) transaction.arriving.add(*about_us);
  }
  transaction.arriving_foreign = join(transaction.arriving_foreign, foreign);
}

inline uint32_t arrive(Worker& worker, void* pointer, uint32_t arrivals, uint32_t bytes, int line) {
  Transaction& transaction = find_transaction(worker, pointer, line);
  touch(worker, pointer, 8, true, true, site_of_line(line));
  Fiber& fiber = *worker.actor;
  const uint32_t phase = transaction.phase & 1;
  transaction.bytes += bytes;
  transaction.pending -= arrivals;
  if (arrivals) {
    publish_arrival(worker, fiber, transaction);
    next_time(fiber);
  }
  settle(worker, transaction, line);
  return phase;
}

inline void complete_bytes(Worker& worker, void* pointer, uint32_t bytes, int line) {
  Transaction& transaction = find_transaction(worker, pointer, line);
  transaction.bytes -= bytes;
  settle(worker, transaction, line);
}

inline void require_own(Worker& worker, const Transaction& transaction, int line) {
  if (transaction.block != worker.actor->block)
    fail(worker, "invalid_operation", site_of_line(line), "a wait for a transaction barrier of another block");
}

inline bool try_wait(Worker& worker, void* pointer, uint32_t parity, int line) {
  Transaction& transaction = find_transaction(worker, pointer, line);
  require_own(worker, transaction, line);
  touch(worker, pointer, 8, false, true, site_of_line(line));
  if (!phase_ended(transaction, parity)) poll(worker, line);
  if (!phase_ended(transaction, parity)) return false;
  learn_phase(*worker.actor, transaction);
  return true;
}

inline void wait_phase(Worker& worker, void* pointer, uint32_t parity, int line) {
  Transaction& transaction = find_transaction(worker, pointer, line);
  require_own(worker, transaction, line);
  touch(worker, pointer, 8, false, true, site_of_line(line));
  if (!phase_ended(transaction, parity)) {
    transaction.waiting.emplace_back(worker.running, parity);
    suspend(worker, State::transaction, line);
  }
  learn_phase(*worker.actor, transaction);
}

}  // namespace tcsim
