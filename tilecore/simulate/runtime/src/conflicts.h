// What is wrong with an access, and the report of it: two that nothing orders, memory that nobody wrote, writes that
// asynchronous work has not been told of.
#pragma once
#include "ordering.h"

namespace tcsim {

struct Access {
  Fiber* fiber;
  uint64_t epoch;  // of the thread, or of its agent
  uint32_t site;
  unsigned size;
  bool write, atomic, agent;
  Known* memo = nullptr;  // of an agent's own
  bool proxy = false;     // by a way of its own to shared memory, which must have been told of writes
};

void tick(Worker& worker);
void flush_deferred(Worker& worker);

inline void locate(TcSimReport& report, const Space& space, uintptr_t address, unsigned size) {
  report.space = space.number;
  report.offset = static_cast<int64_t>(address - space.begin);
  report.size = size;
  report.address = address;
}

inline const char* name_of(const Access& access) {
  if (access.agent) return access.write ? "asynchronous write" : "asynchronous read";
  if (access.atomic) return access.write ? "atomic update" : "atomic load";
  return access.write ? "write" : "read";
}

inline Index block_index(const Launch& launch, uint32_t tag) {
  const uint32_t* grid = launch.request->grid;
  const uint64_t number = tag - 1;
  return {uint32_t(number % grid[0]), uint32_t(number / grid[0] % grid[1]), uint32_t(number / grid[0] / grid[1])};
}

inline Block* find_resident(Worker& worker, uint32_t tag) {
  for (auto& block : worker.resident)
    if (block->tag == tag) return block.get();
  return nullptr;
}

// Two accesses that nothing orders. before_write: the earlier one was a write.
__attribute__((noinline, cold)) inline void conflict(Worker& worker, const Space& space, const Access& access,
                                                     uint64_t before, uint32_t before_site, bool before_write,
                                                     uintptr_t address, unsigned size) {
  if (worker.failed) return give_up(worker);
  TcSimReport& report = worker.report;
  report = TcSimReport{};
  const uint32_t tag = epoch_block(before), actor = epoch_actor(before);
  Block* block = find_resident(worker, tag);
  const bool by_agent =
      actor >= worker.launch->request->block[0] * worker.launch->request->block[1] * worker.launch->request->block[2];
  const bool pending = by_agent && block && block->agents[actor - block->threads].landed < epoch_clock(before);
  snprintf(report.kind, sizeof report.kind, "%s", pending ? "missing_wait" : "race");
  const Access other{nullptr, before, before_site, size, before_write, (before & kAtomic) != 0, by_agent};
  describe(report.access, name_of(access), *access.fiber->block, access.fiber->thread, access.site);
  snprintf(report.other.what, sizeof report.other.what, "%s", name_of(other));
  const Index index = block_index(*worker.launch, tag);
  report.other.thread = by_agent ? ~uint32_t(0) : actor;
  report.other.block[0] = index.x;
  report.other.block[1] = index.y;
  report.other.block[2] = index.z;
  report.other.site = before_site;
  report.other.known = 1;
  locate(report, space, address, access.size);
  const bool may_agree = worker.launch->request->allow_same_value && access.write && before_write && !by_agent &&
                         !access.agent && !access.atomic && size <= sizeof worker.deferred.before;
  if (may_agree) {  // decided when the store is done
    worker.deferred.report = report;
    worker.deferred.bytes = size;
    worker.deferred.address = address;
    memcpy(worker.deferred.before, reinterpret_cast<void*>(address), size);
    return;
  }
  give_up(worker);
}

__attribute__((noinline, cold)) inline void unwritten(Worker& worker, const Space& space, const Access& access,
                                                      uintptr_t address) {
  if (worker.failed) return give_up(worker);
  TcSimReport& report = worker.report;
  report = TcSimReport{};
  snprintf(report.kind, sizeof report.kind, "uninitialised");
  describe(report.access, name_of(access), *access.fiber->block, access.fiber->thread, access.site);
  locate(report, space, address, access.size);
  give_up(worker);
}

// A write that the thread knows of, but not the asynchronous work that it starts.
inline bool is_unproxied(const Fiber& fiber, uint64_t write) {
  const Block& block = *fiber.block;
  const uint32_t actor = epoch_actor(write);
  if (epoch_block(write) != block.tag || (actor >= block.threads && !block.agents[actor - block.threads].plain))
    return false;
  return fiber.proxied.at(actor) < epoch_clock(write);
}

__attribute__((noinline, cold)) inline void unproxied(Worker& worker, const Space& space, const Access& access,
                                                      const Cell& cell, uintptr_t address) {
  if (worker.failed) return give_up(worker);
  TcSimReport& report = worker.report;
  report = TcSimReport{};
  snprintf(report.kind, sizeof report.kind, "missing_proxy_fence");
  describe(report.access, name_of(access), *access.fiber->block, access.fiber->thread, access.site);
  describe(report.other, "write", *access.fiber->block, epoch_actor(cell.write), cell.site);
  if (epoch_actor(cell.write) >= access.fiber->block->threads) report.other.thread = ~uint32_t(0);
  locate(report, space, address, access.size);
  give_up(worker);
}

}  // namespace tcsim
