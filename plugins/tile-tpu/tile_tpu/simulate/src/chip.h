// The chip as the Python side describes it; the record of native.py, field by field.
#pragma once
#include <cstdint>

namespace sim {

struct Chip {
  int32_t number;  // 0 bm1690, 1 sg2260e, 2 bm1684x, 3 bm1688: its bit in availability.h
  int32_t cores, lanes, lane_bytes, banks, eu_bytes, cube_columns, depth32, depth16, depth8;
  uint64_t l2_base, l2_bytes, global_base, static_bytes;
  double ddr_bytes_per_cycle, l2_bytes_per_cycle;  // of one core, at the clock of its DMA
  double dma_cycle, vector_cycle;                  // how long a cycle of each takes, in cycles of the tensor unit
  int32_t beat_bytes;
  char name[20];

  uint64_t local_bytes() const { return uint64_t(lanes) * lane_bytes; }
  int eu_count(int bits) const { return eu_bytes * 8 / (bits < 8 ? 8 : bits); }
  int depth(int bits) const { return bits == 32 ? depth32 : bits == 16 ? depth16 : depth8; }
};

}  // namespace sim
