// The functions of GDMA and SDMA that copy and fill.
#include <cstring>

#include "calls.h"
#include "dma.h"

using namespace sim;

namespace {

constexpr int kStraight[4] = {0, 1, 2, 3}, kSwapNC[4] = {1, 0, 2, 3}, kSwapCW[4] = {0, 3, 2, 1};

dim4 source_shape(const dim4& shape, const int (&order)[4]) {
  const int extents[4] = {shape.n, shape.c, shape.h, shape.w};
  int source[4];
  for (int axis = 0; axis < 4; ++axis) source[order[axis]] = extents[axis];
  return {source[0], source[1], source[2], source[3]};
}

void copy(Engine engine, Places places, uint64_t dst, uint64_t src, const dim4* shape, const dim4* dst_stride,
          const dim4* src_stride, data_type_t type, const int (&order)[4]) {
  check_shape(shape);
  const dim4 from_shape = source_shape(*shape, order);
  const Side to = places == S2L || places == L2L ? local_side("dst", local_addr_t(dst), *shape, dst_stride, type)
                                                 : system_side("dst", dst, *shape, dst_stride, type, true);
  const Side from = places == L2S || places == L2L ? local_side("src", local_addr_t(src), from_shape, src_stride, type)
                                                   : system_side("src", src, from_shape, src_stride, type, false);
  move(engine, to, from, *shape, order, size_of(type));
}

void fill(Engine engine, const Side& to, scalar_t value, const dim4& shape, int size) {
  Traffic traffic;
  for (int n = 0; n < shape.n; ++n)
    for (int c = 0; c < shape.c; ++c)
      for (int h = 0; h < shape.h; ++h) {
        const uint64_t at = to.offset(n, c, h);
        note_side(to, at, to.stride[3], shape.w, size, true);
        for (int w = 0; w < shape.w; ++w) std::memcpy(to.memory->at(at + w * to.stride[3]), &value, size);
        traffic.run(uint64_t(shape.w) * size);
      }
  spend_dma(engine, traffic, &to, nullptr);
}

dim4 line(unsigned count) { return {1, 1, 1, int(count)}; }

void copy_line(Engine engine, uint64_t dst, uint64_t src, unsigned count, data_type_t type) {
  if (!count) fail("extent", "a copy of nothing");
  const dim4 shape = line(count);
  move(engine, system_side("dst", dst, shape, nullptr, type, true), system_side("src", src, shape, nullptr, type, false), shape,
       kStraight, size_of(type));
}
void fill_line(Engine engine, uint64_t dst, scalar_t value, unsigned count, data_type_t type) {
  if (!count) fail("extent", "a fill of nothing");
  fill(engine, system_side("dst", dst, line(count), nullptr, type, true), value, line(count), size_of(type));
}

// A row of the source in every lane from where dst starts.
void broadcast(bool local_source, local_addr_t dst, uint64_t src, const dim4* shape, const dim4* dst_stride,
               const dim4* src_stride, data_type_t type) {
  check_shape(shape);
  const dim4 from_shape{shape->n, 1, shape->h, shape->w};
  const Side to = local_side("dst", dst, *shape, dst_stride, type);
  if (to.view.lane + shape->c > device->chip.lanes)
    fail("extent", "a broadcast goes beyond the last lane", text("%d channels from lane %d on", shape->c, to.view.lane),
         text("at most %d", device->chip.lanes - to.view.lane));
  if (dst_stride && dst_stride->w != 1)
    fail("stride", "a broadcast writes rows without gaps", text("stride.w = %d", dst_stride->w), "1");
  Side from = local_source ? local_side("src", local_addr_t(src), from_shape, src_stride, type)
                           : system_side("src", src, from_shape, src_stride, type, false);
  Traffic traffic;
  const int size = size_of(type);
  for (int n = 0; n < shape->n; ++n)
    for (int h = 0; h < shape->h; ++h) {
      const uint64_t at = from.offset(n, 0, h);
      note_side(from, at, from.stride[3], shape->w, size, false);
      for (int c = 0; c < shape->c; ++c) {
        const uint64_t target = to.offset(n, c, h);
        note_side(to, target, size, shape->w, size, true);
        for (int w = 0; w < shape->w; ++w)
          std::memmove(to.memory->at(target + w * size), from.memory->at(at + w * from.stride[3]), size);
      }
      traffic.run(uint64_t(shape->w) * size);
    }
  spend_dma(Engine::gdma, traffic, &to, &from);
}

void compact(Places places, local_addr_t local, uint64_t system, const dim4* shape, data_type_t type) {
  check_shape(shape);
  const dim4 stride = compact_stride(int(local / device->chip.lane_bytes), *shape);
  if (places == S2L)
    copy(Engine::gdma, S2L, local, system, shape, &stride, nullptr, type, kStraight);
  else
    copy(Engine::gdma, L2S, system, local, shape, nullptr, &stride, type, kStraight);
}

// The matrix layout: row r is batch r, its columns lie in sections of ``section``, one section a lane.
void matrix(bool to_local, local_addr_t local, uint64_t system, int rows, int columns, int section, int row_stride,
            data_type_t type, bool transposed) {
  if (rows < 1 || columns < 1 || section < 1 || rows > kLargestExtent || columns > kLargestExtent)
    fail("extent", "a matrix of this size", text("%d x %d, sections of %d", rows, columns, section), "1 to 65535");
  const int local_rows = transposed ? columns : rows, local_columns = transposed ? rows : columns;
  const int whole = local_columns / section, rest = local_columns % section, size = size_of(type);
  const dim4 shape{local_rows, whole + (rest ? 1 : 0), 1, section};
  const Side own = local_side("the local matrix", local, shape, nullptr, type);
  const dim4 flat{1, 1, rows, columns}, flat_stride{0, 0, row_stride, 1};
  const Side other = system_side("the matrix in system memory", system, flat, &flat_stride, type, !to_local);
  Traffic traffic;
  const auto one = [&](uint64_t far, uint64_t near, int count) {
    const int64_t step = transposed ? other.stride[2] : size;
    note_side(to_local ? other : own, to_local ? far : near, to_local ? step : size, count, size, false);
    note_side(to_local ? own : other, to_local ? near : far, to_local ? size : step, count, size, true);
    for (int i = 0; i < count; ++i) {
      uint8_t *a = other.memory->at(far + i * step), *b = own.memory->at(near + uint64_t(i) * size);
      std::memcpy(to_local ? b : a, to_local ? a : b, size);
      if (transposed) traffic.run(size);
    }
    if (!transposed) traffic.run(uint64_t(count) * size);
  };
  for (int r = 0; r < local_rows; ++r)
    for (int s = 0; s < shape.c; ++s) {
      const int first = s * section, count = std::min(section, local_columns - first);
      one(transposed ? other.offset(0, 0, first) + uint64_t(r) * size : other.offset(0, 0, r) + uint64_t(first) * size,
          own.offset(r, s, 0), count);
    }
  if (to_local)
    spend_dma(Engine::gdma, traffic, &own, &other);
  else
    spend_dma(Engine::gdma, traffic, &other, &own);
}

}  // namespace

