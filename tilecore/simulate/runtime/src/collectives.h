// Operations that the lanes of a warp (or of several) carry out together.
#pragma once
#include "scheduler.h"

namespace tcsim {

using CollectiveBody = void (*)(void* const* operands, unsigned lanes, void* context);

inline uint32_t expected_lanes(const Block& block, uint32_t first, uint32_t width, uint64_t mask) {
  const uint32_t present = block.threads - first < width ? block.threads - first : width;
  if (mask == 0) return present;
  const uint64_t there = present >= 64 ? ~uint64_t(0) : (uint64_t(1) << present) - 1;
  return static_cast<uint32_t>(__builtin_popcountll(mask & there));
}

inline bool takes_part(const Meeting& meeting, uint32_t lane) { return meeting.mask == 0 || meeting.mask >> lane & 1; }

// Can both operations go on? Not where each waits for a lane that waits in the other one. A lane that waits for the whole
// warp does not hold up an operation of some other lanes, which come to the whole warp's afterwards.
inline bool are_independent(const Meeting& open, const Meeting& wanted, uint32_t lane) {
  if (!takes_part(open, lane)) return true;
  for (uint32_t other = 0; other < open.width; ++other)
    if (open.operands[other] && takes_part(wanted, other)) return false;
  return true;
}

inline Meeting& find_meeting(Worker& worker, std::vector<std::unique_ptr<Meeting>>& open, const Meeting& wanted, uint32_t lane) {
  for (auto& meeting : open) {
    if (meeting->width != wanted.width) continue;
    if (meeting->mask == wanted.mask && meeting->line == wanted.line && strcmp(meeting->name, wanted.name) == 0)
      return *meeting;
    if (are_independent(*meeting, wanted, lane)) continue;
    fail(worker, "mismatched_collective", site_of_line(wanted.line),
         "thread %u is at %s of line %d while other lanes of its warp are at %s of line %d", worker.running->thread,
         wanted.name, wanted.line, meeting->name, meeting->line);
  }
  open.push_back(std::make_unique<Meeting>(wanted));
  Meeting& made = *open.back();
  made.operands.assign(made.width, nullptr);
  return made;
}

inline void close_meeting(std::vector<std::unique_ptr<Meeting>>& open, Meeting& meeting) {
  for (size_t i = 0; i < open.size(); ++i)
    if (open[i].get() == &meeting) {
      open[i] = std::move(open.back());
      open.pop_back();
      return;
    }
}

// width: neighbouring threads that take part, 0 for the warp. orders: memory too.
inline void collective(Worker& worker, const char* name, uint32_t width, uint64_t mask, void* operands,
                       CollectiveBody body, void* context, bool orders, int line) {
  Fiber& fiber = *worker.running;
  Block& block = *fiber.block;
  const uint32_t warp = worker.launch->request->warp;
  Meeting wanted;
  wanted.name = name;
  wanted.line = line;
  wanted.mask = mask;
  wanted.width = width ? width : warp;
  wanted.first = fiber.thread / wanted.width * wanted.width;
  wanted.expected = expected_lanes(block, wanted.first, wanted.width, mask);
  const uint32_t lane = fiber.thread - wanted.first;
  if (!takes_part(wanted, lane))
    fail(worker, "mismatched_collective", site_of_line(line), "lane %u is not in the mask 0x%llx of %s", lane,
         static_cast<unsigned long long>(mask), name);
  auto& open = block.meetings[wanted.first / warp];
  Meeting& meeting = find_meeting(worker, open, wanted, lane);
  meeting.operands[lane] = operands;
  if (++meeting.arrived < meeting.expected) return suspend(worker, State::collective, line);
  ++worker.counts.warp_operations;
  if (body) {
    // the body is instrumented code: what it reads must be in tensors, shared memory or on a fiber's stack
    auto** operands_here = static_cast<void**>(__builtin_alloca(meeting.width * sizeof(void*)));
    memcpy(operands_here, meeting.operands.data(), meeting.width * sizeof(void*));
    worker.meeting = &meeting;
    body(operands_here, meeting.width, context);
    worker.meeting = nullptr;
    worker.actor = &fiber;
  }
  std::vector<Fiber*> lanes;
  for (uint32_t i = 0; i < meeting.width; ++i)
    if (meeting.operands[i]) lanes.push_back(&block.fibers[meeting.first + i]);
  close_meeting(open, meeting);
  if (orders) synchronise(worker, lanes);
  for (Fiber* other : lanes)
    if (other != &fiber) wake(worker, other);
}

inline void act_as(Worker& worker, uint32_t lane) {
  if (worker.meeting) worker.actor = &worker.running->block->fibers[worker.meeting->first + lane];
}

struct Shuffle {
  uint64_t value;
  uint32_t lane, width;
  int kind;  // 0 index, 1 xor, 2 up, 3 down
  uint64_t result;
};

inline uint32_t shuffle_source(const Shuffle& shuffle, uint32_t lane) {
  const uint32_t segment = lane & ~(shuffle.width - 1), inside = lane - segment;
  switch (shuffle.kind) {
    case 0:
      return segment + (shuffle.lane & (shuffle.width - 1));
    case 1:
      return (lane ^ shuffle.lane) < segment + shuffle.width ? lane ^ shuffle.lane : lane;
    case 2:
      return inside >= shuffle.lane ? lane - shuffle.lane : lane;
    default:
      return inside + shuffle.lane < shuffle.width ? lane + shuffle.lane : lane;
  }
}

inline void shuffle_lanes(void* const* operands, unsigned lanes, void*) {
  for (unsigned lane = 0; lane < lanes; ++lane) {
    auto* mine = static_cast<Shuffle*>(operands[lane]);
    if (!mine) continue;
    const uint32_t from = shuffle_source(*mine, lane);
    const auto* source = from < lanes && operands[from] ? static_cast<const Shuffle*>(operands[from]) : mine;
    mine->result = source->value;
  }
}

struct Vote {
  int kind;  // 1 any, 2 all, 3 ballot
  bool predicate;
  uint64_t result;
};

inline void vote_lanes(void* const* operands, unsigned lanes, void*) {
  uint64_t ballot = 0, present = 0;
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (const auto* vote = static_cast<const Vote*>(operands[lane])) {
      present |= uint64_t(1) << lane;
      ballot |= uint64_t(vote->predicate) << lane;
    }
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (auto* vote = static_cast<Vote*>(operands[lane]))
      vote->result = vote->kind == 1 ? ballot != 0 : vote->kind == 2 ? ballot == present : ballot;
}

}  // namespace tcsim
