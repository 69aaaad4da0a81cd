// Every load and store comes by here: bounds, first writes, and order.
#pragma once
#include "banks.h"
#include "conflicts.h"
#include "origins.h"
#include "registers.h"

namespace tcsim {

inline uint32_t slot_of(uint32_t id) { return (id * 2654435761u) >> 28; }

// The list of readers with one more at its head, unless it is there or all of the list is ordered before the thread.
inline uint32_t with_reader(Readers& readers, const Fiber& fiber, uint64_t epoch, uint32_t site, bool wrote,
                            uint32_t head) {
  if (!head || readers[head].depth < 8) return readers.add(epoch, head, site, wrote);
  bool all_ordered = true;
  for (uint32_t id = head; id; id = readers.live(readers[id].parent)) {
    if (readers[id].epoch == epoch && readers[id].wrote >= wrote) return head;
    all_ordered = all_ordered && ordered(fiber, readers[id].epoch);
  }
  if (readers[head].depth >= 4096) return head;
  return readers.add(epoch, all_ordered ? 0 : head, site, wrote);
}

// Not the shared memory of another block, whose lists of readers have numbers of their own.
inline bool is_near(const Fiber& fiber, const Space& space) {
  return space.number != kShared || space.readers == &fiber.block->readers;
}

// The same for a plain read, which many cells have in common.
inline uint32_t with_plain_reader(Space& space, const Access& access, uint32_t head) {
  Fiber& fiber = *access.fiber;
  auto* memo = access.memo ? access.memo : space.number == kShared ? fiber.shared_readers : fiber.global_readers;
  if (!is_near(fiber, space)) return with_reader(*space.readers, fiber, access.epoch, access.site, false, head);
  Known& known = memo[slot_of(head)];
  if (known.made && known.parent == head && space.readers->live(known.made)) return known.made;
  known = {head, with_reader(*space.readers, fiber, access.epoch, access.site, false, head)};
  return known.made;
}

inline void check_readers(Worker& worker, Space& space, uint32_t head, const Access& access, uintptr_t address,
                          unsigned size) {
  const Readers& readers = *space.readers;
  for (uint32_t id = head; id; id = readers.live(readers[id].parent)) {
    const Reader& reader = readers[id];
    if ((access.atomic && (reader.epoch & kAtomic)) || !(access.write || reader.wrote)) continue;
    if (!ordered(*access.fiber, reader.epoch))
      conflict(worker, space, access, reader.epoch, reader.site, reader.wrote, address, size);
  }
}

inline void read_cell(Worker& worker, Space& space, Cell& cell, uint32_t head, uint64_t epoch, const Access& access,
                      uintptr_t address, unsigned size) {
  Readers& readers = *space.readers;
  if (head) {
    if (readers[head].epoch == epoch && !readers[head].wrote) return;
    if (readers[head].some_wrote) check_readers(worker, space, head, access, address, size);
  }
  const bool in_common = (!access.agent || access.memo) && !access.atomic;
  cell.readers = in_common ? with_plain_reader(space, access, head)
                           : with_reader(readers, *access.fiber, epoch, access.site, false, head);
}

inline void write_cell(Worker& worker, Space& space, Cell& cell, uint32_t head, uint64_t epoch, const Access& access,
                       uintptr_t address, unsigned size) {
  if (head) {
    Fiber& fiber = *access.fiber;
    uint32_t& passed = (space.number == kShared ? fiber.passed_shared : fiber.passed_global)[slot_of(head)];
    const bool near = is_near(fiber, space);
    if (!near || passed != head) check_readers(worker, space, head, access, address, size);
    if (!access.atomic && near) passed = head;
  }
  if (!access.atomic)
    cell.readers = 0;
  else if (cell.write && cell.write != epoch)
    cell.readers = with_reader(*space.readers, *access.fiber, cell.write, cell.site, true, head);
  cell.write = epoch;
  cell.site = access.site;
}

inline void check_cell(Worker& worker, Space& space, Cell& cell, const Access& access, uintptr_t address,
                       unsigned size) {
  const uint64_t epoch = access.atomic ? access.epoch | kAtomic : access.epoch;
  if (cell.write != access.epoch) {
    if (cell.write == 0) {
      if (!access.write && space.poison) unwritten(worker, space, access, address);
    } else if (!(access.atomic && (cell.write & kAtomic)) && !ordered(*access.fiber, cell.write)) {
      conflict(worker, space, access, cell.write, cell.site, true, address, size);
    } else if (access.proxy && is_unproxied(*access.fiber, cell.write)) {
      unproxied(worker, space, access, cell, address);
    }
  }
  const uint32_t head = space.readers->live(cell.readers);
  if (access.write)
    write_cell(worker, space, cell, head, epoch, access, address, size);
  else
    read_cell(worker, space, cell, head, epoch, access, address, size);
}

__attribute__((noinline)) inline void check_granules(Worker& worker, Space& space, uintptr_t address, unsigned size,
                                                     const Access& access) {
  const uintptr_t granule = uintptr_t(1) << space.shift;
  uintptr_t offset = address - space.begin;
  const uintptr_t end = offset + size;
  while (offset < end) {
    const uintptr_t number = offset >> space.shift, first = number << space.shift;
    const uintptr_t stop = first + granule < end ? first + granule : end;
    Cell& cell = space.cells[number];
    const bool whole = offset == first && stop == first + granule;
    Cell* bytes = space.bytes + first;
    if (whole && cell.write != kSplit) {
      check_cell(worker, space, cell, access, space.begin + offset, granule);
    } else {
      if (cell.write != kSplit) {
        for (uintptr_t i = 0; i < granule; ++i) bytes[i] = cell;
        cell.write = kSplit;
      }
      for (uintptr_t i = offset; i < stop; ++i) check_cell(worker, space, bytes[i - first], access, space.begin + i, 1);
      if (whole && access.write) cell = bytes[0];
    }
    offset = stop;
  }
}

inline void check_space(Worker& worker, Space& space, uintptr_t address, unsigned size, const Access& access) {
  const uintptr_t offset = address - space.begin;
  if (size == 1u << space.shift && (offset & (size - 1)) == 0) {
    Cell& cell = space.cells[offset >> space.shift];
    if (cell.write != kSplit) return check_cell(worker, space, cell, access, address, size);
  }
  check_granules(worker, space, address, size, access);
}

__attribute__((noinline, cold)) inline void outside(Worker& worker, const Space& space, const Access& access,
                                                    uintptr_t address, unsigned size) {
  if (worker.failed) return give_up(worker);
  TcSimReport& report = worker.report;
  report = TcSimReport{};
  snprintf(report.kind, sizeof report.kind, "out_of_bounds");
  describe(report.access, name_of(access), *access.fiber->block, access.fiber->thread, access.site);
  locate(report, space, address, size);
  give_up(worker);
}

// The block of the running one's cluster in whose shared memory the address is; null: none.
inline Block* find_in_cluster(Worker& worker, uintptr_t address) {
  if (!worker.block || !worker.block->cluster) return nullptr;
  for (Block* block : worker.block->cluster->blocks)
    if (address - block->memory_begin < block->memory_bytes) return block;
  return nullptr;
}

inline void require_running(Worker& worker, const Block& block, uint32_t site) {
  if (block.ended)
    fail(worker, "ended_block", site, "the shared memory of block (%u, %u, %u) of the cluster, which has ended",
         block.index.x, block.index.y, block.index.z);
}

// The memory that an address belongs to, or would but for being out of bounds; null: none (an error, but for the
// stacks of the block's threads and the kernel's own constants, which are not looked at).
enum class Place { space, registers, nowhere };

inline Place find_space(Worker& worker, uintptr_t address, unsigned size, Space*& space) {
  if (address - worker.shared_begin < worker.shared_bytes) {
    space = &worker.block->shared;
    return Place::space;
  }
  if (address - worker.arena_begin < worker.arena_bytes) {
    Launch& launch = *worker.launch;
    space = &launch.tensors[launch.page_owner[(address - worker.arena_begin) >> 12]];
    return Place::space;
  }
  if (address - worker.stacks_begin < worker.stacks_bytes) return Place::registers;
  if (Block* other = find_in_cluster(worker, address)) {
    space = &other->shared;
    return Place::space;
  }
  const Launch& launch = *worker.launch;
  if (address >= launch.module_begin && address + size <= launch.module_end) return Place::registers;
  return Place::nowhere;
}

__attribute__((noinline, cold)) inline void nowhere(Worker& worker, const Access& access, uintptr_t address,
                                                    unsigned size) {
  // a frame of the host below the scheduler: landing work, and helpers that run there
  fail(worker, "wild_access", access.site,
       "%s of %u bytes at address 0x%llx, which is in no tensor, not in shared memory and no register", name_of(access),
       size, static_cast<unsigned long long>(address));
}

inline void check(Worker& worker, uintptr_t address, unsigned size, const Access& access) {
  Space* space = nullptr;
  const Place place = find_space(worker, address, size, space);
  if (place == Place::registers)
    return touch_registers(worker, reinterpret_cast<void*>(address), size, access.write, access.site);
  if (place == Place::nowhere) return nowhere(worker, access, address, size);
  if (address < space->begin || address + size > space->end) return outside(worker, *space, access, address, size);
  if (access.write) ++worker.progress;
  if (space->number == kShared) {
    ++(access.write ? worker.counts.shared_writes : worker.counts.shared_reads);
    Block& owner = space == &worker.block->shared ? *worker.block : *find_in_cluster(worker, address);
    if (&owner != access.fiber->block) {
      require_running(worker, owner, access.site);
      if (!access.write) owner.read_by_others = true;
    }
    if (access.write && !owner.origins.empty()) forget_origins(owner, address, size);
    if (worker.banks && &owner == worker.block)
      worker.banks->note(*access.fiber, address - space->begin, size, access.write, access.site);
  } else {
    ++(access.write ? worker.counts.global_writes : worker.counts.global_reads);
    if (access.write && !space->writable)
      return fail(worker, "read_only", access.site, "a write to tensor %d, which the kernel declares as only read",
                  space->number);
  }
  if (space->cells) check_space(worker, *space, address, size, access);
}

// A plain or atomic access of the acting thread.
inline void touch(Worker& worker, const void* pointer, unsigned size, bool write, bool atomic, uint32_t site) {
  if (worker.quiet) return;
  if (worker.deferred.bytes) flush_deferred(worker);
  Fiber* fiber = worker.actor;
  check(worker, reinterpret_cast<uintptr_t>(pointer), size, {fiber, fiber->epoch, site, size, write, atomic, false});
  if (--worker.fuel == 0) tick(worker);
}

// Of tensors and shared memory; what a thread has in registers has no address on a device.
inline void require_aligned(Worker& worker, const void* pointer, unsigned alignment, const char* what, uint32_t site) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if ((address & (alignment - 1)) == 0 || worker.quiet) return;
  Space* space = nullptr;
  if (find_space(worker, address, 1, space) != Place::space) return;
  if (worker.failed) return give_up(worker);
  TcSimReport& report = worker.report;
  report = TcSimReport{};
  snprintf(report.kind, sizeof report.kind, "misaligned");
  snprintf(report.message, sizeof report.message, "%s at an address that is no multiple of %u", what, alignment);
  describe(report.access, what, *worker.actor->block, worker.actor->thread, site);
  locate(report, *space, address, alignment);
  give_up(worker);
}

}  // namespace tcsim
