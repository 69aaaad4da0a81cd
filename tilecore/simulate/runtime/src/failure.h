// The first thing that goes wrong ends the run: it is written down, and the fiber is left for good.
#pragma once
#include <stdarg.h>
#include <stdio.h>

#include "state.h"

namespace tcsim {

inline void describe(TcSimAccess& access, const char* what, const Block& block, uint32_t thread, uint32_t site) {
  snprintf(access.what, sizeof access.what, "%s", what);
  access.thread = thread;
  access.block[0] = block.index.x;
  access.block[1] = block.index.y;
  access.block[2] = block.index.z;
  access.site = site;
  access.known = 1;
}

inline void write_message(TcSimReport& report, const char* kind, const char* format, va_list arguments) {
  report = TcSimReport{};
  report.space = kNowhere;
  snprintf(report.kind, sizeof report.kind, "%s", kind);
  vsnprintf(report.message, sizeof report.message, format, arguments);
}

// Leaves the running fiber; returns only where none runs.
inline void give_up(Worker& worker) {
  worker.failed = true;
  worker.launch->stop.store(true, std::memory_order_relaxed);
  if (worker.running) switch_context(worker.running->context, worker.scheduler);
}

// An error of the acting thread at a line.
__attribute__((format(printf, 4, 5))) inline void fail(Worker& worker, const char* kind, uint32_t site,
                                                       const char* format, ...) {
  if (worker.failed) return give_up(worker);
  va_list arguments;
  va_start(arguments, format);
  write_message(worker.report, kind, format, arguments);
  va_end(arguments);
  const Fiber* fiber = worker.actor;
  if (fiber) describe(worker.report.access, "", *fiber->block, fiber->thread, site);
  give_up(worker);
}

// "0-31, 40" of sorted numbers; long lists are cut.
inline std::string ranges(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (text.size() > 120) return text + ", ...";
    if (!text.empty()) text += ", ";
    text += std::to_string(numbers[i]);
    if (last > i) text += (last == i + 1 ? ", " : "-") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

inline std::string threads_text(const std::vector<uint32_t>& numbers) {
  return (numbers.size() == 1 ? "thread " : "threads ") + ranges(numbers);
}

}  // namespace tcsim
