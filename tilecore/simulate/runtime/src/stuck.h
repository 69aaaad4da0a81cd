// Nothing can go on: says who waits where, and gives it the name of the likeliest mistake.
#pragma once
#include <map>
#include <set>

#include "blocks.h"

namespace tcsim {

struct WaitPlace {
  State state;
  int line, name;
  bool operator<(const WaitPlace& other) const {
    return std::make_tuple(state, line, name) < std::make_tuple(other.state, other.line, other.name);
  }
};

inline std::string text_of(const WaitPlace& place) {
  const std::string at = " at line " + std::to_string(place.line);
  switch (place.state) {
    case State::exited:
      return "ended";
    case State::barrier:
      return "at the barrier of line " + std::to_string(place.line);
    case State::named_barrier:
      return "at named barrier " + std::to_string(place.name) + at;
    case State::collective:
      return "for the other lanes" + at;
    case State::cluster:
      return "at the cluster's barrier" + at;
    case State::transaction:
      return "for a transaction barrier" + at;
    default:
      return "for a value to change" + at;
  }
}

using Waiting = std::map<WaitPlace, std::vector<uint32_t>>;

// The warps that have a thread in this state.
inline std::set<uint32_t> warps_in(const Waiting& places, State state, uint32_t lanes) {
  std::set<uint32_t> warps;
  for (const auto& place : places)
    if (place.first.state == state)
      for (uint32_t thread : place.second) warps.insert(thread / lanes);
  return warps;
}

// Lanes that wait for one that waits for a transaction barrier make no mistake: they would go on if it did.
inline const char* kind_of(const Waiting& places, uint32_t lanes) {
  const std::set<uint32_t> later = warps_in(places, State::transaction, lanes);
  bool collective = false;
  for (uint32_t warp : warps_in(places, State::collective, lanes)) collective = collective || !later.count(warp);
  const bool barrier = !warps_in(places, State::barrier, lanes).empty();
  if (collective) return "mismatched_collective";
  return barrier ? "divergent_barrier" : "deadlock";
}

inline void report_stuck(Worker& worker) {
  Waiting places;
  Block* waiting = worker.resident.front().get();
  for (auto& resident : worker.resident)
    if (waiting->live == 0) waiting = resident.get();
  Block& block = *waiting;
  for (const Fiber& fiber : block.fibers)
    places[{fiber.state, fiber.state == State::exited ? 0 : fiber.line, fiber.barrier_name}].push_back(fiber.thread);
  std::string text;
  uint32_t first = 0;
  int line = 0;
  for (const auto& place : places) {
    if (!text.empty()) text += "; ";
    const bool many = place.second.size() > 1;
    const char* verb = place.first.state == State::exited ? (many ? "have " : "has ") : many ? "wait " : "waits ";
    text += threads_text(place.second) + " " + verb + text_of(place.first);
    if (place.first.state != State::exited && line == 0) {
      line = place.first.line;
      first = place.second.front();
    }
  }
  if (worker.resident.size() > 1) text += "; " + std::to_string(worker.resident.size()) + " blocks wait";
  worker.actor = &block.fibers[first];
  fail(worker, kind_of(places, worker.launch->request->warp), site_of_line(line), "nothing can go on: %s", text.c_str());
}

}  // namespace tcsim
