// Happens-before: is an earlier access ordered before what a thread does now?
#pragma once
#include "failure.h"

namespace tcsim {

inline bool agent_done(const Fiber& fiber, uint32_t actor, uint32_t clock) {
  for (const auto& channel : fiber.channels) {
    if (!channel) continue;
    if (channel->write_agent == actor) return clock <= channel->writes_done;
    if (channel->read_agent == actor) return clock <= channel->reads_done;
  }
  if (fiber.team && fiber.team->agent == actor) return clock <= fiber.team->done;
  return false;
}

inline bool ordered(const Fiber& fiber, uint64_t epoch) {
  const uint32_t actor = epoch_actor(epoch), clock = epoch_clock(epoch), block = epoch_block(epoch);
  const Block& own = *fiber.block;
  if (block == own.tag) {
    if (actor == fiber.thread) return true;
    if (fiber.known.at(actor) >= clock) return true;
    return actor >= own.threads && agent_done(fiber, actor, clock);
  }
  const Clock* known = find_block(fiber.foreign, block);
  return known && known->at(actor) >= clock;
}

// A new time of the thread starts: what it did before is covered by what it has just published.
inline void next_time(Fiber& fiber) {
  ++fiber.clock;
  fiber.epoch = make_epoch(fiber.block->tag, fiber.thread, fiber.clock);
  fiber.forget_memos();
}

inline void learn(Fiber& fiber, const Clock& clock) {
  if (fiber.known.same_as(clock)) return;
  fiber.known = join(fiber.known, clock);
  fiber.forget_passed();
}

// All that the thread has done and knows, into a sum.
inline void publish_into(const Fiber& fiber, ClockSum& sum) {
  sum.add(fiber.known);
  sum.add(fiber.thread, fiber.clock);
  for (const auto& channel : fiber.channels)
    if (channel) {
      sum.add(channel->read_agent, channel->reads_done);
      sum.add(channel->write_agent, channel->writes_done);
    }
  if (fiber.team) sum.add(fiber.team->agent, fiber.team->done);
}

inline Knowledge publish(Worker& worker, Fiber& fiber, bool device) {
  worker.sum.clear();
  publish_into(fiber, worker.sum);
  Knowledge made{fiber.block->tag, worker.sum.total(), fiber.foreign, device, fiber.proxied};
  next_time(fiber);
  return made;
}

inline void acquire(Fiber& fiber, const Knowledge& knowledge) {
  const uint32_t own = fiber.block->tag;
  if (knowledge.block == own) {
    learn(fiber, knowledge.clock);
    fiber.proxied = join(fiber.proxied, knowledge.proxied);
  } else if (knowledge.device) {
    fiber.foreign = with_block(fiber.foreign, knowledge.block, knowledge.clock);
    fiber.forget_passed();
  }
  if (knowledge.foreign && knowledge.device) {
    if (const Clock* about_us = find_block(knowledge.foreign, own)) learn(fiber, *about_us);
    fiber.foreign = join(fiber.foreign, knowledge.foreign);
    fiber.forget_passed();
  }
}

// What the thread has written and knows to be written is seen by asynchronous work from here on.
inline void fence_proxy(Worker& worker, Fiber& fiber) {
  worker.sum.clear();
  publish_into(fiber, worker.sum);
  fiber.proxied = join(fiber.proxied, worker.sum.total());
  next_time(fiber);
}

// Everybody in the list learns what all of them know.
template <class Fibers>
inline void synchronise(Worker& worker, const Fibers& fibers) {
  worker.sum.clear();
  worker.proxied_sum.clear();
  Foreign foreign;
  for (const Fiber* fiber : fibers) {
    publish_into(*fiber, worker.sum);
    worker.proxied_sum.add(fiber->proxied);
    foreign = join(foreign, fiber->foreign);
  }
  const Clock total = worker.sum.total(), proxied = worker.proxied_sum.total();
  for (Fiber* fiber : fibers) {
    fiber->known = total;
    fiber->proxied = proxied;
    fiber->foreign = foreign;
    next_time(*fiber);
  }
}

}  // namespace tcsim
