// Element by element: rows of operands are unpacked to float or int64_t, worked on, and packed.
#pragma once
#include <algorithm>

#include "views.h"

namespace sim {

constexpr int kChunk = 1024;  // elements that are worked on at once

// Cycles of a vector instruction: the lanes work side by side, each on eu_bytes of its elements in a cycle.
inline double vector_cycles(const dim4& shape, int lane, int bits, double factor = 1) {
  const Chip& chip = device->chip;
  const int64_t groups = (lane + shape.c + chip.lanes - 1) / chip.lanes;
  const int64_t units = chip.eu_count(bits);
  return double(shape.n) * groups * ((int64_t(shape.h) * shape.w + units - 1) / units) * factor;
}

void spend_vector(const dim4& shape, int lane, int bits, double factor = 1);

// The unit's arithmetic takes and gives no subnormal number of fp32's range; of fp16 there is none in a float.
inline void flush(float* values, int count) {
  for (int i = 0; i < count; ++i) {
    const uint32_t bits = bits_of_float(values[i]);
    values[i] = float_of_bits(bits & 0x7f800000u ? bits : bits & 0x80000000u);
  }
}
inline void flush(int64_t*, int) {}

template <class T>
void fetch(const View& view, uint64_t at, int first, int count, T* to) {
  if (view.constant) {
    T value;
    load(view.type, reinterpret_cast<const uint8_t*>(&view.value), 0, 1, &value);
    std::fill_n(to, count, value);
  } else {
    const int64_t step = int64_t(view.stride.w) * view.size;
    load(view.type, bytes_at(at) + first * step, step, count, to);
  }
  flush(to, count);
}

// dst = body(sources): body(T* out, const T* a, const T* b, const T* c, int count) for a part of a row; sources that
// are not there are not filled. All views have been made by tensor_view or constant_view.
template <class T, class F>
void apply(const View& dst, std::initializer_list<const View*> sources, F body) {
  alignas(64) T in[4][kChunk], out[kChunk];
  const View* all[5] = {&dst};
  int used = 1;
  for (const View* source : sources) all[used++] = source;
  each_row(dst.shape, all, used, [&](int n, int c, int h, int64_t count) {
    uint64_t from[5];
    for (int i = 1; i < used; ++i) {
      note_read(*all[i], n, c, h, count);
      from[i] = all[i]->constant ? 0 : all[i]->offset(n, c, h);
    }
    note_write(dst, n, c, h, count);
    const uint64_t to = dst.offset(n, c, h);
    const int64_t step = int64_t(dst.stride.w) * dst.size;
    for (int64_t first = 0; first < count; first += kChunk) {
      const int part = int(std::min<int64_t>(kChunk, count - first));
      for (int i = 1; i < used; ++i) fetch(*all[i], from[i], int(first), part, in[i - 1]);
      body(out, in[0], in[1], in[2], part);
      flush(out, part);
      store(dst.type, bytes_at(to) + first * step, step, part, out);
    }
  });
}

// The rules that all of them share.
void check_elementwise(const View& dst, std::initializer_list<const View*> sources);

void want_float(data_type_t type);     // fp32, fp16, bf16 and fp8
void want_plain_float(data_type_t type);  // without fp8
void want_integer(data_type_t type);   // 8, 16, 32 bits

}  // namespace sim
