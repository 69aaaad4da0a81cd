#include "device.h"

#include <algorithm>

namespace sim {

thread_local Core* core = nullptr;
Device* device = nullptr;

std::string text(const char* format, ...) {
  char buffer[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

Memory& Device::l2() {
  if (!l2_) l2_ = std::make_unique<Memory>("L2", chip.l2_base, chip.l2_bytes, true);
  return *l2_;
}

Memory& Device::global(uint64_t first, uint64_t last) {
  if (in_l2(first)) {
    if (in_l2(last)) return l2();
    fail("out_of_bounds", "an access beyond the L2 window", text("up to 0x%llx", (unsigned long long)last),
         text("below 0x%llx", (unsigned long long)(chip.l2_base + chip.l2_bytes)));
  }
  Memory* nearest = nullptr;
  uint64_t distance = ~uint64_t(0);
  for (auto& tensor : tensors) {
    if (tensor->contains(first) && tensor->contains(last)) return *tensor;
    const uint64_t begin = tensor->base(), end = begin + tensor->bytes();
    const uint64_t away = first < begin ? begin - first : first >= end ? first - end : 0;
    if (away < distance) distance = away, nearest = tensor.get();
  }
  if (!nearest) fail("out_of_bounds", "a global address where no tensor is", text("0x%llx", (unsigned long long)first));
  const long long from = (long long)(first - nearest->base()), to = (long long)(last - nearest->base());
  throw Failure{"out_of_bounds", "DMA outside of a tensor in global memory",
                text("bytes %lld to %lld of %s", from, to, nearest->name().c_str()),
                text("bytes 0 to %lld", (long long)nearest->bytes() - 1), "", nearest->name()};
}

void Core::waited() {
  touched_system.clear();
  alone_used = false;
  now.unwaited.waited();
}

void spend(Engine engine, double cycles) {
  Counts& counts = core->counts;
  if (core->now.in_region) {
    core->engine_cycles[int(engine)] += cycles;
  } else {
    counts.serial_cycles += cycles;
    counts.total_cycles += cycles;
  }
}

}  // namespace sim
