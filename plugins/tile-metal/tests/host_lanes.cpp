// The threads of a threadgroup on a host: what stand_in/metal_stdlib calls, and `run_threads`, which starts them.
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {
class Meeting {  // of `count` threads, again and again
 public:
  explicit Meeting(unsigned count) : count(count) {}
  void meet() {
    std::unique_lock<std::mutex> hold(mutex);
    const unsigned now = round;
    if (++arrived == count) {
      arrived = 0, ++round;
      all_are_there.notify_all();
    } else {
      all_are_there.wait(hold, [&] { return round != now; });
    }
  }

 private:
  std::mutex mutex;
  std::condition_variable all_are_there;
  unsigned count, arrived = 0, round = 0;
};
struct Simdgroup {
  Meeting meeting{32};
  char values[32][16];
};
std::unique_ptr<Meeting> group;
std::vector<std::unique_ptr<Simdgroup>> simdgroups;
thread_local unsigned thread_index;
}  // namespace

extern "C" {
unsigned host_lane() { return thread_index % 32; }
// Exact in the 64 bits of fraction that x86 has, and rounded once.
float host_fma_of_halves(float a, float b, float c) { return (float)(_Float16)((long double)a * b + c); }
void host_barrier() { group->meet(); }
void host_lanes(const void* mine, void* all, unsigned bytes) {
  Simdgroup& simdgroup = *simdgroups[thread_index / 32];
  std::memcpy(simdgroup.values[thread_index % 32], mine, bytes);
  simdgroup.meeting.meet();
  for (unsigned lane = 0; lane < 32; ++lane) std::memcpy((char*)all + lane * bytes, simdgroup.values[lane], bytes);
  simdgroup.meeting.meet();
}
// `body` on `count` threads, a multiple of 32, each with its thread_index.
void run_threads(unsigned count, void (*body)(unsigned thread, void* data), void* data) {
  group = std::make_unique<Meeting>(count);
  simdgroups.clear();
  for (unsigned i = 0; i < count; i += 32) simdgroups.push_back(std::make_unique<Simdgroup>());
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back([=] { thread_index = i, body(i, data); });
  for (std::thread& thread : threads) thread.join();
}
}
