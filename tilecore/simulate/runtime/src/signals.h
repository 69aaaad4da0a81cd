// A kernel that traps (an overflowing stack, a division by zero) ends its run, not the process.
#pragma once
#include <signal.h>

#include "scheduler.h"

namespace tcsim {

inline void on_trap(int number, siginfo_t* facts, void*) {
  Worker* worker = current_worker;
  if (!worker || worker->failed || !(worker->running || worker->quiet)) {  // not ours: as if we were not here
    signal(number, SIG_DFL);
    return;
  }
  const auto address = reinterpret_cast<uintptr_t>(facts->si_addr);
  const uintptr_t into = address - worker->stacks_begin;
  worker->meeting = nullptr;
  const bool landing = !worker->running;
  if (number == SIGFPE)
    fail(*worker, "arithmetic", 0, "an integer division that has no result (by zero, or of the smallest number by -1)");
  else if (into < worker->stacks_bytes && into % kStackStride < kPage)
    fail(*worker, "stack_overflow", 0, "the thread needs more than %zu KiB for its own arrays", kStack / 1024);
  else
    fail(*worker, "crash", 0, "signal %d at address 0x%llx", number, static_cast<unsigned long long>(address));
  if (landing) siglongjmp(worker->after_trap, 1);
}

// Handlers for the time of a run; what was there before comes back.
class TrapHandlers {
 public:
  TrapHandlers() {
    struct sigaction action{};
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < kSignals; ++i) sigaction(signals_[i], &action, &before_[i]);
  }
  ~TrapHandlers() {
    for (int i = 0; i < kSignals; ++i) sigaction(signals_[i], &before_[i], nullptr);
  }

 private:
  static constexpr int kSignals = 4;
  const int signals_[kSignals] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  struct sigaction before_[kSignals];
};

// A stack for handlers, of this host thread.
class TrapStack {
 public:
  TrapStack() : memory_(new unsigned char[kBytes]) {
    stack_t stack{};
    stack.ss_sp = memory_.get();
    stack.ss_size = kBytes;
    sigaltstack(&stack, &before_);
  }
  ~TrapStack() { sigaltstack(&before_, nullptr); }

 private:
  static constexpr size_t kBytes = 64 * 1024;
  std::unique_ptr<unsigned char[]> memory_;
  stack_t before_{};
};

}  // namespace tcsim
