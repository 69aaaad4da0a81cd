#include "cores.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "calls.h"

thread_local int tpu_sim_line = 0;

namespace sim {
namespace {

constexpr size_t kSignalStack = 64 * 1024;
constexpr int kBreak = SIGUSR2;
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, kBreak};

std::mutex mutex;
std::condition_variable changed;
int turn = -1;
std::vector<pthread_t> threads;
thread_local volatile sig_atomic_t received = 0;

const char* crash_text(int number) {
  switch (number) {
    case SIGFPE: return "an integer division by zero";
    case SIGABRT: return "abort()";
    case SIGILL: return "an illegal instruction";
    default: return "an access to memory that the host does not have";
  }
}

// A kernel's own code broke, or has to stop: leave it. The simulator's own code is never left like this.
void on_signal(int number, siginfo_t*, void*) {
  if (core && !core->inside) {
    received = number;
    siglongjmp(core->exit, 2);
  }
  if (number == kBreak) return;
  signal(number, SIG_DFL);
  raise(number);
}

class Signals {
 public:
  Signals() {
    struct sigaction own = {};
    own.sa_sigaction = on_signal;
    own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &own, &before_[i]);
  }
  ~Signals() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  struct sigaction before_[std::size(kSignals)];
};
std::unique_ptr<Signals> signals;

// With the lock held: the next core that can go on; -1 when none can.
int next_turn() {
  bool waits = false, finished = false;
  for (auto& one : device->cores) {
    if (one->finished) {
      finished = true;
    } else if (one->waits) {
      waits = true;
    } else {
      return one->index;
    }
  }
  if (!waits) return -1;
  if (finished) return -2;
  double latest = 0;
  for (auto& one : device->cores) latest = std::max(latest, one->counts.total_cycles);
  for (auto& one : device->cores) {
    one->waits = false;
    one->counts.wait_cycles += latest - one->counts.total_cycles;
    one->counts.total_cycles = latest;
  }
  for (auto& tensor : device->tensors) tensor->end_epoch();
  device->l2().end_epoch();
  return 0;
}

void finish() {
  std::lock_guard<std::mutex> lock(mutex);
  core->finished = true;
  turn = next_turn();
  if (turn == -2 && !device->error.set) {
    device->error = {true,
                     {"deadlock", "some cores wait in tpu_sync_all, which others never reach", "", "every core, as often",
                      "call tpu_sync_all outside of what only some cores do", ""},
                     "tpu_sync_all", 0, core->index};
    device->stop = true;
  }
  changed.notify_all();
}

}  // namespace

void record(const char* function, const Failure& failure) {
  if (failure.kind == "stopped") return;
  std::lock_guard<std::mutex> lock(mutex);
  if (!device->error.set) device->error = {true, failure, function, tpu_sim_line, core->index};
  device->stop = true;
  changed.notify_all();
}

void leave() {
  core->inside = true;
  siglongjmp(core->exit, 1);
}

void wait_for_turn() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [] { return turn == core->index || device->stop; });
  if (device->stop) fail("stopped", "");
}

void meet_all() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    core->waits = true;
    turn = next_turn();
    if (turn == -2) fail("deadlock", "this core waits for others that have ended", "", "tpu_sync_all in every core, as often");
    changed.notify_all();
  }
  wait_for_turn();
}

void start_turns() {
  std::lock_guard<std::mutex> lock(mutex);
  turn = 0;
  threads.clear();
  signals = std::make_unique<Signals>();
}

void run_core(Core& own, void (*entry)(const void*), const void* arguments) {
  core = &own;
  running = &own.now;
  own.now.core = own.index;
  tpu_sim_line = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    threads.push_back(pthread_self());
  }
  std::unique_ptr<char[]> stack(new char[kSignalStack]);
  stack_t alternative = {};
  alternative.ss_sp = stack.get();
  alternative.ss_size = kSignalStack;
  sigaltstack(&alternative, nullptr);
  own.inside = true;
  if (const int jumped = sigsetjmp(own.exit, 1)) {
    own.inside = true;
    if (jumped == 2 && received != kBreak)
      record("", {"crash", text("the kernel's own code ended in %s", crash_text(received)), "", "", "", ""});
  } else {
    bool mine = true;
    try {
      wait_for_turn();
    } catch (const Failure&) {
      mine = false;
    }
    if (mine) {
      own.inside = false;
      entry(arguments);
      own.inside = true;
      if (own.now.in_region) record("tpu_parallel_end", {"protocol", "the kernel ends inside a parallel region", "", "", "", ""});
      else if (!own.polled) record("", {"protocol", "the kernel ends while its commands run", "no tpu_poll() after the last command",
                    "tpu_poll() before the return", "", ""});
    }
  }
  alternative.ss_flags = SS_DISABLE;
  sigaltstack(&alternative, nullptr);
  finish();
  core = nullptr;
  running = nullptr;
}

bool all_finished(double seconds) {
  std::unique_lock<std::mutex> lock(mutex);
  const bool done = changed.wait_for(lock, std::chrono::duration<double>(seconds), [] {
    return std::all_of(device->cores.begin(), device->cores.end(), [](const auto& one) { return one->finished; });
  });
  if (done) turn = -1;
  return done;
}

void request_stop() {
  std::lock_guard<std::mutex> lock(mutex);
  device->stop = true;
  changed.notify_all();
}

void break_out() {
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = 0; i < threads.size(); ++i) {
    const bool alive = std::any_of(device->cores.begin(), device->cores.end(), [](const auto& one) { return !one->finished; });
    if (alive) pthread_kill(threads[i], kBreak);
  }
}

void end_signals() { signals.reset(); }

void check_call(const char* function, unsigned char chips) {
  if (device->stop) fail("stopped", "");
  core->now.unwaited.check();
  if (!(chips >> device->chip.number & 1))
    fail("unavailable", text("%s is not there on %s", function, device->chip.name),
         chips ? "other chips have it" : "every chip's library has only a stub of it",
         "a function that the vendor's library implements");
}

void begin_command(Engine engine, const char* function) {
  Core& own = *core;
  if (!own.initialised)
    fail("protocol", "a command before tpu_initialize()", function, "tpu_initialize() first");
  own.polled = false;
  own.now.engine = engine;
  own.now.function = function;
  own.now.line = tpu_sim_line;
  own.now.unwaited.forget_watched();
  own.now.unwaited.command(function, tpu_sim_line);
  ++own.functions[function];
  if (++own.counts.commands > device->command_limit)
    fail("timeout", "too many commands", text("more than %llu", (unsigned long long)device->command_limit), "", "does a loop never end?");
}

}  // namespace sim
