// Copies, constants, transposes and casts by the tensor unit.
#include <cstring>
#include <vector>

#include "arithmetic.h"
#include "calls.h"
#include "elementwise.h"

using namespace sim;

namespace {

// Element by element as bytes: every type, no conversion.
void copy_rows(const View& dst, const View& src) {
  std::vector<uint8_t> row;
  each_row(dst.shape, {&dst, &src}, [&](int n, int c, int h, int64_t count) {
    note_read(src, n, c, h, count);
    note_write(dst, n, c, h, count);
    const uint8_t* from = bytes_at(src.offset(n, c, h));
    uint8_t* to = bytes_at(dst.offset(n, c, h));
    const int size = dst.size;
    if (src.stride.w == 1 && dst.stride.w == 1) {
      std::memmove(to, from, size_t(count) * size);
      return;
    }
    row.resize(size_t(count) * size);
    for (int64_t i = 0; i < count; ++i) std::memcpy(&row[i * size], from + i * src.stride.w * size, size);
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * dst.stride.w * size, &row[i * size], size);
  });
}


// dst[n][w][h][c] = src[n][c][h][w], both aligned; shape is that of dst.
void transpose(local_addr_t dst, local_addr_t src, const dim4* shape, data_type_t type, bool wc) {
  check_shape(shape);
  if (!wc && shape->h != 1)
    fail("unsupported", "tpu_bdc_cw_trans of more than one row, whose layout is another one", text("h = %d", shape->h), "h = 1",
         "tpu_bdc_wc_trans, or tpu_gdma_cpy_cw_trans_*");
  const dim4 from_shape{shape->n, shape->w, shape->h, shape->c};
  const View to = tensor_view("dst", dst, *shape, nullptr, type);
  const View from = tensor_view("src", src, from_shape, nullptr, type);
  const View& fixed = wc ? to : from;
  if (fixed.lane)
    fail("lane", text("%s of this transpose does not start in lane 0", fixed.role), text("lane %d", fixed.lane), "lane 0",
         wc ? "tpu_bdc_cw_trans takes any lane for dst" : "tpu_bdc_wc_trans takes any lane for src");
  if (dst == src) fail("overlap", "a transpose in place", text("0x%x", dst), "dst and src apart");
  no_partial_overlap(to, {&from});
  std::vector<uint8_t> all(size_t(shape->n) * shape->c * shape->h * shape->w * to.size);
  size_t at = 0;
  for (int n = 0; n < from_shape.n; ++n)
    for (int c = 0; c < from_shape.c; ++c)
      for (int h = 0; h < from_shape.h; ++h) {
        note_read(from, n, c, h, from_shape.w);
        std::memcpy(&all[at], bytes_at(from.offset(n, c, h)), size_t(from_shape.w) * from.size);
        at += size_t(from_shape.w) * from.size;
      }
  for (int n = 0; n < shape->n; ++n)
    for (int c = 0; c < shape->c; ++c)
      for (int h = 0; h < shape->h; ++h) {
        note_write(to, n, c, h, shape->w);
        uint8_t* row = bytes_at(to.offset(n, c, h));
        for (int w = 0; w < shape->w; ++w)
          std::memcpy(row + w * to.size,
                      &all[(((size_t(n) * shape->w + w) * shape->h + h) * shape->c + c) * to.size], to.size);
      }
  // one side is walked lane by lane: a row of the other side takes a cycle for each element of it
  const dim4 walked{shape->n, wc ? shape->c : shape->w, shape->h, wc ? shape->w : shape->c};
  spend_vector(walked, 0, to.size * 8, kTranspose);
}

template <class To, class From, class F>
void convert(const View& dst, const View& src, F one) {
  From in[kChunk];
  To out[kChunk];
  each_row(dst.shape, {&dst, &src}, [&](int n, int c, int h, int64_t count) {
    note_read(src, n, c, h, count);
    note_write(dst, n, c, h, count);
    const int64_t from_step = int64_t(src.stride.w) * src.size, to_step = int64_t(dst.stride.w) * dst.size;
    const uint8_t* from = bytes_at(src.offset(n, c, h));
    uint8_t* to = bytes_at(dst.offset(n, c, h));
    for (int64_t first = 0; first < count; first += kChunk) {
      const int part = int(std::min<int64_t>(kChunk, count - first));
      load(src.type, from + first * from_step, from_step, part, in);
      for (int i = 0; i < part; ++i) out[i] = one(in[i]);
      store(dst.type, to + first * to_step, to_step, part, out);
    }
  });
}

// Floats saturate in narrower types, infinities too; in float32 they stay infinite. NaN stays NaN, and is 0 as an integer.
void cast_floats(const View& dst, const View& src, rounding_mode_t mode) {
  const data_type_t type = dst.type;
  if (is_integer(type)) {
    const double least = double(least_of(type)), most = double(most_of(type));
    return convert<int64_t, float>(dst, src, [=](float x) -> int64_t {
      if (std::isnan(x)) return 0;
      return int64_t(std::min(std::max(round_whole(x, mode), least), most));
    });
  }
  const float largest = type == DT_FP32 ? INFINITY : largest_of(type);
  const bool src_is_fp32 = src.type == DT_FP32;
  if (mode == RM_HALF_TO_EVEN || size_of(type) == 4)
    return convert<float, float>(dst, src, [=](float x) {
      if (type == DT_BFP16 && src_is_fp32) flush(&x, 1);
      return x > largest ? largest : x < -largest ? -largest : x;
    });
  convert<float, float>(dst, src, [=](float x) {
    const uint32_t pattern = round_into(type, x, mode, Overflow::saturate);
    return float_from(type, reinterpret_cast<const uint8_t*>(&pattern));
  });
}

