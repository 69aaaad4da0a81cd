#include "unwaited.h"

#include <algorithm>
#include <cstring>

#include "calls.h"
#include "device.h"

namespace sim {
namespace {

constexpr uint64_t kUnit = 16;
constexpr size_t kMostWatched = 16;  // newest pointers; a statement of C has fewer

}  // namespace

Unwaited::Unwaited(uint64_t lane_bytes)
    : lane_bytes_(lane_bytes), units_(lane_bytes / kUnit), first_(units_.size()), last_(0) {}

void Unwaited::command(const char* function, int line) {
  const auto [found, added] = numbers_.try_emplace({line, function}, uint32_t(lines_.size()));
  if (added) lines_.push_back({function, line});
  now_ = found->second;
}

void Unwaited::note(uint64_t offset, uint64_t bytes, bool write) {
  const uint64_t lane = offset / lane_bytes_, at = offset % lane_bytes_;
  const uint64_t first = at / kUnit, last = std::min((at + bytes - 1) / kUnit, units_.size() - 1);
  for (uint64_t i = first; i <= last; ++i) {
    (write ? units_[i].writes : units_[i].reads) |= uint64_t(1) << lane;
    (write ? units_[i].writer : units_[i].reader) = now_;
  }
  first_ = std::min(first_, first);
  last_ = std::max(last_, last);
}

void Unwaited::waited() {
  if (first_ <= last_) std::fill(units_.begin() + first_, units_.begin() + last_ + 1, Unit{});
  first_ = units_.size();
  last_ = 0;
  watched_.clear();
}

void Unwaited::pointed(Memory& local, uint64_t offset, uint64_t bytes) {
  const uint64_t at = offset % lane_bytes_, lane = uint64_t(1) << offset / lane_bytes_;
  const Unit& unit = units_[at / kUnit];
  if (unit.writes & lane) {
    const Line& line = lines_[unit.writer];
    throw Failure{"hazard",
                  text("the control core looks at what %s in line %d writes, and has not waited for it", line.function,
                       line.line),
                  local.name() + ", " + local.place(offset), "tpu_poll() between them", "", local.name()};
  }
  if (!(unit.reads & lane)) return;
  Watched one{local.at(offset), {}, std::min(bytes, kUnit - at % kUnit), offset, unit.reader, &local, tpu_sim_line};
  std::memcpy(one.before, one.at, one.bytes);
  if (watched_.size() == kMostWatched) watched_.erase(watched_.begin());
  watched_.push_back(one);
}

void Unwaited::check_watched() const {
  for (const Watched& one : watched_) {
    if (!std::memcmp(one.at, one.before, one.bytes)) continue;
    const Line& line = lines_[one.reader];
    tpu_sim_line = one.line;
    throw Failure{"hazard",
                  text("the control core writes what %s in line %d reads, and has not waited for it", line.function,
                       line.line),
                  one.memory->name() + ", " + one.memory->place(one.offset), "tpu_poll() between them", "",
                  one.memory->name()};
  }
}

}  // namespace sim
