// What goes wrong in a kernel: thrown inside the simulator, caught where the kernel called it (see calls.h).
#pragma once
#include <cstdarg>
#include <string>

namespace sim {

struct Failure {
  std::string kind, message, found, expected, hint, tensor;
};

std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));

// kind: one of those of errors.py. The call's own name and line are added by whoever catches it.
[[noreturn]] inline void fail(std::string kind, std::string message, std::string found = "", std::string expected = "",
                              std::string hint = "") {
  throw Failure{std::move(kind), std::move(message), std::move(found), std::move(expected), std::move(hint), ""};
}

}  // namespace sim
