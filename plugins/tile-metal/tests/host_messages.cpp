// The header that writes messages, as C++ of the host: the words of MSL that it uses, and kernels that print and assert.
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

typedef unsigned int uint;
typedef unsigned long ulong;
struct uint2 {
  uint x, y;
  uint2(uint x, uint y) : x(x), y(y) {}
};
struct uint3 {
  uint x, y, z;
};
template <class To, class From>
To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits of one size");
  uint words[2] = {0, 0};
  memcpy(words, &from, sizeof from);
  To to = *(To*)words;
  return to;
}
namespace metal {
typedef uint atomic_uint;
enum { memory_order_relaxed };
inline uint atomic_fetch_add_explicit(atomic_uint* at, uint amount, int) {
  return __atomic_fetch_add(at, amount, __ATOMIC_RELAXED);
}
inline uint atomic_load_explicit(atomic_uint* at, int) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
}  // namespace metal
#define device
#define TC_FN inline
#include "tilecore_metal/messages.h"

extern "C" void prints(uint* tc_messages) {
  tc_print(tc_messages, 1, "nothing\n");
  tc_print(tc_messages, 2, "%ld %lu %g %%\n", (long)-5, (ulong)-1, 0.1f);
}
// Threads of the host, each of which prints its number many times.
extern "C" void many(uint* tc_messages, int threads, int times) {
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread)
    running.emplace_back([=] {
      for (int i = 0; i < times; ++i) tc_print(tc_messages, 1, "%ld: %ld\n", (long)thread, (long)i);
    });
  for (std::thread& thread : running) thread.join();
}
extern "C" void asserts(uint* tc_messages) {
  for (uint block = 0; block < 3; ++block)
    for (uint lane = 0; lane < 8; ++lane) {
      const uint3 tc_block = {block, 0, 4}, tc_thread = {lane, 2, 0};
      tc_assert(tc_messages, block == 0 || lane != 5, 2, "the text is the host's");
    }
}
