/* Built into kernels for the CModel: where a kernel crashes it says which calls led there, in the words of backtrace(3),
 * which crash.py reads. The CModel itself says so for its own assertions only. */
#include <execinfo.h>
#include <signal.h>
#include <stddef.h>

enum { MOST = 32, SIGNALS = 4 };

/* frames[0] is this function, [1] the system's return from a signal, [2] the instruction itself, the others return
 * addresses: all are to be one behind. */
static void say_frames(int number) {
  void* frames[MOST];
  const int count = backtrace(frames, MOST);
  if (count > 2) {
    frames[2] = (char*)frames[2] + 1;
    backtrace_symbols_fd(frames + 2, count - 2, 2);
  }
  signal(number, SIG_DFL);
  raise(number);
}

__attribute__((constructor)) static void watch_crashes(void) {
  static const int numbers[SIGNALS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  void* frame;
  struct sigaction action = {.sa_handler = say_frames, .sa_flags = SA_NODEFER};
  backtrace(&frame, 1); /* loads what it needs: a crash is no time for that */
  for (int i = 0; i < SIGNALS; ++i) sigaction(numbers[i], &action, NULL);
}
