// What is known of every piece of memory: its last writer, and its readers since.
#pragma once
#include <stdint.h>
#include <sys/mman.h>

#include <vector>

#include "clocks.h"

namespace tcsim {

// Anonymous memory that costs nothing until it is touched, and is zero then.
class Mapping {
 public:
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { release(); }

  // False when the system has not that much.
  bool reserve(size_t bytes) {
    release();
    if (bytes == 0) return true;
    void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return false;
    data_ = static_cast<unsigned char*>(made);
    bytes_ = bytes;
    return true;
  }
  void release() {
    if (data_) munmap(data_, bytes_);
    data_ = nullptr;
    bytes_ = 0;
  }
  unsigned char* data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  unsigned char* data_ = nullptr;
  size_t bytes_ = 0;
};

// Readers since the last plain write, as a list that many cells share: a cell names its newest. A write that an atomic
// operation follows is kept here too.
struct Reader {
  uint64_t epoch;
  uint32_t parent, site, depth;
  bool wrote, some_wrote;  // this one; this one or one before it
};

class Readers {
 public:
  const Reader& operator[](uint32_t id) const { return list_[id - first_]; }
  // An older list is of readers that everybody is ordered after.
  uint32_t live(uint32_t id) const { return id < first_ ? 0 : id; }
  uint32_t add(uint64_t epoch, uint32_t parent, uint32_t site, bool wrote) {
    if (list_.size() >= kMost) forget();
    parent = live(parent);
    const uint32_t depth = parent ? (*this)[parent].depth + 1 : 0;
    const bool some = wrote || (parent && (*this)[parent].some_wrote);
    list_.push_back({epoch, parent, site, depth, wrote, some});
    return first_ + static_cast<uint32_t>(list_.size()) - 1;
  }
  void forget() {
    first_ += static_cast<uint32_t>(list_.size());
    list_.clear();
  }

 private:
  static constexpr size_t kMost = size_t(1) << 23;
  uint32_t first_ = 1;
  std::vector<Reader> list_;
};

struct Cell {
  uint64_t write;
  uint32_t site;
  uint32_t readers;
};
constexpr uint64_t kSplit = ~uint64_t(0);  // as Cell::write: the bytes of the granule have cells of their own

// One tensor, or the shared memory of one block. A cell stands for 2**shift bytes until they differ.
struct Space {
  uintptr_t begin = 0, end = 0;
  int number = 0;     // of the tensor; kShared for shared memory
  unsigned item = 1;  // bytes of an element
  unsigned shift = 0;
  bool writable = true;
  bool poison = false;    // starts unwritten
  Cell* cells = nullptr;  // null: only bounds are checked
  Cell* bytes = nullptr;
  Readers* readers = nullptr;
};
constexpr int kShared = -2, kNowhere = -1;

// Cells for a space; both arrays start as zeros.
class Shadow {
 public:
  bool cover(Space& space, uintptr_t begin, size_t bytes, unsigned shift, Readers* readers) {
    const size_t granules = (bytes >> shift) + 1;
    space.begin = begin;
    space.end = begin + bytes;
    space.shift = shift;
    space.readers = readers;
    if (!cells_.reserve(granules * sizeof(Cell)) || !bytes_.reserve((granules << shift) * sizeof(Cell))) return false;
    space.cells = reinterpret_cast<Cell*>(cells_.data());
    space.bytes = reinterpret_cast<Cell*>(bytes_.data());
    return true;
  }
  // Forgets the first bytes of the space.
  void clear(const Space& space, size_t bytes) {
    memset(cells_.data(), 0, ((bytes >> space.shift) + 1) * sizeof(Cell));
  }

 private:
  Mapping cells_, bytes_;
};

}  // namespace tcsim