#define COPY(name, engine, places, order, to_type, from_type)                                              \
  API(void, name,                                                                                          \
      (to_type dst, from_type src, const dim4* shape, const dim4* dst_stride, const dim4* src_stride,      \
       data_type_t type)) COMMAND(engine, {                                                                \
    copy(Engine::engine, places, dst, src, shape, dst_stride, src_stride, type, order);                    \
  })

COPY(tpu_gdma_cpy_S2L, gdma, S2L, kStraight, local_addr_t, system_addr_t)
COPY(tpu_gdma_cpy_L2S, gdma, L2S, kStraight, system_addr_t, local_addr_t)
COPY(tpu_gdma_cpy_L2L, gdma, L2L, kStraight, local_addr_t, local_addr_t)
COPY(tpu_gdma_cpy_S2S, gdma, S2S, kStraight, system_addr_t, system_addr_t)
COPY(tpu_gdma_cpy_nc_trans_S2L, gdma, S2L, kSwapNC, local_addr_t, system_addr_t)
COPY(tpu_gdma_cpy_nc_trans_L2S, gdma, L2S, kSwapNC, system_addr_t, local_addr_t)
COPY(tpu_gdma_cpy_nc_trans_L2L, gdma, L2L, kSwapNC, local_addr_t, local_addr_t)
COPY(tpu_gdma_cpy_nc_trans_S2S, gdma, S2S, kSwapNC, system_addr_t, system_addr_t)
COPY(tpu_gdma_cpy_cw_trans_S2L, gdma, S2L, kSwapCW, local_addr_t, system_addr_t)
COPY(tpu_gdma_cpy_cw_trans_L2S, gdma, L2S, kSwapCW, system_addr_t, local_addr_t)
COPY(tpu_gdma_cpy_cw_trans_L2L, gdma, L2L, kSwapCW, local_addr_t, local_addr_t)
COPY(tpu_gdma_cpy_cw_trans_S2S, gdma, S2S, kSwapCW, system_addr_t, system_addr_t)
COPY(tpu_sdma_cpy_S2S, sdma, S2S, kStraight, system_addr_t, system_addr_t)

