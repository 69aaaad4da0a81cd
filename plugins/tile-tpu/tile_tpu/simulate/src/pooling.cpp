// Pooling, which is how this chip reduces along h and w: a kernel {1, W} takes the largest of a row, or its sum.
#include <vector>

#include "calls.h"
#include "elementwise.h"

using namespace sim;

namespace {

struct Pool {
  View in, out;
  dim2 kernel, stride, dilation;
  padding_t pad;
};

void within(const char* what, int value, int least, int most) {
  if (value < least || value > most)
    fail("argument", text("%s of a pooling out of range", what), text("%d", value), text("%d to %d", least, most),
         "reduce in two steps");
}

Pool made(local_addr_t output, local_addr_t input, const dim4* shape, const dim2* kernel, const padding_t* pad,
          const dim2* stride, const dim2* dilation, data_type_t in_type, data_type_t out_type) {
  check_shape(shape);
  const dim2 one{1, 1};
  const padding_t none{0, 0, 0, 0};
  Pool p{{}, {}, *kernel, stride ? *stride : one, dilation ? *dilation : one, pad ? *pad : none};
  within("the kernel", std::min(p.kernel.h, p.kernel.w), 1, 65535);
  within("the kernel", std::max(p.kernel.h, p.kernel.w), 1, 65535);
  for (int value : {p.stride.h, p.stride.w}) within("the stride", value, 1, 15);
  for (int value : {p.dilation.h, p.dilation.w}) within("the dilation", value, 1, 15);
  for (int value : {p.pad.top, p.pad.bottom, p.pad.left, p.pad.right}) within("the padding", value, 0, 15);
  const int h = (shape->h + p.pad.top + p.pad.bottom - (p.dilation.h * (p.kernel.h - 1) + 1)) / p.stride.h + 1;
  const int w = (shape->w + p.pad.left + p.pad.right - (p.dilation.w * (p.kernel.w - 1) + 1)) / p.stride.w + 1;
  if (shape->h + p.pad.top + p.pad.bottom < p.dilation.h * (p.kernel.h - 1) + 1 ||
      shape->w + p.pad.left + p.pad.right < p.dilation.w * (p.kernel.w - 1) + 1)
    fail("extent", "the kernel of a pooling is larger than its input", text("%d x %d", p.kernel.h, p.kernel.w),
         text("at most %d x %d", shape->h, shape->w));
  const dim4 out_shape{shape->n, shape->c, h, w};
  check_shape(&out_shape);
  p.in = tensor_view("input", input, *shape, nullptr, in_type);
  p.out = tensor_view("output", output, out_shape, nullptr, out_type);
  same_lane({&p.out, &p.in});
  no_partial_overlap(p.out, {&p.in});
  if (p.out.byte == p.in.byte) fail("overlap", "a pooling in place", text("0x%x", output), "output and input apart");
  count_banks({&p.out, &p.in});
  return p;
}

// For every output: take(a value of its kernel, is it the first) for each in order, then result().
template <class Take, class Result>
void each_output(const Pool& p, float padding, Take take, Result result) {
  const dim4 &in = p.in.shape, &out = p.out.shape;
  std::vector<float> plane(size_t(in.h) * in.w), row(out.w);
  for (int n = 0; n < in.n; ++n)
    for (int c = 0; c < in.c; ++c) {
      note_read(p.in, n, c, 0, int64_t(in.h) * in.w);
      load(p.in.type, bytes_at(p.in.offset(n, c, 0)), p.in.size, in.h * in.w, plane.data());
      for (int y = 0; y < out.h; ++y) {
        for (int x = 0; x < out.w; ++x) {
          for (int i = 0; i < p.kernel.h; ++i)
            for (int j = 0; j < p.kernel.w; ++j) {
              const int h = y * p.stride.h - p.pad.top + i * p.dilation.h, w = x * p.stride.w - p.pad.left + j * p.dilation.w;
              const bool inside = h >= 0 && h < in.h && w >= 0 && w < in.w;
              take(inside ? plane[size_t(h) * in.w + w] : padding, !i && !j);
            }
          row[x] = result();
        }
        note_write(p.out, n, c, y, out.w);
        store(p.out.type, bytes_at(p.out.offset(n, c, y)), p.out.size, out.w, row.data());
      }
    }
  // an output a unit at once, a value of its kernel a cycle
  spend_vector(out, p.out.lane, p.in.size * 8, double(p.kernel.h) * p.kernel.w);
}

void extreme(const Pool& p, scalar_t padding, bool largest) {
  want_float(p.in.type);
  float best = 0;
  each_output(
      p, float_of(padding, p.in.type),
      [&](float value, bool first) {
        if (first)
          best = value;
        else if (largest)
          best = best > value ? best : value;
        else
          best = best > value ? value : best;
      },
      [&] { return best; });
}

// Products with the scale are added up in fp32 where the output is fp32, in the output's type otherwise: those of even
// and of odd places each by themselves, the two sums at the end (measured on BM1690's CModel).
void sum(const Pool& p, scalar_t scale, data_type_t scale_type) {
  want_float(p.in.type);
  const data_type_t type = p.out.type;
  if (type != DT_FP32 && type != p.in.type && !is_fp8(p.in.type))
    fail("dtype", "an average cannot be written in this type", name_of(type), "DT_FP32, or that of the input");
  const auto round = [type](float x) {
    return type == DT_FP16 ? from_half(to_half(x)) : type == DT_BFP16 ? from_bfloat(to_bfloat(x)) : x;
  };
  const float factor = float_of(scale, scale_type);
  float sums[2] = {0, 0};
  int place = 0;
  each_output(
      p, 0.f,
      [&](float value, bool first) {
        if (first) sums[0] = sums[1] = 0, place = 0;
        sums[place] = round(sums[place] + factor * value);
        place ^= 1;
      },
      [&] { return round(sums[0] + sums[1]); });
}

}  // namespace

#define POOL                                                                                                         \
  (local_addr_t output, local_addr_t input, const dim4* shape, const dim2* kernel, const padding_t* padding,         \
   const dim2* stride, const dim2* dilation, data_type_t type, scalar_t value)

API(void, tpu_bdc_fp_max_pool2d, POOL) COMMAND(tensor, {
  extreme(made(output, input, shape, kernel, padding, stride, dilation, type, type), value, true);
})
API(void, tpu_bdc_fp_min_pool2d, POOL) COMMAND(tensor, {
  extreme(made(output, input, shape, kernel, padding, stride, dilation, type, type), value, false);
})
API(void, tpu_bdc_fp_avg_pool2d, POOL) COMMAND(tensor, {
  sum(made(output, input, shape, kernel, padding, stride, dilation, type, type), value, type);
})
API(void, tpu_bdc_fp_avg_pool2d_ex,
    (local_addr_t output, local_addr_t input, const dim4* shape, const dim2* kernel, const padding_t* padding,
     const dim2* stride, const dim2* dilation, const dim2* inserted, data_type_t in_type, data_type_t out_type,
     scalar_t scale)) COMMAND(tensor, {
  if (inserted && (inserted->h || inserted->w)) fail("unsupported", "the simulator inserts nothing into a pooling's input");
  sum(made(output, input, shape, kernel, padding, stride, dilation, in_type, out_type), scale, in_type);
})
