// Work that lands later. Its reads and writes are checked when it starts, as of an agent that runs beside the threads;
// it is carried out as late as it may be: at the wait that needs it.
#pragma once
#include "transactions.h"

namespace tcsim {

inline uint32_t new_agent(Worker& worker, Block& block) {
  if (block.threads + block.agents.size() >= kMaxActors) {
    fail(worker, "out_of_memory", 0, "more than %u threads and asynchronous agents in a block", kMaxActors);
    return kMaxActors - 1;
  }
  block.agents.emplace_back();
  return block.threads + static_cast<uint32_t>(block.agents.size()) - 1;
}

inline Channel& channel_of(Worker& worker, Fiber& fiber, unsigned number, int line) {
  if (number >= kChannels)
    fail(worker, "invalid_operation", site_of_line(line), "asynchronous channel %u of %u", number, kChannels);
  auto& channel = fiber.channels[number];
  if (!channel) {
    channel = std::make_unique<Channel>();
    channel->read_agent = new_agent(worker, *fiber.block);
    channel->write_agent = new_agent(worker, *fiber.block);
    fiber.block->agents[channel->write_agent - fiber.block->threads].plain = number == 0;
    fiber.block->agents[channel->read_agent - fiber.block->threads].plain = number == 0;
  }
  return *channel;
}

// A range that the operation will read or write.
inline void declare(Worker& worker, Operation& operation, uint32_t agent, uint32_t clock, const void* pointer,
                    uint32_t bytes, bool write, bool atomic = false) {
  Fiber& fiber = *worker.actor;
  Block& block = operation.home ? *operation.home : *fiber.block;
  const uint64_t epoch = make_epoch(block.tag, agent, clock);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const bool proxy = !write && worker.launch->request->own_proxy && !block.agents[agent - block.threads].plain;
  check(worker, address, bytes,
        {&fiber, epoch, site_of_line(operation.line), bytes, write, atomic, true, operation.memo, proxy});
  Space* space = nullptr;
  if (find_space(worker, address, bytes, space) != Place::space) return;
  const bool shared = space->number == kShared;
  if (write && !shared) operation.writes_global = true;
  if (write || !shared) return;
  Agent& reader = block.agents[agent - block.threads];
  if (reader.shared_read == 0) block.shared_readers.push_back(agent);
  reader.shared_read = clock;
}

inline void run_operation(Worker& worker, Block& block, Operation& operation) {
  ++worker.quiet;
  ++worker.progress;
  if (operation.body) {
    operation.body(operation.state.data());
  } else if (operation.target) {
    memcpy(operation.target, operation.source, operation.valid_bytes);
    memset(static_cast<unsigned char*>(operation.target) + operation.valid_bytes, 0,
           operation.bytes - operation.valid_bytes);
    note_origin(block, operation.target, operation.source, operation.valid_bytes);
  }
  --worker.quiet;
}

// Lands the groups up to one of them.
inline void land_groups(Worker& worker, Block& block, Channel& channel, uint32_t last) {
  while (!channel.waiting.empty() && channel.waiting.front().group <= last) {
    Operation operation = std::move(channel.waiting.front());
    channel.waiting.pop_front();
    run_operation(worker, block, operation);
  }
  if (last > channel.landed) {
    channel.landed = last;
    block.agents[channel.read_agent - block.threads].landed = last;
    block.agents[channel.write_agent - block.threads].landed = last;
  }
}

inline void start_copy(Worker& worker, void* target, const void* source, uint32_t bytes, uint32_t valid, int line) {
  Fiber& fiber = *worker.actor;
  const uint32_t site = site_of_line(line);
  if (worker.deferred.bytes) flush_deferred(worker);
  ++worker.counts.asynchronous;
  if (bytes == 0 || (bytes & (bytes - 1)) || bytes > 16 || valid > bytes)
    fail(worker, "invalid_operation", site, "an asynchronous copy of %u bytes, %u of them valid", bytes, valid);
  require_aligned(worker, target, bytes, "destination of an asynchronous copy", site);
  if (valid) require_aligned(worker, source, bytes, "source of an asynchronous copy", site);
  Channel& channel = channel_of(worker, fiber, 0, line);
  Operation operation;
  operation.target = target;
  operation.source = source;
  operation.bytes = bytes;
  operation.valid_bytes = valid;
  operation.group = channel.open_group;
  operation.line = line;
  if (valid) declare(worker, operation, channel.read_agent, channel.open_group, source, valid, false);
  declare(worker, operation, channel.write_agent, channel.open_group, target, bytes, true);
  channel.waiting.push_back(std::move(operation));
  if (--worker.fuel == 0) tick(worker);
}

inline void commit_group(Worker& worker, unsigned number, int line) {
  ++channel_of(worker, *worker.actor, number, line).open_group;
}

// The groups but the last `remaining` have landed; reads_only: at least what they read has been read.
inline void wait_groups(Worker& worker, unsigned number, uint32_t remaining, bool reads_only, int line) {
  Fiber& fiber = *worker.actor;
  if (worker.deferred.bytes) flush_deferred(worker);
  Channel& channel = channel_of(worker, fiber, number, line);
  if (channel.open_group <= remaining + 1) return;
  const uint32_t last = channel.open_group - 1 - remaining;
  land_groups(worker, *fiber.block, channel, last);
  if (last > channel.reads_done) channel.reads_done = last;
  if (!reads_only && last > channel.writes_done) channel.writes_done = last;
  fiber.forget_passed();
}

// Work of any kind, put together range by range.
inline Operation* begin_operation(Worker& worker, unsigned number, int line) {
  auto* operation = new Operation;
  Channel& channel = channel_of(worker, *worker.actor, number, line);
  operation->group = channel.open_group;
  operation->arrives = false;
  operation->line = line;
  operation->owner = worker.actor;
  operation->bytes = number;  // the channel, until it starts
  return operation;
}

inline Operation* begin_transaction(Worker& worker, void* barrier, uint32_t bytes, int line) {
  Transaction& transaction = find_transaction(worker, barrier, line);
  require_published(worker, transaction, line);
  touch(worker, barrier, 8, true, true, site_of_line(line));
  auto* operation = new Operation;
  operation->barrier = &transaction;
  operation->home = transaction.block;
  operation->agent_clock = ++transaction.agent_clock;
  operation->line = line;
  operation->owner = worker.actor;
  operation->bytes = bytes;
  return operation;
}

inline void declare_range(Worker& worker, Operation* operation, const void* pointer, uint32_t bytes, bool write,
                          bool atomic = false) {
  if (worker.deferred.bytes) flush_deferred(worker);
  if (operation->barrier)
    return declare(worker, *operation, operation->barrier->agent, operation->agent_clock, pointer, bytes, write,
                   atomic);
  Channel& channel = *worker.actor->channels[operation->bytes];
  declare(worker, *operation, write ? channel.write_agent : channel.read_agent, operation->group, pointer, bytes, write,
          atomic);
}

inline void start_operation(Worker& worker, Operation* operation, void (*body)(void*), const void* state,
                            size_t bytes) {
  ++worker.counts.asynchronous;
  operation->body = body;
  const auto* from = static_cast<const unsigned char*>(state);
  operation->state.assign(from, from + bytes);
  if (operation->barrier) {
    operation->home->landing.push_back(std::move(*operation));
  } else {
    worker.actor->channels[operation->bytes]->waiting.push_back(std::move(*operation));
  }
  delete operation;
}

// When what this thread has copied so far has landed, it arrives at the barrier; counted: the arrival is one of those
// that the barrier waits for anyway, else it is one more.
inline void arrive_on_copies(Worker& worker, void* barrier, bool counted, int line) {
  Fiber& fiber = *worker.actor;
  Transaction& transaction = find_transaction(worker, barrier, line);
  touch(worker, barrier, 8, true, true, site_of_line(line));
  if (!counted) ++transaction.pending;
  Channel& channel = channel_of(worker, fiber, 0, line);
  Operation operation;
  operation.barrier = &transaction;
  operation.owner = &fiber;
  operation.arrives = true;
  operation.group = channel.open_group++;
  operation.line = line;
  fiber.block->landing.push_back(std::move(operation));
}

inline void land(Worker& worker, Block& block, Operation& operation) {
  Transaction& transaction = *operation.barrier;
  worker.actor = operation.owner;
  if (operation.arrives) {
    Channel& channel = *operation.owner->channels[0];
    land_groups(worker, block, channel, operation.group);
    transaction.arriving.add(channel.write_agent, operation.group);
    transaction.arriving.add(channel.read_agent, operation.group);
    --transaction.pending;
  } else {
    run_operation(worker, block, operation);
    transaction.arriving.add(transaction.agent, operation.agent_clock);
    block.agents[transaction.agent - block.threads].landed = operation.agent_clock;
    transaction.bytes -= operation.bytes;
  }
  settle(worker, transaction, operation.line);
}

// Called when nothing else can go on. Work on one barrier lands in its order, barriers in any.
inline void land_one(Worker& worker) {
  std::vector<Block*> blocks;
  for (auto& block : worker.resident)
    if (!block->landing.empty()) blocks.push_back(block.get());
  Block& block = *blocks[worker.draw(blocks.size())];
  if (worker.block != &block) enter_block(worker, block);
  const size_t drawn = worker.draw(block.landing.size());
  size_t at = 0;
  while (block.landing[at].barrier != block.landing[drawn].barrier) ++at;
  Operation operation = std::move(block.landing[at]);
  block.landing.erase(block.landing.begin() + at);
  land(worker, block, operation);
}

}  // namespace tcsim
