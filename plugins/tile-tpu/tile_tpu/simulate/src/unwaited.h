// What commands that nobody has waited for do to a core's local memory, so that the control core is caught which looks at
// it too early: they run after it has gone on, and only tpu_poll() (or a barrier of the cores) waits for them.
//
// Kept for each lane by 16 bytes, the least that two buffers can lie apart.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sim {

class Memory;

class Unwaited {
 public:
  explicit Unwaited(uint64_t lane_bytes = 0);

  void command(const char* function, int line);  // whose accesses the next notes are
  void note(uint64_t offset, uint64_t bytes, bool write);
  void waited();  // all of them have ended

  // The control core gets a pointer to an element: fails where a command writes it. Where one only reads it, the control
  // core must not change it, which shows when it calls the next time.
  void pointed(Memory& local, uint64_t offset, uint64_t bytes);
  void check() const {
    if (!watched_.empty()) check_watched();
  }
  void forget_watched() { watched_.clear(); }

 private:
  struct Line {
    const char* function;
    int line;
  };
  struct Unit {
    uint64_t reads = 0, writes = 0;  // a bit for each lane
    uint32_t reader = 0, writer = 0;  // in lines_
  };
  struct Watched {
    const uint8_t* at;
    uint8_t before[16];
    uint64_t bytes, offset;
    uint32_t reader;
    Memory* memory;
    int line;
  };
  void check_watched() const;

  uint64_t lane_bytes_;
  std::vector<Unit> units_;
  uint64_t first_, last_;  // of units_ that are not empty
  std::vector<Line> lines_;
  std::map<std::pair<int, const char*>, uint32_t> numbers_;
  uint32_t now_ = 0;
  std::vector<Watched> watched_;
};

}  // namespace sim
