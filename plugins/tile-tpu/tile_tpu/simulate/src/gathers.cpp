// Rows and elements by index, and sequences of numbers.
#include <cstring>

#include "calls.h"
#include "dma.h"
#include "elementwise.h"

using namespace sim;

namespace {

// Rows of w elements by an index of uint32. gather: output[n][c][h] = param[n][c][index[n][c][h]], shape is the
// output's. scatter: output[n][c][index[n][c][h]] = param[n][c][h], shape is the output's, h counts param_h rows.
struct Lines {
  Side out, param, index;
  dim4 shape;
  int param_h, size;

  Lines(Places places, uint64_t output, uint64_t from, uint64_t indices, bool index_is_local, const dim4* given,
        int lines, const dim4* output_stride, const dim4* param_stride, const dim4* index_stride, data_type_t type,
        bool scatter)
      : shape(*given), param_h(lines), size(size_of(type)) {
    check_shape(given);
    const dim4 from_shape{shape.n, shape.c, lines, shape.w}, flat{shape.n, shape.c, scatter ? lines : shape.h, 1};
    check_shape(&from_shape);
    if (index_stride && index_stride->h != 1)  // asserted by BM1690's CModel
      fail("stride", "the indices of a channel are no neighbours", text("a stride of %d along h", index_stride->h), "1");
    const dim4& out_shape = shape;
    out = places == S2L || places == L2L ? local_side("output", local_addr_t(output), out_shape, output_stride, type)
                                         : system_side("output", output, out_shape, output_stride, type, true);
    param = places == L2S || places == L2L ? local_side("param", local_addr_t(from), from_shape, param_stride, type)
                                           : system_side("param", from, from_shape, param_stride, type, false);
    index = index_is_local ? local_side("index", local_addr_t(indices), flat, index_stride, DT_UINT32)
                           : system_side("index", indices, flat, index_stride, DT_UINT32, false);
  }

  uint32_t at(int n, int c, int h) const {
    const uint64_t offset = index.offset(n, c, h);
    note_side(index, offset, 4, 1, 4, false);
    uint32_t value;
    std::memcpy(&value, index.memory->at(offset), 4);
    return value;
  }

  void row(uint64_t to, uint64_t from) const {
    note_side(param, from, param.stride[3], shape.w, size, false);
    note_side(out, to, out.stride[3], shape.w, size, true);
    for (int w = 0; w < shape.w; ++w)
      std::memcpy(out.memory->at(to + w * out.stride[3]), param.memory->at(from + w * param.stride[3]), size);
  }
};

void gather(const Lines& lines, scalar_t C) {
  Traffic traffic;
  const dim4& s = lines.shape;
  for (int n = 0; n < s.n; ++n)
    for (int c = 0; c < s.c; ++c)
      for (int h = 0; h < s.h; ++h) {
        const uint32_t line = lines.at(n, c, h);
        const uint64_t to = lines.out.offset(n, c, h);
        if (line < uint32_t(lines.param_h)) {
          lines.row(to, lines.param.offset(n, c, int(line)));
        } else {  // beyond the last: the constant
          note_side(lines.out, to, lines.out.stride[3], s.w, lines.size, true);
          for (int w = 0; w < s.w; ++w) std::memcpy(lines.out.memory->at(to + w * lines.out.stride[3]), &C, lines.size);
        }
        traffic.run(uint64_t(s.w) * lines.size);
      }
  spend_dma(Engine::gdma, traffic, &lines.out, &lines.param);
}

void scatter(const Lines& lines) {
  Traffic traffic;
  const dim4& s = lines.shape;
  for (int n = 0; n < s.n; ++n)
    for (int c = 0; c < s.c; ++c)
      for (int h = 0; h < lines.param_h; ++h) {
        const uint32_t line = lines.at(n, c, h);
        if (line < uint32_t(s.h)) lines.row(lines.out.offset(n, c, int(line)), lines.param.offset(n, c, h));
        traffic.run(uint64_t(s.w) * lines.size);
      }
  spend_dma(Engine::gdma, traffic, &lines.out, &lines.param);
}

void check_index(data_type_t type) {
  if (type != DT_UINT8 && type != DT_UINT16)
    fail("dtype", "an index of this type", name_of(type), "DT_UINT8 or DT_UINT16", "GDMA's gathers take uint32");
}

uint32_t index_at(const View& index, uint64_t at) { return uint32_t(integer_from(index.type, bytes_at(at))); }

// Of elements or of rows in the lane's own memory: param is [1][c][...], the same for every n.
void local_gather(local_addr_t output, local_addr_t from, local_addr_t indices, const dim4* shape, int count,
                  data_type_t type, data_type_t index_type, bool repeated, bool rows) {
  check_shape(shape);
  check_index(index_type);
  const dim4 index_shape{shape->n, shape->c, rows ? shape->h : 1, rows ? 1 : shape->w};
  if (!rows && shape->h != 1) fail("extent", "a gather along w of more than one row", text("h = %d", shape->h), "1");
  const int channels = repeated ? std::min(shape->c, device->chip.lanes) : shape->c;
  const dim4 param_shape{1, channels, rows ? count : 1, rows ? shape->w : count};
  check_shape(&param_shape);
  // rows are aligned to what the units take at once
  const auto lines = [type](const dim4& of) {
    const int units = device->chip.eu_count(bits_of(type)), row = (of.w + units - 1) / units * units;
    return dim4{(of.c + device->chip.lanes - 1) / device->chip.lanes * of.h * row, of.h * row, row, 1};
  };
  const dim4 out_lines = lines(*shape), param_lines = lines(param_shape);
  const View out = tensor_view("output", output, *shape, rows ? &out_lines : nullptr, type, Alignment::units);
  const View index = tensor_view("index", indices, index_shape, nullptr, index_type);
  View param = tensor_view("param", from, param_shape, rows ? &param_lines : nullptr, type, Alignment::units);
  if (repeated) param.stride.c = 0;
  same_lane({&out, &index, &param});
  no_partial_overlap(out, {&index, &param});
  count_banks({&out, &index, &param});
  const int size = out.size, row = rows ? shape->w : 1, picks = rows ? shape->h : shape->w;
  for (int n = 0; n < shape->n; ++n)
    for (int c = 0; c < shape->c; ++c)
      for (int i = 0; i < picks; ++i) {
        const uint64_t at = index.offset(n, c, rows ? i : 0) + (rows ? 0 : uint64_t(i) * index.size);
        core->local->reads(at, index.size, 1, index.size);
        const uint32_t pick = index_at(index, at);
        if (pick >= uint32_t(count))
          fail("out_of_bounds", "an index of a gather beyond param", text("%u", pick), text("below %d", count));
        const uint64_t source = param.offset(0, c, rows ? int(pick) : 0) + (rows ? 0 : uint64_t(pick) * size);
        const uint64_t target = out.offset(n, c, rows ? i : 0) + (rows ? 0 : uint64_t(i) * size);
        core->local->reads(source, size, row, size);
        core->local->writes(target, size, row, size);
        std::memmove(bytes_at(target), bytes_at(source), size_t(row) * size);
      }
  spend_vector(*shape, out.lane, size * 8, rows ? 1 : device->chip.eu_count(size * 8));
}

}  // namespace