void cast_integers(const View& dst, const View& src, rounding_mode_t mode) {
  const data_type_t type = dst.type;
  if (is_integer(type))
    return convert<int64_t, int64_t>(dst, src, [=](int64_t x) { return clamp_into(type, x); });
  convert<float, int64_t>(dst, src, [=](int64_t x) {
    const uint32_t pattern = round_into(type, double(x), mode, Overflow::infinite);  // unlike floats
    return float_from(type, reinterpret_cast<const uint8_t*>(&pattern));
  });
}

}  // namespace

API(void, tpu_bdc_cpy,
    (local_addr_t dst, local_addr_t src, const dim4* shape, const dim4* dst_stride, const dim4* src_stride,
     data_type_t type)) COMMAND(tensor, {
  check_shape(shape);
  const View to = tensor_view("dst", dst, *shape, dst_stride, type), from = tensor_view("src", src, *shape, src_stride, type);
  check_elementwise(to, {&from});
  copy_rows(to, from);
  spend_vector(*shape, to.lane, to.size * 8);
})

API(void, tpu_bdc_cpy_cross_npu, (local_addr_t dst, local_addr_t src, const dim4* shape, data_type_t type))
COMMAND(tensor, {
  check_shape(shape);
  if (dst == src) fail("overlap", "a copy across lanes in place", text("0x%x", dst), "dst and src apart");
  const View to = tensor_view("dst", dst, *shape, nullptr, type), from = tensor_view("src", src, *shape, nullptr, type);
  copy_rows(to, from);
  spend_vector(*shape, std::max(to.lane, from.lane), to.size * 8);
})

API(void, tpu_bdc_npu_bcast, (local_addr_t dst, local_addr_t src, const dim4* shape, data_type_t type))
COMMAND(tensor, {
  check_shape(shape);
  const View to = tensor_view("dst", dst, *shape, nullptr, type);
  const View from = tensor_view("src", src, {shape->n, 1, shape->h, shape->w}, nullptr, type);
  if (to.lane + shape->c > device->chip.lanes)
    fail("extent", "a broadcast goes beyond the last lane", text("%d channels from lane %d on", shape->c, to.lane),
         text("at most %d", device->chip.lanes - to.lane),
         "broadcast to the lanes there are, and let stride.c = 0 repeat it for further channels");
  for (int n = 0; n < shape->n; ++n)
    for (int h = 0; h < shape->h; ++h) {
      note_read(from, n, 0, h, shape->w);
      const uint8_t* row = bytes_at(from.offset(n, 0, h));
      for (int c = 0; c < shape->c; ++c) {
        note_write(to, n, c, h, shape->w);
        std::memmove(bytes_at(to.offset(n, c, h)), row, size_t(shape->w) * to.size);
      }
    }
  spend_vector(*shape, to.lane, to.size * 8);
})

API(void, tpu_bdc_set_C, (local_addr_t dst, scalar_t C, const dim4* shape, const dim4* dst_stride, data_type_t type))
COMMAND(tensor, {
  check_shape(shape);
  const View to = tensor_view("dst", dst, *shape, dst_stride, type);
  check_elementwise(to, {});
  each_row(*shape, {&to}, [&](int n, int c, int h, int64_t count) {
    note_write(to, n, c, h, count);
    uint8_t* row = bytes_at(to.offset(n, c, h));
    for (int64_t i = 0; i < count; ++i) std::memcpy(row + i * to.stride.w * to.size, &C, to.size);
  });
  spend_vector(*shape, to.lane, to.size * 8);
})

API(void, tpu_bdc_cw_trans, (local_addr_t dst, local_addr_t src, const dim4* shape, data_type_t type))
COMMAND(tensor, { transpose(dst, src, shape, type, false); })
API(void, tpu_bdc_wc_trans, (local_addr_t dst, local_addr_t src, const dim4* shape, data_type_t type))
COMMAND(tensor, { transpose(dst, src, shape, type, true); })

API(void, tpu_bdc_cast,
    (local_addr_t dst, local_addr_t src, const dim4* shape, const dim4* dst_stride, const dim4* src_stride,
     data_type_t dst_type, data_type_t src_type, rounding_mode_t mode)) COMMAND(tensor, {
  check_shape(shape);
  if (int(mode) < 0 || int(mode) > 4)
    fail("argument", "no such rounding mode of a cast", text("%d", int(mode)), "0 to 4: RM_HALF_TO_EVEN to RM_UP");
  const View to = tensor_view("dst", dst, *shape, dst_stride, dst_type);
  const View from = tensor_view("src", src, *shape, src_stride, src_type);
  if (dst == src && to.size > from.size)
    fail("overlap", "a cast in place to a wider type", name_of(src_type) + " to " + name_of(dst_type),
         "a type that is not wider, or dst apart");
  check_elementwise(to, {&from});
  if (is_float(src_type))
    cast_floats(to, from, mode);
  else
    cast_integers(to, from, mode);
  spend_vector(*shape, to.lane, std::max(to.size, from.size) * 8);
})
