// The simulated device of one launch: cores, their local memory, L2, the tensors; what the run counts.
#pragma once
#include <setjmp.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "chip.h"
#include "engines.h"
#include "failure.h"
#include "memory.h"

namespace sim {

// Cycles are those of the tensor unit.
struct Counts {
  uint64_t bytes_in = 0, bytes_out = 0, bytes_l2 = 0, bytes_local = 0;  // by DMA: DDR to local, local to DDR, ...
  uint64_t commands = 0, bank_conflicts = 0, regions = 0;
  double dma_cycles = 0, vector_cycles = 0, matrix_cycles = 0, conflict_cycles = 0, hau_cycles = 0;
  double serial_cycles = 0, overlapped_cycles = 0, region_serial_cycles = 0, wait_cycles = 0, total_cycles = 0;
  uint64_t high_water = 0;  // of a lane's memory, in bytes
};

struct Core {
  int index = 0;
  Running now;
  Counts counts;
  double engine_cycles[4] = {};  // in this region
  std::map<std::string, uint64_t> functions;
  std::unique_ptr<Memory> local;
  sigjmp_buf exit;
  std::atomic<bool> inside{false};  // the simulator's own code runs, which must not be left by a jump
  bool initialised = false, polled = true, finished = false, waits = false;
  // Of system memory since the last tpu_poll: SDMA and HAU neither wait for others' commands nor are waited for.
  std::vector<Touch> touched_system;
  bool alone_used = false;

  void waited();  // all commands have ended
};

struct Error {
  bool set = false;
  Failure failure;
  std::string function;
  int line = 0, core = 0;
};

class Device {
 public:
  explicit Device(const Chip& chip) : chip(chip) {}

  // The memory that holds all of [first, last]; fails with the nearest tensor otherwise.
  Memory& global(uint64_t first, uint64_t last);
  Memory& l2();
  bool in_l2(uint64_t address) const { return address - chip.l2_base < chip.l2_bytes; }

  const Chip chip;
  std::vector<std::unique_ptr<Memory>> tensors;  // by address
  std::vector<std::unique_ptr<Core>> cores;
  Error error;
  std::atomic<bool> stop{false};
  std::string printed;
  uint64_t command_limit = 0;

 private:
  std::unique_ptr<Memory> l2_;
};

extern thread_local Core* core;    // of this thread
extern Device* device;             // of the launch; one at a time

// The core's clock: ``cycles`` of work on an engine.
void spend(Engine engine, double cycles);

}  // namespace sim
