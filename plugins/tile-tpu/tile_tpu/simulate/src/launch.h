// The records that Python passes in and reads back; native.py has the same, field by field.
#pragma once
#include <cstdint>

#include "chip.h"

namespace sim {

constexpr int kMostCores = 8, kCounts = 18;

struct LaunchTensor {
  char name[64];
  uint8_t* host;
  uint64_t bytes, address;
  uint32_t access;  // 1 read, 2 written, 3 both
  uint32_t padding;
};

struct Launch {
  Chip chip;
  void (*entry)(const void*);
  const uint8_t* arguments;  // a struct for each work item, one after the other
  uint64_t argument_bytes;   // of one
  LaunchTensor* tensors;
  int32_t tensor_count, work_items;
  uint64_t command_limit;
  double seconds;
  const int32_t* interrupt;
};

struct LaunchReport {
  int32_t failed, line, core, padding;
  char kind[32], function[64], message[512], found[512], expected[512], hint[512], tensor[64];
  double counts[kMostCores][kCounts];  // COUNTS of native.py
};

}  // namespace sim
