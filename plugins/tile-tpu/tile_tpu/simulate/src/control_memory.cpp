// Memory that the control core reads and writes through pointers. What it does there is not seen, so all that it gets a
// pointer to counts as written: a tensor as a whole, local memory 8 bytes at a time.
#include <algorithm>

#include "calls.h"
#include "device.h"

using namespace sim;

constexpr uint64_t kElement = 8;            // bytes of the largest
constexpr uint64_t kCacheLine = 64;
constexpr uint64_t kTensorAlignment = 4096;  // of the first byte of a tensor, arguments.py

// The address of a tensor without elements, which has no memory: tensors are far from each other.
static bool is_empty(uint64_t address) {
  for (const auto& tensor : device->tensors)
    if (tensor->contains(address)) return false;
  return address % kTensorAlignment == 0;
}

API(void*, tpu_global_mem_addr, (global_addr_t address)) QUERY({
  if (is_empty(address)) return static_cast<void*>(nullptr);
  Memory& memory = device->global(address, address);
  memory.set_valid();
  return static_cast<void*>(memory.at(address - memory.base()));
})

API(void*, tpu_local_mem_addr_unified, (local_addr_t address)) QUERY({
  Memory& local = *core->local;
  if (address >= local.bytes())
    fail("out_of_bounds", "the control core is beyond local memory", text("address %#x", address),
         text("less than %#llx", (unsigned long long)local.bytes()));
  const uint64_t bytes = std::min<uint64_t>(kElement, local.bytes() - address);
  core->now.unwaited.pointed(local, address, bytes);
  local.set_valid(address, bytes);
  return static_cast<void*>(local.at(address));
})

// Where the control core is about to read system memory, or has written it: the only calls that tell of it. Commands
// that nobody has waited for must not write what it reads, nor touch what it has written.
static void looks(system_addr_t address, uint64_t size, bool wrote) {
  if (!size) return;
  const uint64_t end = address + size;
  // the cache works on whole lines: the last one may reach beyond the tensor
  const uint64_t inside = end % kCacheLine ? end - 1 : std::max<uint64_t>(address, end - kCacheLine);
  const Memory& memory = device->global(address, inside);
  const uint64_t first = address - memory.base(), last = first + size - 1;
  for (const Touch& before : core->touched_system)
    if (before.memory == &memory && (wrote || before.write) && first <= before.last && before.first <= last)
      throw Failure{"hazard",
                    text("the control core %s what %s in line %d %s, and has not waited for it",
                         wrote ? "has written" : "reads", before.function, before.line, before.write ? "writes" : "reads"),
                    memory.name(), "tpu_poll() between them", "", memory.name()};
}

API(void, tpu_invalidate_cache, (system_addr_t address, unsigned long long size)) QUERY({ looks(address, size, false); })
API(void, tpu_flush_cache, (system_addr_t address, unsigned long long size)) QUERY({ looks(address, size, true); })
