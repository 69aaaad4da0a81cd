// Clusters: blocks that run side by side, see each other's shared memory, and have a barrier of all their threads,
// which a thread arrives at and waits for in two steps.
#pragma once
#include "transactions.h"

namespace tcsim {

inline void end_cluster_phase(Worker& worker, Cluster& cluster) {
  ++cluster.phase;
  ++worker.progress;
  ++worker.counts.barriers;
  cluster.foreign = nullptr;
  cluster.missing = 0;
  for (Block* block : cluster.blocks) {
    block->cluster_done = block->cluster_arriving.total();
    block->cluster_done_proxied = block->cluster_arriving_proxied.total();
    block->cluster_arriving.clear();
    block->cluster_arriving_proxied.clear();
    cluster.missing += block->live;
    cluster.arriving_foreign = with_block(cluster.arriving_foreign, block->tag, block->cluster_done);
  }
  cluster.foreign = cluster.arriving_foreign;
  for (Fiber* fiber : cluster.waiting) wake(worker, fiber);
  cluster.waiting.clear();
}

// A block that is launched without others is a cluster of its own.
inline Cluster& cluster_of(Block& block) {
  if (!block.cluster) {
    block.cluster = std::make_shared<Cluster>();
    block.cluster->blocks.push_back(&block);
    block.cluster->missing = block.live;
  }
  return *block.cluster;
}

inline void cluster_arrive(Worker& worker, int line) {
  Cluster& cluster = cluster_of(*worker.actor->block);
  Fiber& fiber = *worker.actor;
  if (fiber.cluster_phase > cluster.phase)
    fail(worker, "invalid_operation", site_of_line(line),
         "thread %u arrives at the cluster's barrier again before it has waited", fiber.thread);
  fiber.cluster_phase = cluster.phase + 1;
  publish_into(fiber, fiber.block->cluster_arriving);
  fiber.block->cluster_arriving_proxied.add(fiber.proxied);
  cluster.arriving_foreign = join(cluster.arriving_foreign, fiber.foreign);
  next_time(fiber);
  if (--cluster.missing == 0) end_cluster_phase(worker, cluster);
}

inline void cluster_wait(Worker& worker, int line) {
  Cluster& cluster = cluster_of(*worker.actor->block);
  Fiber& fiber = *worker.actor;
  if (fiber.cluster_waits == fiber.cluster_phase)
    fail(worker, "invalid_operation", site_of_line(line),
         "thread %u waits at the cluster's barrier, at which it has not arrived", fiber.thread);
  fiber.cluster_waits = fiber.cluster_phase;
  if (cluster.phase < fiber.cluster_phase) {
    cluster.waiting.push_back(&fiber);
    suspend(worker, State::cluster, line);
  }
  learn(fiber, fiber.block->cluster_done);
  fiber.proxied = join(fiber.proxied, fiber.block->cluster_done_proxied);
  fiber.foreign = join(fiber.foreign, cluster.foreign);
  fiber.forget_passed();
}

// A thread that ends is not waited for.
inline void leave_cluster(Worker& worker, Fiber& fiber) {
  Cluster* cluster = fiber.block->cluster.get();
  if (!cluster || fiber.cluster_phase > cluster->phase) return;
  --fiber.block->live;  // for the next phase's count
  if (--cluster->missing == 0) end_cluster_phase(worker, *cluster);
  ++fiber.block->live;
}

// The same place in the shared memory of the block of that rank.
inline void* remote_shared(Worker& worker, const void* own, uint32_t rank, int line) {
  Block& block = *worker.actor->block;
  const auto address = reinterpret_cast<uintptr_t>(own);
  const Cluster& cluster = cluster_of(block);
  if (rank >= cluster.blocks.size())
    fail(worker, "invalid_operation", site_of_line(line), "rank %u of a cluster of %zu blocks", rank,
         cluster.blocks.size());
  if (address - block.memory_begin >= block.memory_bytes)
    fail(worker, "invalid_operation", site_of_line(line),
         "an address that is not in the block's shared memory has none in another block's");
  return reinterpret_cast<void*>(address - block.memory_begin + cluster.blocks[rank]->memory_begin);
}

}  // namespace tcsim
