// Tensors in local memory as commands name them, and walks over their elements.
//
// Channel c of a tensor that starts at lane s lies in lane (s + c) % lanes, in group (s + c) / lanes. Strides are in
// elements; a NULL stride is the aligned layout: w 1, h W, c H * W rounded up to what the execution units take at once,
// n the groups of one batch.
#pragma once
#include <initializer_list>

#include "device.h"
#include "formats.h"

namespace sim {

constexpr int kLargestExtent = 65535;
constexpr int kLargestStride = (1 << 18) - 1;

struct View {
  const char* role;  // of the operand, for messages: "dst", "src0"
  data_type_t type;
  int size;
  dim4 shape, stride;  // stride in elements
  int lane;            // where it starts
  uint64_t byte;       // in the lane
  bool constant = false;
  scalar_t value;  // of a constant

  uint64_t offset(int n, int c, int h) const;  // in the core's local memory, of element (n, c, h, 0)
  int groups() const;                          // channels of one lane, at most
  bool same_place(const View& other) const;
};

enum class Alignment { by_stride, units, element };

void check_shape(const dim4* shape);
dim4 aligned_stride(int lane, const dim4& shape, data_type_t type);
dim4 compact_stride(int lane, const dim4& shape);

// An operand of a command of the tensor unit. Alignment::by_stride: NULL wants eu_bytes, strides one element's size.
View tensor_view(const char* role, local_addr_t address, const dim4& shape, const dim4* stride, data_type_t type,
                 Alignment alignment = Alignment::by_stride);
// Local memory for DMA, which has no alignment.
View dma_view(const char* role, local_addr_t address, const dim4& shape, const dim4* stride, data_type_t type);
View constant_view(const char* role, scalar_t value, data_type_t type, const dim4& shape);

void same_lane(std::initializer_list<const View*> views);
void written_once(const View& dst);  // stride 0 only where the extent is 1
// What is written may be a source's own place, but not overlap it otherwise.
void no_partial_overlap(const View& dst, std::initializer_list<const View*> sources);
void count_banks(std::initializer_list<const View*> views);

void note_read(const View& view, int n, int c, int h, int64_t count);
void note_write(const View& view, int n, int c, int h, int64_t count);

// For every row: (n, c, h, count) with count elements from w = 0 on. Rows that follow each other in all the views are
// one, so h is the first of them.
template <class F>
void each_row(const dim4& shape, const View* const* views, int view_count, F body) {
  bool flat = shape.h > 1;
  for (int i = 0; i < view_count; ++i)
    flat = flat && (views[i]->constant || views[i]->stride.h == views[i]->stride.w * views[i]->shape.w);
  for (int n = 0; n < shape.n; ++n)
    for (int c = 0; c < shape.c; ++c)
      if (flat) {
        body(n, c, 0, int64_t(shape.h) * shape.w);
      } else {
        for (int h = 0; h < shape.h; ++h) body(n, c, h, int64_t(shape.w));
      }
}

template <class F>
void each_row(const dim4& shape, std::initializer_list<const View*> views, F body) {
  each_row(shape, views.begin(), int(views.size()), body);
}

inline uint8_t* bytes_at(uint64_t offset) { return core->local->at(offset); }

}  // namespace sim
