// Teams: neighbouring warps that carry out asynchronous work together, such as products of tiles in shared memory that
// are added to registers. Each warp waits for its own part, by groups; what it reads is of an agent of the warp.
#pragma once
#include "asynchronous.h"
#include "collectives.h"

namespace tcsim {

inline TeamWarp& team_warp(Worker& worker, Block& block, uint32_t warp) {
  if (block.team_warps.empty()) block.team_warps = std::vector<TeamWarp>(block.meetings.size());
  TeamWarp& made = block.team_warps[warp];
  if (made.agent == 0) {
    made.agent = new_agent(worker, block);
    const uint32_t width = worker.launch->request->warp;
    for (uint32_t i = warp * width; i < (warp + 1) * width && i < block.threads; ++i) block.fibers[i].team = &made;
  }
  return made;
}

// All lanes of the running thread's warp arrive here; the body then runs once for the warp.
template <class Body>
void for_warp(Worker& worker, const char* name, int line, Body body) {
  struct Work {
    Body* body;
    Worker* worker;
  } work{&body, &worker};
  int nothing = 0;
  collective(
      worker, name, 0, 0, &nothing,
      [](void* const*, unsigned, void* context) {
        auto& work = *static_cast<Work*>(context);
        Worker& worker = *work.worker;
        Block& block = *worker.running->block;
        const uint32_t width = worker.launch->request->warp, first = worker.meeting->first;
        TeamWarp& warp = team_warp(worker, block, first / width);
        const uint32_t end = first + width < block.threads ? first + width : block.threads;
        (*work.body)(warp, &block.fibers[first], end - first);
      },
      &work, false, line);
}

inline void team_fence(Worker& worker, int line) {
  for_warp(worker, "a fence of the team's registers", line, [](TeamWarp&, Fiber* lanes, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) fence_registers(lanes[i]);
  });
}

inline void team_commit(Worker& worker, int line) {
  for_warp(worker, "the commit of a team's work", line, [](TeamWarp& warp, Fiber*, uint32_t) { ++warp.open_group; });
}

inline void run_team_work(Worker& worker, TeamWork& work) {
  ++worker.quiet;
  ++worker.progress;
  work.body(work.state.data());
  --worker.quiet;
}

inline void team_wait(Worker& worker, uint32_t remaining, int line) {
  for_warp(worker, "a wait for the team's work", line, [&](TeamWarp& warp, Fiber* lanes, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) lanes[i].fenced_registers = false;
    if (warp.open_group <= remaining + 1) return;
    const uint32_t last = warp.open_group - 1 - remaining;
    Block& block = *lanes[0].block;
    const uint32_t number = static_cast<uint32_t>(&warp - block.team_warps.data());
    auto& waiting = block.team_work;
    for (size_t i = 0; i < waiting.size();) {
      const uint32_t place = number - waiting[i]->first_warp;
      if (place >= waiting[i]->groups.size() || waiting[i]->groups[place] > last) {
        ++i;
        continue;
      }
      const auto work = std::move(waiting[i]);
      waiting.erase(waiting.begin() + static_cast<long>(i));
      run_team_work(worker, *work);
    }
    if (last > warp.done) warp.done = last;
    Agent& agent = block.agents[warp.agent - block.threads];
    if (last > agent.landed) agent.landed = last;
    for (uint32_t i = 0; i < count; ++i) lanes[i].forget_passed();
  });
}

constexpr uint32_t kRegisters = 64 * 1024;  // of a block

// What a thread has when the block starts: an equal share, in steps of eight.
inline uint32_t registers_at_start(const Block& block) {
  const uint32_t share = kRegisters / block.threads / 8 * 8;
  return share < 256 ? share : 256;
}

inline void take_registers(Worker& worker, Block& block, uint32_t team, uint32_t width) {
  const uint32_t wanted = block.wanted_registers[team];
  const uint64_t more = uint64_t(wanted - block.team_registers[team]) * width;
  if (wanted == 0 || more > block.free_registers) return;
  block.free_registers -= more;
  block.team_registers[team] = wanted;
  block.wanted_registers[team] = 0;
  ++worker.progress;
}

