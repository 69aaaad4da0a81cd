// One block of simulated memory: its bytes, and what is known of each of them.
//
// valid: a byte was written. engines: who touched it since the parallel region began (bit e: read by engine e, bit
// 4 + e: written). writers, readers: which core touched it since the last tpu_sync_all (0 nobody, core + 1, MANY), of
// memory that cores share. All are exact to the byte; what is touched is noted by pages, so that clearing is cheap.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engines.h"

namespace sim {

enum class Rights { read, write, both };

class Memory {
 public:
  // what an error calls it; the address of its first byte; whether several cores see it
  Memory(std::string name, uint64_t base, uint64_t bytes, bool shared);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Note an access by the running command, and fail where it may not be: ``count`` elements of ``size`` bytes, ``step``
  // bytes apart, from ``offset`` on. The caller has checked that they lie inside.
  void reads(uint64_t offset, int64_t step, int64_t count, int size);
  void writes(uint64_t offset, int64_t step, int64_t count, int size);
  // A command used them for itself: they count as written, but hold nothing.
  void spoils(uint64_t offset, uint64_t bytes);
  // Only that the bytes have been written, for memory that a lane holds and no command owns.
  bool all_valid(uint64_t offset, uint64_t bytes) const;

  void end_region();  // nobody has touched anything in this region
  void end_epoch();   // all cores have met
  void forget();      // as new: nothing is valid

  uint8_t* at(uint64_t offset) { return data_ + offset; }
  uint64_t bytes() const { return bytes_; }
  uint64_t base() const { return base_; }
  bool contains(uint64_t address) const { return address - base_ < bytes_; }
  void set_valid() { initialised_ = true; }
  // Written by the control core, whose accesses are not seen one by one.
  void set_valid(uint64_t offset, uint64_t bytes);
  void set_rights(Rights rights) { rights_ = rights; }
  const std::string& name() const { return name_; }
  // A place in words: "lane 3, byte 64" of local memory, "byte 12" of others.
  std::string place(uint64_t offset) const;
  void set_lanes(uint64_t lane_bytes) { lane_bytes_ = lane_bytes; }

 private:
  void remember(uint64_t first, uint64_t last, bool write) const;
  void read_run(uint64_t offset, uint64_t bytes);
  void write_run(uint64_t offset, uint64_t bytes);
  void mark_engine(uint64_t offset, uint64_t bytes, bool write);
  void mark_core(uint64_t offset, uint64_t bytes, bool write);
  [[noreturn]] void uninitialised(uint64_t offset, uint64_t bytes) const;

  std::string name_;
  uint64_t base_, bytes_, lane_bytes_ = 0;
  bool shared_, initialised_ = false;
  Rights rights_ = Rights::both;
  uint8_t *data_ = nullptr, *valid_ = nullptr, *engines_ = nullptr, *writers_ = nullptr, *readers_ = nullptr;
  std::vector<uint8_t> region_pages_, epoch_pages_, valid_pages_;
  bool region_touched_ = false;
};

}  // namespace sim
