// What the host hears of a run. The layouts are read by tilecore/simulate/native.py.
#pragma once
#include <stdint.h>

extern "C" {

struct TcSimTensor {
  void* host;
  uint64_t bytes;
  uint32_t item;    // bytes of an element
  uint32_t access;  // 1: read, 2: written, 3: both
  uint64_t row;     // bytes from one row to the next; 0: it has no rows
};

struct TcSimPointer {
  uint32_t slot, tensor;
  uint64_t offset;
};

// An address in a tensor of pointers: what lies at `at` bytes of it is the address of a place in another tensor.
struct TcSimWord {
  uint32_t tensor, target;
  uint64_t at, offset;
};

// The phases in which the banks of shared memory serve accesses of up to `size` bytes (tilecore/simulate/banks.py).
struct TcSimBankPhases {
  uint32_t size, banks, reads, writes;
  uint32_t count, reserved;
  const uint64_t* masks;  // of the lanes of each phase
};

struct TcSimLaunch {
  void (*entry)();
  int64_t* slots;
  const TcSimTensor* tensors;
  const TcSimPointer* pointers;
  uint32_t slot_count, tensor_count, pointer_count;
  uint32_t grid[3], block[3];
  uint32_t warp, workers, most_resident;
  uint32_t allow_same_value, count_banks, own_proxy;
  uint32_t cluster[3];
  uint64_t shared_bytes, shared_limit;
  uint64_t seed;
  double seconds;                     // 0: no limit
  const volatile int32_t* interrupt;  // looked at now and then; non-zero stops the run
  const TcSimBankPhases* bank_phases;  // by increasing size
  uint64_t bank_phases_count;
  const TcSimWord* words;
  uint64_t word_count;
};

struct TcSimAccess {
  char what[48];  // "write", "read", "asynchronous write", ...
  uint32_t thread;
  uint32_t block[3];
  uint32_t site;  // an offset in the kernel's library, or a line with the top bit set; 0: unknown
  uint32_t known;
};

struct TcSimReport {
  char kind[32];
  char message[2048];
  TcSimAccess access, other;
  int32_t space;  // tensor number, -1: none, -2: shared memory
  uint32_t size;
  int64_t offset;  // bytes from the start of the space
  uint64_t address;
};

struct TcSimCounts {
  uint64_t shared_reads, shared_writes, global_reads, global_writes;
  uint64_t barriers, warp_operations, atomics, asynchronous, switches, blocks;
};

struct TcSimBankLine {
  uint32_t site;
  uint32_t worst;                           // passes of one request
  uint64_t requests, passes, least_passes;  // of whole warps
};

}  // extern "C"
