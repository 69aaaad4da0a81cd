// Blocks come and go: their fibers, stacks, shared memory.
#pragma once
#include "access.h"

namespace tcsim {

constexpr size_t kPage = 4096, kStack = 64 * 1024, kStackStride = kStack + kPage, kSharedGuard = 64 * 1024;

void start_fiber();

inline bool blocks_left(const Worker& worker) {
  return worker.resident.size() < worker.launch->request->most_resident &&
         worker.launch->next_block.load(std::memory_order_relaxed) < worker.launch->order.size();
}

inline bool has_landing(const Worker& worker) {
  for (const auto& block : worker.resident)
    if (!block->landing.empty()) return true;
  return false;
}

inline void enter_block(Worker& worker, Block& block) {
  worker.block = &block;
  worker.shared_begin = block.memory_begin;
  worker.shared_bytes = block.memory_bytes;
  worker.stacks_begin = block.stacks_begin;
  worker.stacks_bytes = block.stacks_bytes;
}

inline uint32_t cluster_size(const Launch& launch) {
  const uint32_t* extent = launch.request->cluster;
  return extent[0] * extent[1] * extent[2];
}

// Memory of a block's own; kept for the blocks after it.
inline bool furnish(Worker& worker, Block& block) {
  const TcSimLaunch& request = *worker.launch->request;
  const uint32_t threads = request.block[0] * request.block[1] * request.block[2];
  if (block.stacks.data()) return true;
  const size_t room = (request.shared_limit + kPage - 1) / kPage * kPage;
  if (!block.stacks.reserve(threads * kStackStride) || !block.memory.reserve(room + 2 * kSharedGuard)) return false;
  block.threads = threads;
  block.fibers = std::vector<Fiber>(threads);
  block.meetings.resize((threads + request.warp - 1) / request.warp);
  block.stacks_begin = reinterpret_cast<uintptr_t>(block.stacks.data());
  block.stacks_bytes = block.stacks.size();
  for (uint32_t i = 0; i < threads; ++i) mprotect(block.stacks.data() + i * kStackStride, kPage, PROT_NONE);
  block.memory_begin = reinterpret_cast<uintptr_t>(block.memory.data());
  block.memory_bytes = block.memory.size();
  block.shared.number = kShared;
  block.shared.poison = true;
  return block.shadow.cover(block.shared, block.memory_begin + kSharedGuard, room, 1, &block.readers);
}

inline void prepare_fibers(Worker& worker, Block& block) {
  const uint32_t* extent = worker.launch->request->block;
  for (uint32_t i = 0; i < block.threads; ++i) {
    Fiber& fiber = block.fibers[i];
    fiber = Fiber();
    fiber.block = &block;
    fiber.thread = i;
    fiber.index = {i % extent[0], i / extent[0] % extent[1], i / extent[0] / extent[1]};
    fiber.epoch = make_epoch(block.tag, i, fiber.clock);
    fiber.forget_memos();
    prepare_context(fiber.context, block.stacks.data() + i * kStackStride + kPage, kStack, start_fiber);
    worker.ready.push_back(&fiber);
  }
}

inline Block* start_block(Worker& worker, uint32_t turn) {
  Launch& launch = *worker.launch;
  if (worker.spare.empty()) worker.spare.push_back(std::make_unique<Block>());
  std::unique_ptr<Block> block = std::move(worker.spare.back());
  worker.spare.pop_back();
  if (!furnish(worker, *block)) {
    worker.actor = nullptr;
    fail(worker, "out_of_memory", 0, "the host has no memory left for the stacks of another block");
    return nullptr;
  }
  block->tag = launch.order[turn] + 1;
  block->index = block_index(launch, block->tag);
  block->live = block->threads;
  block->shadow.clear(block->shared, block->static_used);  // what the block before used
  block->shared.end = block->shared.begin + launch.request->shared_bytes;
  block->static_used = launch.request->shared_bytes;
  block->readers.forget();
  prepare_fibers(worker, *block);
  ++worker.counts.blocks;
  worker.resident.push_back(std::move(block));
  return worker.resident.back().get();
}

// Starts the next block of the launch, with all of its cluster; false when there is none left.
inline bool admit_block(Worker& worker) {
  Launch& launch = *worker.launch;
  const uint32_t size = cluster_size(launch);
  const uint32_t turn = launch.next_block.fetch_add(size);
  if (turn >= launch.order.size()) return false;
  const auto cluster = size > 1 ? std::make_shared<Cluster>() : nullptr;
  for (uint32_t i = 0; i < size; ++i) {
    Block* block = start_block(worker, turn + i);
    if (!block) return true;
    block->cluster = cluster;
    block->rank = i;
    if (!cluster) continue;
    cluster->blocks.push_back(block);
    cluster->missing += block->threads;
  }
  return true;
}

// Copies out of the block, or a team's work, that nobody has waited for: the memory that they read goes away.
inline void require_work_awaited(Worker& worker, Fiber& fiber) {
  for (const Guard& guard : fiber.guards)
    if (is_pending(fiber, guard))
      return fail(worker, "missing_wait", site_of_line(guard.line), "the thread ends before %s is done%s", guard.name,
                  guard.group >= fiber.team->open_group ? " (it has not been committed)" : "");
  for (const auto& channel : fiber.channels) {
    if (!channel) continue;
    for (const Operation& operation : channel->waiting)
      if (operation.writes_global)
        return fail(worker, "missing_wait", site_of_line(operation.line),
                    "the thread ends before its asynchronous copy out of shared memory has landed");
  }
}

// What others still write to a block that ends: its memory goes away.
inline void require_nothing_lands(Worker& worker, const Block& block) {
  for (const Operation& operation : block.landing) {
    if (operation.owner->block == &block) continue;
    worker.actor = operation.owner;
    return fail(worker, "ended_block", site_of_line(operation.line),
                "block (%u, %u, %u) of the cluster ends before asynchronous work of another block has landed in it",
                block.index.x, block.index.y, block.index.z);
  }
}

inline void clear_block(Worker& worker, Block& block);

// A block of a cluster stays until all of them have ended, so that what comes too late is seen.
inline void leave_block(Worker& worker, Block& block) {
  if (--block.live) return;
  const std::shared_ptr<Cluster> cluster = block.cluster;
  if (!cluster) return clear_block(worker, block);
  block.ended = true;
  require_nothing_lands(worker, block);
  if (++cluster->ended < cluster->blocks.size() || worker.failed) return;
  for (Block* member : cluster->blocks) clear_block(worker, *member);
}

inline void clear_block(Worker& worker, Block& block) {
  block.statics.clear();
  block.barrier = BlockBarrier();
  block.named.clear();
  block.transactions.clear();
  block.agents.clear();
  block.shared_readers.clear();
  block.sync.clear();
  block.origins.clear();
  block.landing.clear();
  block.cluster.reset();
  block.cluster_done = block.cluster_done_proxied = Clock();
  block.read_by_others = block.ended = false;
  block.team_registers.clear();
  block.wanted_registers.clear();
  block.team_warps.clear();
  block.team_work.clear();
  for (auto& meetings : block.meetings) meetings.clear();
  if (worker.banks) worker.banks->finish_block();
  worker.block = nullptr;
  for (size_t i = 0; i < worker.resident.size(); ++i)
    if (worker.resident[i].get() == &block) {
      worker.spare.push_back(std::move(worker.resident[i]));
      worker.resident.erase(worker.resident.begin() + i);
      return;
    }
}

}  // namespace tcsim