// The running team asks for its registers, once all of its threads are here.
inline void ask_for_registers(Worker& worker, uint32_t width, uint32_t registers, bool grows, int line) {
  Block& block = *worker.running->block;
  if (block.team_registers.empty()) {
    const uint32_t teams = (block.threads + width - 1) / width;
    block.team_registers.assign(teams, registers_at_start(block));
    block.wanted_registers.assign(teams, 0);
    block.free_registers = 0;
  }
  const uint32_t team = worker.meeting->first / width, now = block.team_registers[team];
  for (void* lane : worker.meeting->operands)
    if (!lane)
      return fail(worker, "mismatched_collective", site_of_line(line), "registers are asked for by less than a team");
  if (grows ? registers < now : registers > now)
    return fail(worker, "invalid_operation", site_of_line(line), "the team has %u registers a thread, and %s %u", now,
                grows ? "asks for only" : "releases all but", registers);
  if (!grows) {
    block.free_registers += uint64_t(now - registers) * width;
    block.team_registers[team] = registers;
    ++worker.progress;
    return;
  }
  block.wanted_registers[team] = registers;
  take_registers(worker, block, team, width);
}

inline void limit_registers(Worker& worker, uint32_t width, uint32_t registers, bool grows, int line) {
  struct Asked {
    Worker* worker;
    uint32_t width, registers;
    bool grows;
    int line;
  } asked{&worker, width, registers, grows, line};
  int nothing = 0;
  collective(
      worker, grows ? "a team that acquires registers" : "a team that releases registers", width, 0, &nothing,
      [](void* const*, unsigned, void* context) {
        const auto& asked = *static_cast<Asked*>(context);
        ask_for_registers(*asked.worker, asked.width, asked.registers, asked.grows, asked.line);
      },
      &asked, false, line);
  Block& block = *worker.running->block;
  const uint32_t team = worker.running->thread / width;
  while (block.wanted_registers[team]) {
    take_registers(worker, block, team, width);
    if (block.wanted_registers[team]) poll(worker, line);
  }
}

// Inside of the body of a collective, whose threads are the team.
inline TeamWork* team_begin(Worker& worker, const char* name, int line) {
  const uint32_t width = worker.launch->request->warp;
  auto* work = new TeamWork;
  Block& block = *worker.running->block;
  work->name = name;
  work->line = line;
  work->first_thread = worker.meeting->first;
  work->first_warp = worker.meeting->first / width;
  for (uint32_t i = 0; i < worker.meeting->width / width; ++i)
    work->groups.push_back(team_warp(worker, block, work->first_warp + i).open_group);
  return work;
}

// The warp of that number in the team reads shared memory.
inline void team_reads(Worker& worker, TeamWork* work, uint32_t warp, const void* from, uint32_t bytes) {
  Block& block = *worker.running->block;
  TeamWarp& reader = block.team_warps[work->first_warp + warp];
  worker.actor = &block.fibers[(work->first_warp + warp) * worker.launch->request->warp];
  if (reader.memo_group != reader.open_group || reader.memo_line != work->line) {
    memset(reader.memo, 0, sizeof reader.memo);
    reader.memo_group = reader.open_group;
    reader.memo_line = work->line;
  }
  Operation operation;
  operation.line = work->line;
  operation.memo = reader.memo;
  declare(worker, operation, reader.agent, reader.open_group, from, bytes, false);
}

inline void team_registers(Worker& worker, TeamWork* work, uint32_t lane, const void* registers, size_t bytes,
                           bool sums) {
  Fiber& fiber = worker.running->block->fibers[work->first_thread + lane];
  worker.actor = &fiber;
  guard_registers(worker, fiber, registers, bytes, sums, work->name, work->line);
}

inline void team_start(Worker& worker, TeamWork* work, void (*body)(void*), const void* state, size_t bytes) {
  ++worker.counts.asynchronous;
  work->body = body;
  const auto* from = static_cast<const unsigned char*>(state);
  work->state.assign(from, from + bytes);
  worker.running->block->team_work.emplace_back(work);
  worker.actor = worker.running;
}

}  // namespace tcsim
