// From where the 16-byte pieces of shared memory were copied, and by a copy that arranged them how. It shows a swizzle
// that a reader does not share with the writer: all bytes are there and in order, but each row's stand in another
// column.
#pragma once
#include "failure.h"

namespace tcsim {

constexpr unsigned kPiece = 16, kMatrixRows = 8;

inline void forget_origins(Block& block, uintptr_t address, unsigned size) {
  const uintptr_t first = (address - block.shared.begin) / kPiece;
  const uintptr_t last = (address + size - 1 - block.shared.begin) / kPiece;
  for (uintptr_t i = first; i <= last && i < block.origins.size(); ++i) block.origins[i] = Origin();
}

// arrangement: 0 not known, else a number of the copy's own.
inline void note_origin(Block& block, const void* to, const void* from, unsigned bytes, unsigned arrangement = 0) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(to) - block.shared.begin;
  if (bytes != kPiece || offset >= block.shared.end - block.shared.begin) return;
  if (block.origins.size() <= offset / kPiece) block.origins.resize(offset / kPiece + 1);
  block.origins[offset / kPiece] = {reinterpret_cast<uintptr_t>(from), arrangement};
}

// The arrangement that the piece at an address was copied in; 0: not known.
inline unsigned arrangement_of(const Block& block, uintptr_t address) {
  const uintptr_t piece = (address - block.shared.begin) / kPiece;
  return piece < block.origins.size() ? block.origins[piece].arrangement : 0;
}

// The column of the tensor, counted in pieces, that a row of a matrix was copied from; false where it is not known.
inline bool column_of(const Worker& worker, const void* row, int& tensor, int64_t& column) {
  const Block& block = *worker.block;
  const uintptr_t offset = reinterpret_cast<uintptr_t>(row) - block.shared.begin;
  if (offset % kPiece || offset / kPiece >= block.origins.size()) return false;
  const uintptr_t origin = block.origins[offset / kPiece].from;
  const Launch& launch = *worker.launch;
  if (origin - launch.arena_begin >= launch.page_owner.size() << 12) return false;
  tensor = launch.page_owner[(origin - launch.arena_begin) >> 12];
  const uint64_t pitch = launch.request->tensors[tensor].row;
  if (pitch == 0 || pitch % kPiece) return false;
  column = int64_t((origin - launch.tensors[tensor].begin) % pitch / kPiece);
  return true;
}

// Whether the columns are c ^ f(row) with a linear f, counted from some first column: what is left of two swizzles that
// differ. Columns in steps of one size are a diagonal, which a kernel may want.
inline bool is_swizzled(const int64_t* columns) {
  int64_t low = columns[0];
  bool steps = true;
  for (unsigned r = 1; r < kMatrixRows; ++r) {
    low = columns[r] < low ? columns[r] : low;
    steps = steps && columns[r] - columns[r - 1] == columns[1] - columns[0];
  }
  if (steps) return false;
  for (int64_t first = low - 7; first <= low; ++first) {
    bool linear = true;
    for (unsigned r = 0; r < kMatrixRows && linear; ++r) {
      int64_t turned = columns[0] - first;
      for (unsigned bit = 1; bit < kMatrixRows; bit *= 2)
        if (r & bit) turned ^= (columns[0] - first) ^ (columns[bit] - first);
      linear = columns[r] - first == turned && turned < 8;
    }
    if (linear) return true;
  }
  return false;
}

inline void mismatched_swizzle(Worker& worker, const void* piece, const char* what, const char* message,
                               uint32_t site) {
  if (worker.failed) return give_up(worker);
  TcSimReport& report = worker.report;
  report = TcSimReport{};
  snprintf(report.kind, sizeof report.kind, "swizzle_mismatch");
  snprintf(report.message, sizeof report.message, "%s", message);
  describe(report.access, what, *worker.actor->block, worker.actor->thread, site);
  report.space = kShared;
  report.offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(piece) - worker.block->shared.begin);
  report.size = kPiece;
  give_up(worker);
}

// rows: the addresses of the eight rows of a matrix, 16 bytes each.
inline void check_matrix_rows(Worker& worker, const void* const* rows, uint32_t site) {
  if (worker.quiet || worker.block->origins.empty()) return;
  int64_t columns[kMatrixRows];
  int tensor = -1;
  for (unsigned r = 0; r < kMatrixRows; ++r) {
    int from = -1;
    if (!column_of(worker, rows[r], from, columns[r]) || (r && from != tensor)) return;
    tensor = from;
  }
  if (is_swizzled(columns)) mismatched_swizzle(worker, rows[0], "read of a matrix", "", site);
}

}  // namespace tcsim
