// How a function of the kernel interface is defined:
//
//   API(void, tpu_bdc_cpy, (local_addr_t dst, ...)) COMMAND(tensor, { ... })
//
// COMMAND names the engine, counts, checks that the chip has the function, and turns a Failure into the end of the core.
#pragma once
#include "availability.h"
#include "device.h"
#include "formats.h"

#define API(type, name, parameters) extern "C" __attribute__((visibility("default"))) type name parameters

#define COMMAND(engine_name, ...)                                                     \
  {                                                                                   \
    static const unsigned char chips = ::sim::chips_with(__func__);                   \
    return ::sim::command(::sim::Engine::engine_name, __func__, chips, [&]() __VA_ARGS__); \
  }
// A question, or something that no engine does.
#define QUERY(...)                                                      \
  {                                                                     \
    static const unsigned char chips = ::sim::chips_with(__func__);     \
    return ::sim::guarded(__func__, chips, [&]() __VA_ARGS__);          \
  }

extern "C" __attribute__((visibility("default"))) thread_local int tpu_sim_line;

namespace sim {

void record(const char* function, const Failure& failure);  // the run's error, unless it has one
[[noreturn]] void leave();                                  // ends this core
void check_call(const char* function, unsigned char chips);            // time, limits, availability
void begin_command(Engine engine, const char* function);

template <class F>
auto guarded(const char* function, unsigned char chips, F body) -> decltype(body()) {
  if (!core) std::abort();  // outside of any launch, such as a constructor
  const bool outermost = !core->inside.exchange(true);
  try {
    check_call(function, chips);
    struct Restore {
      bool outermost;
      ~Restore() {
        if (outermost) core->inside = false;
      }
    } restore{outermost};
    return body();
  } catch (const Failure& failure) {
    if (!outermost) throw;
    record(function, failure);
  }
  leave();
}

template <class F>
void command(Engine engine, const char* function, unsigned char chips, F body) {
  guarded(function, chips, [&] {
    begin_command(engine, function);
    body();
  });
}

}  // namespace sim