API(void, tpu_gdma_channel_bcast_S2L,
    (local_addr_t dst, system_addr_t src, const dim4* shape, const dim4* dst_stride, const dim4* src_stride,
     data_type_t type)) COMMAND(gdma, {
  if (src_stride && src_stride->w != 1)
    fail("stride", "a broadcast of elements that are no neighbours", text("w stride %d", src_stride->w), "1");
  broadcast(false, dst, src, shape, dst_stride, src_stride, type);
})
API(void, tpu_gdma_channel_bcast_L2L,
    (local_addr_t dst, local_addr_t src, const dim4* shape, const dim4* dst_stride, const dim4* src_stride,
     data_type_t type)) COMMAND(gdma, { broadcast(true, dst, src, shape, dst_stride, src_stride, type); })

API(void, tpu_gdma_compact_S2L, (local_addr_t dst, system_addr_t src, const dim4* shape, data_type_t type))
COMMAND(gdma, { compact(S2L, dst, src, shape, type); })
API(void, tpu_gdma_compact_L2S, (system_addr_t dst, local_addr_t src, const dim4* shape, data_type_t type))
COMMAND(gdma, { compact(L2S, src, dst, shape, type); })

API(void, tpu_gdma_set_C_local,
    (local_addr_t dst, scalar_t C, const dim4* shape, const dim4* dst_stride, data_type_t type)) COMMAND(gdma, {
  check_shape(shape);
  fill(Engine::gdma, local_side("dst", dst, *shape, dst_stride, type), C, *shape, size_of(type));
})
API(void, tpu_gdma_set_C_system,
    (system_addr_t dst, scalar_t C, const dim4* shape, const dim4* dst_stride, data_type_t type)) COMMAND(gdma, {
  check_shape(shape);
  fill(Engine::gdma, system_side("dst", dst, *shape, dst_stride, type, true), C, *shape, size_of(type));
})
API(void, tpu_sdma_set_C_system,
    (system_addr_t dst, scalar_t C, const dim4* shape, const dim4* dst_stride, data_type_t type)) COMMAND(sdma, {
  check_shape(shape);
  fill(Engine::sdma, system_side("dst", dst, *shape, dst_stride, type, true), C, *shape, size_of(type));
})
API(void, tpu_gdma_system_cpy, (system_addr_t dst, system_addr_t src, unsigned int count, data_type_t type))
COMMAND(gdma, { copy_line(Engine::gdma, dst, src, count, type); })
API(void, tpu_sdma_system_cpy, (system_addr_t dst, system_addr_t src, unsigned int count, data_type_t type))
COMMAND(sdma, { copy_line(Engine::sdma, dst, src, count, type); })
API(void, tpu_gdma_system_set, (system_addr_t dst, scalar_t C, unsigned int count, data_type_t type))
COMMAND(gdma, { fill_line(Engine::gdma, dst, C, count, type); })
API(void, tpu_sdma_system_set, (system_addr_t dst, scalar_t C, unsigned int count, data_type_t type))
COMMAND(sdma, { fill_line(Engine::sdma, dst, C, count, type); })

API(void, tpu_gdma_matrix_S2L,
    (local_addr_t dst, system_addr_t src, int rows, int columns, int section, int row_stride, data_type_t type))
COMMAND(gdma, { matrix(true, dst, src, rows, columns, section, row_stride, type, false); })
API(void, tpu_gdma_matrix_L2S,
    (system_addr_t dst, local_addr_t src, int rows, int columns, int section, int row_stride, data_type_t type))
COMMAND(gdma, { matrix(false, src, dst, rows, columns, section, row_stride, type, false); })
API(void, tpu_gdma_matrix_trans_S2L,
    (local_addr_t dst, system_addr_t src, int rows, int columns, int section, int row_stride, data_type_t type))
COMMAND(gdma, { matrix(true, dst, src, rows, columns, section, row_stride, type, true); })
