// The library's own interface: one launch.
#include "launch.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "calls.h"
#include "cores.h"

namespace sim {
void end_signals();
namespace {

constexpr double kLook = 0.05, kGrace = 1.0;  // seconds

template <size_t N>
void put(char (&to)[N], const std::string& from) {
  std::snprintf(to, N, "%s", from.c_str());
}

void place_tensors(const Launch& launch, Device& made) {
  for (int i = 0; i < launch.tensor_count; ++i) {
    const LaunchTensor& given = launch.tensors[i];
    auto memory = std::make_unique<Memory>(given.name, given.address, given.bytes, launch.work_items > 1);
    memory->set_rights(given.access == 1 ? Rights::read : given.access == 2 ? Rights::write : Rights::both);
    std::memcpy(memory->at(0), given.host, given.bytes);  // what a kernel does not write stays as it is
    if (given.access != 2) memory->set_valid();
    made.tensors.push_back(std::move(memory));
  }
}

void make_cores(const Launch& launch, Device& made) {
  for (int i = 0; i < launch.work_items; ++i) {
    auto own = std::make_unique<Core>();
    own->index = i;
    own->local = std::make_unique<Memory>("local memory", 0, made.chip.local_bytes(), false);
    own->local->set_lanes(made.chip.lane_bytes);
    own->now.unwaited = Unwaited(made.chip.lane_bytes);
    made.cores.push_back(std::move(own));
  }
}

// Waits until every core has ended; ends them when time is up or Python wants it.
void watch(const Launch& launch) {
  const auto started = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count(); };
  double stopped = -1;
  while (!all_finished(kLook)) {
    const bool interrupted = launch.interrupt && *launch.interrupt;
    if (stopped < 0 && (interrupted || (launch.seconds > 0 && passed() > launch.seconds))) {
      device->error = {true,
                       {interrupted ? "interrupted" : "timeout",
                        interrupted ? "the run was interrupted" : "the kernel does not end",
                        text("%.1f s", passed()), text("at most %.1f s", launch.seconds),
                        "does a loop never end? TILECORE_SIMULATE_TIMEOUT sets the limit", ""},
                       "", 0, 0};
      request_stop();
      stopped = passed();
    }
    if (device->stop && stopped < 0) stopped = passed();
    if (stopped >= 0 && passed() > stopped + kGrace) break_out();
  }
}

void report_core(const Core& own, double (&to)[kCounts]) {
  const Counts& c = own.counts;
  const double all[kCounts] = {
      double(c.bytes_in), double(c.bytes_out), double(c.bytes_l2), double(c.bytes_local), double(c.commands),
      double(c.bank_conflicts), double(c.regions), c.dma_cycles, c.vector_cycles, c.matrix_cycles,
      c.conflict_cycles, c.hau_cycles, c.serial_cycles, c.overlapped_cycles, c.region_serial_cycles, c.wait_cycles,
      c.total_cycles, double(c.high_water)};
  std::copy(std::begin(all), std::end(all), std::begin(to));
}

void report(const Device& made, LaunchReport& to) {
  if (made.error.set) {
    const Failure& failure = made.error.failure;
    to.failed = 1;
    to.line = made.error.line;
    to.core = made.error.core;
    put(to.kind, failure.kind);
    put(to.function, made.error.function);
    put(to.message, failure.message);
    put(to.found, failure.found);
    put(to.expected, failure.expected);
    put(to.hint, failure.hint);
    put(to.tensor, failure.tensor);
  }
  for (size_t i = 0; i < made.cores.size(); ++i) report_core(*made.cores[i], to.counts[i]);
}

std::string last_functions, last_printed;

}  // namespace
}  // namespace sim

using namespace sim;

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT uint64_t tpu_sim_layout() {
  return sizeof(Launch) + 1000 * sizeof(LaunchReport) + 10000000 * sizeof(LaunchTensor);
}

// Runs a kernel; 0 when it ran well, 1 when the report has an error. One run at a time.
EXPORT int tpu_sim_run(const Launch* launch, LaunchReport* to) {
  std::memset(to, 0, sizeof *to);
  last_functions.clear();
  last_printed.clear();
  Device made(launch->chip);
  made.command_limit = launch->command_limit;
  device = &made;
  try {
    place_tensors(*launch, made);
    make_cores(*launch, made);
  } catch (const Failure& failure) {
    made.error = {true, failure, "", 0, 0};
    report(made, *to);
    device = nullptr;
    return 1;
  }
  start_turns();
  std::vector<std::thread> running_cores;
  for (int i = 0; i < launch->work_items; ++i) {
    const uint8_t* arguments = launch->arguments + uint64_t(i) * launch->argument_bytes;
    running_cores.emplace_back([&made, launch, arguments, i] { run_core(*made.cores[i], launch->entry, arguments); });
  }
  watch(*launch);
  for (auto& thread : running_cores) thread.join();
  end_signals();
  report(made, *to);
  std::map<std::string, uint64_t> functions;
  for (auto& own : made.cores)
    for (auto& [name, count] : own->functions) functions[name] += count;
  for (auto& [name, count] : functions) last_functions += name + " " + std::to_string(count) + "\n";
  last_printed = made.printed;
  if (!made.error.set)
    for (int i = 0; i < launch->tensor_count; ++i)
      if (launch->tensors[i].access != 1)
        std::memcpy(launch->tensors[i].host, made.tensors[i]->at(0), launch->tensors[i].bytes);
  device = nullptr;
  return made.error.set;
}

EXPORT const char* tpu_sim_functions() { return last_functions.c_str(); }  // "name count" a line, of the last run
EXPORT const char* tpu_sim_printed() { return last_printed.c_str(); }
