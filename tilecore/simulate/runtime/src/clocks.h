// What a thread knows of the progress of the others: vector clocks, shared between threads and never changed.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <memory>
#include <utility>
#include <vector>

namespace tcsim {

// A counted reference to a clock vector; empty means zero everywhere.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock& other) : body_(other.body_) {
    if (body_) ++body_->references;
  }
  Clock(Clock&& other) noexcept : body_(other.body_) { other.body_ = nullptr; }
  Clock& operator=(Clock other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~Clock() {
    if (body_ && --body_->references == 0) free(body_);
  }

  uint32_t at(uint32_t actor) const { return body_ && actor < body_->size ? body_->values[actor] : 0; }
  uint32_t size() const { return body_ ? body_->size : 0; }
  const uint32_t* values() const { return body_ ? body_->values : nullptr; }
  bool same_as(const Clock& other) const { return body_ == other.body_; }

  static Clock of(const uint32_t* values, uint32_t size) {
    Clock made;
    if (size == 0) return made;
    made.body_ = static_cast<Body*>(malloc(sizeof(Body) + size * sizeof(uint32_t)));
    made.body_->references = 1;
    made.body_->size = size;
    memcpy(made.body_->values, values, size * sizeof(uint32_t));
    return made;
  }

 private:
  struct Body {
    uint32_t references, size;
    uint32_t values[];
  };
  Body* body_ = nullptr;
};

// The largest of several clocks, entry by entry.
class ClockSum {
 public:
  void clear() {
    values_.clear();
    for (Clock& clock : recent_) clock = Clock();
  }
  void add(const Clock& clock) {
    for (const Clock& known : recent_)
      if (known.same_as(clock)) return;
    recent_[next_++ % kRecent] = clock;
    if (clock.size() > values_.size()) values_.resize(clock.size());
    const uint32_t* theirs = clock.values();
    for (uint32_t i = 0; i < clock.size(); ++i)
      if (theirs[i] > values_[i]) values_[i] = theirs[i];
  }
  void add(uint32_t actor, uint32_t clock) {
    if (clock == 0) return;
    if (actor >= values_.size()) values_.resize(actor + 1);
    if (clock > values_[actor]) values_[actor] = clock;
  }
  Clock total() const { return Clock::of(values_.data(), static_cast<uint32_t>(values_.size())); }

 private:
  static constexpr unsigned kRecent = 4;
  std::vector<uint32_t> values_;
  Clock recent_[kRecent];
  unsigned next_ = 0;
};

inline Clock join(const Clock& a, const Clock& b) {
  if (a.same_as(b) || b.size() == 0) return a;
  if (a.size() == 0) return b;
  ClockSum sum;
  sum.add(a);
  sum.add(b);
  return sum.total();
}

// What is known of other blocks: by block tag. Rarely more than a few.
using ForeignClocks = std::vector<std::pair<uint32_t, Clock>>;
using Foreign = std::shared_ptr<const ForeignClocks>;

inline const Clock* find_block(const Foreign& foreign, uint32_t block) {
  if (foreign)
    for (const auto& entry : *foreign)
      if (entry.first == block) return &entry.second;
  return nullptr;
}

inline Foreign with_block(const Foreign& foreign, uint32_t block, const Clock& clock) {
  auto made = foreign ? std::make_shared<ForeignClocks>(*foreign) : std::make_shared<ForeignClocks>();
  for (auto& entry : *made)
    if (entry.first == block) {
      entry.second = join(entry.second, clock);
      return made;
    }
  made->emplace_back(block, clock);
  return made;
}

inline Foreign join(const Foreign& a, const Foreign& b) {
  if (!b || a == b) return a;
  Foreign made = a;
  for (const auto& entry : *b) made = with_block(made, entry.first, entry.second);
  return made;
}

// What a release publishes. device: also to other blocks.
struct Knowledge {
  uint32_t block = 0;
  Clock clock;
  Foreign foreign;
  bool device = true;
  Clock proxied;  // as Fiber has it
};

// An access is known by an epoch: who (block tag, actor) at which of its times. Zero: nobody.
constexpr uint64_t kAtomic = uint64_t(1) << 63;
constexpr uint32_t kActorBits = 12, kClockBits = 28, kBlockBits = 23;
constexpr uint32_t kMaxActors = 1u << kActorBits;

inline uint64_t make_epoch(uint32_t block, uint32_t actor, uint32_t clock) {
  return (uint64_t(block & ((1u << kBlockBits) - 1)) << (kActorBits + kClockBits)) | (uint64_t(actor) << kClockBits) |
         (clock & ((1u << kClockBits) - 1));
}
inline uint32_t epoch_block(uint64_t epoch) { return (epoch & ~kAtomic) >> (kActorBits + kClockBits); }
inline uint32_t epoch_actor(uint64_t epoch) { return (epoch >> kClockBits) & (kMaxActors - 1); }
inline uint32_t epoch_clock(uint64_t epoch) { return epoch & ((1u << kClockBits) - 1); }

}  // namespace tcsim
