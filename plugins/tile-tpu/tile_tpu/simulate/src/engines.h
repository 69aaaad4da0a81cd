// The units of a core that work side by side, and the command that is running.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "unwaited.h"

namespace sim {

enum class Engine : uint8_t { tensor = 0, gdma = 1, sdma = 2, hau = 3 };
inline const char* name_of(Engine engine) {
  static const char* const names[] = {"the tensor unit (BDC)", "GDMA", "SDMA", "HAU"};
  return names[int(engine)];
}

class Memory;

// What a command of a parallel region touched, as a range; it finds the other side of a hazard for the message.
struct Touch {
  Engine engine;
  const char* function;
  int line;
  const Memory* memory;
  uint64_t first, last;
  bool write;
};

// The command that runs on this thread. in_region: between tpu_parallel_start and _end. core: who runs it.
struct Running {
  Engine engine = Engine::tensor;
  const char* function = "";
  int line = 0;
  int core = 0;
  bool in_region = false;
  std::vector<Touch> touched;  // in this region
  Unwaited unwaited;
};
extern thread_local Running* running;

}  // namespace sim
