// Registers that asynchronous work of a team uses: a thread that touches them meanwhile has not waited, and touching
// them later wants a fence before the next work on them.
#pragma once
#include "failure.h"

namespace tcsim {

inline bool is_pending(const Fiber& fiber, const Guard& guard) { return guard.group > fiber.team->done; }

__attribute__((noinline)) inline void touch_guards(Worker& worker, Fiber& fiber, uintptr_t address, unsigned size,
                                                   bool write, uint32_t site) {
  for (Guard& guard : fiber.guards) {
    if (address + size <= guard.begin || address >= guard.end || !(guard.sums || write)) continue;
    if (is_pending(fiber, guard))
      return fail(worker, "missing_wait", site, "a %s of registers that %s, started at line %d, still %s%s",
                  write ? "write" : "read", guard.name, guard.line, guard.sums ? "adds to" : "reads",
                  guard.group >= fiber.team->open_group ? " (it has not been committed)" : "");
    guard.touched = true;
  }
}

// Called for what is not in tensors or shared memory.
inline void touch_registers(Worker& worker, const void* pointer, unsigned size, bool write, uint32_t site) {
  Fiber* fiber = worker.actor;
  if (!fiber || fiber->guards.empty() || worker.quiet) return;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (address < fiber->guards_end && address + size > fiber->guards_begin)
    touch_guards(worker, *fiber, address, size, write, site);
}

// Work of the thread's team starts that uses registers of the thread; sums: it writes them.
inline void guard_registers(Worker& worker, Fiber& fiber, const void* pointer, size_t bytes, bool sums,
                            const char* name, int line) {
  const auto begin = reinterpret_cast<uintptr_t>(pointer);
  const uintptr_t end = begin + bytes;
  auto& guards = fiber.guards;
  const uint32_t site = site_of_line(line);
  bool known = false;
  for (size_t i = 0; i < guards.size(); ++i) {
    Guard& guard = guards[i];
    if (end <= guard.begin || begin >= guard.end) continue;
    const bool same = guard.begin == begin && guard.end == end && guard.sums == sums;
    const bool chained = guard.sums == sums && (!sums || (same && strcmp(guard.name, name) == 0));
    if (is_pending(fiber, guard) && !chained)
      return fail(worker, "missing_wait", site, "thread %u starts %s on registers that %s of line %d still uses",
                  fiber.thread, name, guard.name, guard.line);
    if (guard.touched)
      return fail(worker, "missing_fence", site,
                  "thread %u has touched registers of %s since the last fence of its warp", fiber.thread, name);
    if (same) {
      guard.group = fiber.team->open_group;
      guard.name = name;
      guard.line = line;
      known = true;
    } else if (!is_pending(fiber, guard)) {
      guards.erase(guards.begin() + i--);
    }
  }
  if (known) return;
  if (!fiber.fenced_registers)
    return fail(worker, "missing_fence", site, "%s takes registers that no fence stands before, in thread %u", name,
                fiber.thread);
  guards.push_back({begin, end, name, line, fiber.team->open_group, sums, false});
  if (begin < fiber.guards_begin) fiber.guards_begin = begin;
  if (end > fiber.guards_end) fiber.guards_end = end;
}

inline void fence_registers(Fiber& fiber) {
  fiber.fenced_registers = true;
  for (Guard& guard : fiber.guards) guard.touched = false;
}

}  // namespace tcsim
