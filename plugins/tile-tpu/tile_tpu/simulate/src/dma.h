// Copies by DMA, between system memory (tensors, L2) and local memory.
#pragma once
#include "views.h"

namespace sim {

// From where to where a command copies: system memory (S) and local memory (L).
enum Places { S2L, L2S, L2L, S2S };

// One side of a copy: 4-D, strides in bytes. local: strides of c count groups of lanes.
struct Side {
  const char* role;
  bool local;
  View view;         // of local memory
  uint64_t address;  // of system memory
  int64_t stride[4];
  Memory* memory;
  bool l2 = false;

  uint64_t offset(int n, int c, int h) const;  // in ``memory``
};

Side local_side(const char* role, local_addr_t address, const dim4& shape, const dim4* stride, data_type_t type);
// NULL stride: rows one after the other. write: the command writes it.
Side system_side(const char* role, system_addr_t address, const dim4& shape, const dim4* stride, data_type_t type,
                 bool write);

// What a copy moves, for the clock: elements of ``size`` bytes in runs that lie together on both sides.
struct Traffic {
  uint64_t bytes = 0, beats = 0;
  void run(uint64_t run_bytes);
};
void spend_dma(Engine engine, const Traffic& traffic, const Side* to, const Side* from);

// dst[i] = src[order(i)]: axis a of the destination is axis order[a] of the source. shape is the destination's.
void move(Engine engine, const Side& to, const Side& from, const dim4& shape, const int (&order)[4], int size);
// Elements of a row that begins at ``offset`` of the side's memory.
// A command touches a range of system memory; fails where SDMA or HAU would not wait, or not be waited for.
void note_system(const Side& side, uint64_t first, uint64_t bytes, bool write);
void note_side(const Side& side, uint64_t offset, int64_t step, int64_t count, int size, bool write);

}  // namespace sim