#define GATHER(name, places, to_type, from_type)                                                                      \
  API(void, tpu_gdma_h_gather_##name,                                                                                 \
      (to_type output, from_type param, addr_t index, bool index_is_local, scalar_t C, const dim4* shape,             \
       int param_h, const dim4* output_stride, const dim4* param_stride, const dim4* index_stride,                    \
       data_type_t type)) COMMAND(gdma, {                                                                             \
    gather(Lines(places, output, param, index, index_is_local, shape, param_h, output_stride, param_stride,           \
                 index_stride, type, false), C);                                                                      \
  })                                                                                                                  \
  API(void, tpu_gdma_h_scatter_##name,                                                                                \
      (to_type output, from_type param, addr_t index, bool index_is_local, const dim4* shape, int param_h,            \
       const dim4* output_stride, const dim4* param_stride, const dim4* index_stride, data_type_t type))              \
  COMMAND(gdma, {                                                                                                     \
    scatter(Lines(places, output, param, index, index_is_local, shape, param_h, output_stride, param_stride,          \
                  index_stride, type, true));                                                                         \
  })
GATHER(S2L, S2L, local_addr_t, system_addr_t)
GATHER(L2S, L2S, system_addr_t, local_addr_t)
GATHER(L2L, L2L, local_addr_t, local_addr_t)
GATHER(S2S, S2S, system_addr_t, system_addr_t)

API(void, tpu_bdc_batch_bcast_w_gather,
    (local_addr_t output, local_addr_t param, local_addr_t index, const dim4* shape, int param_w, data_type_t type,
     data_type_t index_type, bool repeated)) COMMAND(tensor, {
  local_gather(output, param, index, shape, param_w, type, index_type, repeated, false);
})
API(void, tpu_bdc_batch_bcast_h_gather,
    (local_addr_t output, local_addr_t param, local_addr_t index, const dim4* shape, int param_h, data_type_t type,
     data_type_t index_type, bool repeated)) COMMAND(tensor, {
  local_gather(output, param, index, shape, param_h, type, index_type, repeated, true);
})

// start, start + step, ...: along w in each of the lanes, or one a channel in the compact layout. int32.
API(void, tpu_bdc_arithmetic_sequence_bcast, (local_addr_t dst, int lanes, int start, int step, int count))
COMMAND(tensor, {
  const dim4 shape{1, lanes, 1, count};
  check_shape(&shape);
  const View to = tensor_view("dst", dst, shape, nullptr, DT_INT32);
  if (to.lane + lanes > device->chip.lanes)
    fail("extent", "a sequence for more lanes than there are", text("%d from lane %d on", lanes, to.lane),
         text("%d", device->chip.lanes));
  for (int c = 0; c < lanes; ++c) {
    note_write(to, 0, c, 0, count);
    uint8_t* row = bytes_at(to.offset(0, c, 0));
    for (int i = 0; i < count; ++i) {
      const uint32_t value = uint32_t(start) + uint32_t(step) * uint32_t(i);
      std::memcpy(row + 4 * i, &value, 4);
    }
  }
  spend_vector(shape, to.lane, 32, 3);
})
API(void, tpu_bdc_arithmetic_sequence_distribute, (local_addr_t dst, int start, int step, int count))
COMMAND(tensor, {
  const dim4 shape{1, count, 1, 1};
  check_shape(&shape);
  const dim4 stride = compact_stride(int(dst / device->chip.lane_bytes), shape);
  const View to = tensor_view("dst", dst, shape, &stride, DT_INT32);
  if (to.lane) fail("lane", "a distributed sequence does not start in lane 0", text("lane %d", to.lane), "lane 0");
  for (int c = 0; c < count; ++c) {
    note_write(to, 0, c, 0, 1);
    const uint32_t value = uint32_t(start) + uint32_t(step) * uint32_t(c);
    std::memcpy(bytes_at(to.offset(0, c, 0)), &value, 4);
  }
  spend_vector(shape, 0, 32, 3);
})
