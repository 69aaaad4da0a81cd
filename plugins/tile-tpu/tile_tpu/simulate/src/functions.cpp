// exp, log and their kin. The chip composes them of simple instructions in the tensor's own type; results here are
// rounded after each step that matters, and end up as the vendor's do where values are special (measured on the CModel
// of BM1690): NaN counts as the least number in exp, results below the least normal number are 0, log takes no number
// below it, sqrt of infinity is NaN.
#include <cmath>
#include <cstring>

#include "arithmetic.h"
#include "calls.h"
#include "elementwise.h"

using namespace sim;

namespace {

enum Table : uint8_t { kExp = 1, kLog, kErf, kSin, kCos };
const char* const kLoaders[] = {"", "tpu_bdc_load_fp_exp_coeff", "tpu_bdc_load_fp_log_coeff", "tpu_bdc_load_fp_erf_coeff",
                                "tpu_bdc_load_fp_sin_coeff", "tpu_bdc_load_fp_cos_coeff"};
constexpr int kEntries[] = {0, 32, 64, 16, 32, 32};

// What a table holds is not modelled, only which one it is: a mark in every byte.
uint8_t mark(Table table, data_type_t type) { return uint8_t(0x40 | table << 2 | (type == DT_FP32 ? 0 : type == DT_FP16 ? 1 : 2)); }

void load_table(local_addr_t address, Table table, data_type_t type) {
  want_plain_float(type);
  const int lanes = device->chip.lanes;
  const dim4 shape{1, lanes, 1, kEntries[table]};
  const View to = tensor_view("coeff", address, shape, nullptr, type);
  if (to.lane) fail("lane", "a table does not start in lane 0", text("lane %d", to.lane), "lane 0: it fills every lane");
  for (int c = 0; c < lanes; ++c) {
    note_write(to, 0, c, 0, kEntries[table]);
    std::memset(bytes_at(to.offset(0, c, 0)), mark(table, type), size_t(kEntries[table]) * to.size);
  }
  spend_vector(shape, 0, to.size * 8);
}

void check_table(local_addr_t address, Table table, data_type_t type, const View& dst) {
  const View from = tensor_view("coeff", address, {1, device->chip.lanes, 1, kEntries[table]}, nullptr, type);
  const int used = std::min(dst.shape.c, device->chip.lanes);
  for (int i = 0; i < used; ++i) {
    const int c = (dst.lane + i) % device->chip.lanes;
    note_read(from, 0, c, 0, kEntries[table]);
    const uint8_t* at = bytes_at(from.offset(0, c, 0));
    for (int b = 0; b < kEntries[table] * from.size; ++b)
      if (at[b] != mark(table, type))
        fail("argument", text("coeff holds no table of %s for %s", kLoaders[table], name_of(type).c_str()),
             text("lane %d", c), text("%s(coeff, %s) before it", kLoaders[table], name_of(type).c_str()),
             "has something been written over it?");
  }
}

struct Range {
  const char* role;
  uint64_t first, last;
};
Range range_of(const View& view) {
  const uint64_t elements = uint64_t(view.shape.n - 1) * view.stride.n + uint64_t(view.groups() - 1) * view.stride.c +
                            uint64_t(view.shape.h - 1) * view.stride.h + view.shape.w;
  return {view.role, view.byte, view.byte + elements * view.size - 1};
}

struct Tables {
  local_addr_t address;
  Table table;
};

// The frame of them all: dst and src aligned, work buffers that are nobody else's and hold nothing afterwards.
struct Function {
  View dst, src;
  Function(local_addr_t to, local_addr_t from, std::initializer_list<local_addr_t> works,
           std::initializer_list<Tables> tables, const dim4* shape, data_type_t type, bool in_place) {
    check_shape(shape);
    want_plain_float(type);
    dst = tensor_view("dst", to, *shape, nullptr, type);
    src = tensor_view("src", from, *shape, nullptr, type);
    check_elementwise(dst, {&src});
    if (!in_place && to == from)
      fail("overlap", "this function does not work in place", text("0x%x", to), "dst and src apart");
    for (const Tables& one : tables) check_table(one.address, one.table, type, dst);
    std::vector<Range> ranges = {range_of(src), range_of(dst)};
    if (to == from) ranges.pop_back();
    for (const Tables& one : tables) {
      const uint64_t byte = one.address % device->chip.lane_bytes;
      ranges.push_back({"coeff", byte, byte + uint64_t(kEntries[one.table]) * dst.size - 1});
    }
    static const char* const roles[] = {"work0", "work1", "work2", "work3"};
    int number = 0;
    for (local_addr_t work : works) {
      const View view = tensor_view(roles[number++], work, *shape, nullptr, type);
      same_lane({&dst, &view});
      ranges.push_back(range_of(view));
      for (int n = 0; n < shape->n; ++n)
        for (int c = 0; c < shape->c; ++c)
          core->local->spoils(view.offset(n, c, 0), uint64_t(shape->h) * shape->w * view.size);
    }
    for (size_t i = 0; i < ranges.size(); ++i)
      for (size_t j = i + 1; j < ranges.size(); ++j)
        if (ranges[i].first <= ranges[j].last && ranges[j].first <= ranges[i].last)
          fail("overlap", text("%s and %s overlap", ranges[i].role, ranges[j].role),
               text("bytes %llu to %llu and %llu to %llu of the lanes", (unsigned long long)ranges[i].first,
                    (unsigned long long)ranges[i].last, (unsigned long long)ranges[j].first,
                    (unsigned long long)ranges[j].last),
               "each a buffer of its own");
  }
  template <class F>
  void run(double factor, F one) const {
    apply<float>(dst, {&src}, [one](float* out, const float* x, const float*, const float*, int count) {
      for (int i = 0; i < count; ++i) out[i] = one(x[i]);
    });
    spend_vector(dst.shape, dst.lane, dst.size * 8, factor);
  }
};

// Rounding into the tensor's type after a step.
struct Rounded {
  data_type_t type;
  float operator()(float x) const {
    return type == DT_FP16 ? from_half(to_half(x)) : type == DT_BFP16 ? from_bfloat(to_bfloat(x)) : x;
  }
  float least() const { return type == DT_FP16 ? 0x1p-14f : 0x1p-126f; }
  float exp(float x) const {
    if (std::isnan(x)) return 0.f;
    const float result = (*this)(std::exp(x));
    return result < least() ? 0.f : result;
  }
  // fp16 keeps its subnormal numbers here, the others do not
  float quotient(float a, float b) const {
    const float result = (*this)(a / b);
    return std::fabs(result) < 0x1p-126f ? std::copysign(0.f, result) : result;
  }
  float sigmoid(float x) const { return quotient(1.f, (*this)(1.f + exp(-x))); }
};

// Cycles: a cycle for each command that the vendor's function expands to (counted on BM1690's CModel by its command
// numbers), more for the one among them that divides or iterates.
constexpr double kMore = kDivision - 1;
constexpr double kExpSteps = 12, kExpm1Steps = 13, kLogSteps = 13, kSigmoidSteps = 15 + kMore, kSiluSteps = 16 + kMore,
                 kTanhSteps = 16 + kMore, kErfSteps = 24 + kMore, kGeluSteps = 28 + kMore, kSinSteps = 6, kCosSteps = 5,
                 kRsqrtSteps = 1 + kMore, kSqrtSteps = 4 + kMore;

float turn_of(float x, Rounded r) {  // the part of a turn, in the type's own precision
  const float turns = r(x * r(0.15915494309189535f));
  return turns - std::floor(turns);
}

}  // namespace

#define LOADER(name, table) \
  API(void, name, (local_addr_t coeff, data_type_t type)) COMMAND(tensor, { load_table(coeff, table, type); })
LOADER(tpu_bdc_load_fp_exp_coeff, kExp)
LOADER(tpu_bdc_load_fp_log_coeff, kLog)
LOADER(tpu_bdc_load_fp_erf_coeff, kErf)
LOADER(tpu_bdc_load_fp_sin_coeff, kSin)
LOADER(tpu_bdc_load_fp_cos_coeff, kCos)

API(void, tpu_bdc_fp_exp,
    (local_addr_t dst, local_addr_t src, local_addr_t work0, local_addr_t work1, local_addr_t coeff, const dim4* shape,
     data_type_t type)) COMMAND(tensor, {
  const Rounded r{type};
  Function(dst, src, {work0, work1}, {{coeff, kExp}}, shape, type, true).run(kExpSteps, [r](float x) { return r.exp(x); });
})
API(void, tpu_bdc_fp_expm1,
    (local_addr_t dst, local_addr_t src, local_addr_t work0, local_addr_t work1, local_addr_t coeff, const dim4* shape,
     data_type_t type)) COMMAND(tensor, {
  const Rounded r{type};
  Function(dst, src, {work0, work1}, {{coeff, kExp}}, shape, type, true)
      .run(kExpm1Steps, [r](float x) { return r.exp(x) - 1.f; });
})
API(void, tpu_bdc_fp_log,
    (local_addr_t dst, local_addr_t src, local_addr_t work, local_addr_t coeff, const dim4* shape, data_type_t type))
COMMAND(tensor, {
  const Rounded r{type};
  Function(dst, src, {work}, {{coeff, kLog}}, shape, type, false).run(kLogSteps, [r, type](float x) {
    if (type == DT_FP32 && bits_of_float(x) == 0) return -std::numeric_limits<float>::infinity();
    if (!(x > r.least())) return std::log(r.least());
    return std::log(x);
  });
})
API(void, tpu_bdc_fp_sigmoid,
    (local_addr_t dst, local_addr_t src, local_addr_t work0, local_addr_t work1, local_addr_t coeff, local_addr_t,
     const dim4* shape, data_type_t type)) COMMAND(tensor, {
  const Rounded r{type};
  Function(dst, src, {work0, work1}, {{coeff, kExp}}, shape, type, true)
      .run(kSigmoidSteps, [r](float x) { return r.sigmoid(x); });
})
API(void, tpu_bdc_fp_silu,
    (local_addr_t dst, local_addr_t src, local_addr_t work0, local_addr_t work1, local_addr_t coeff, local_addr_t,
     const dim4* shape, data_type_t type)) COMMAND(tensor, {
  const Rounded r{type};
  Function(dst, src, {work0, work1}, {{coeff, kExp}}, shape, type, false)
      .run(kSiluSteps, [r](float x) { return x * r.sigmoid(x); });
})
API(void, tpu_bdc_fp_tanh,
    (local_addr_t dst, local_addr_t src, local_addr_t work0, local_addr_t work1, local_addr_t coeff, const dim4* shape,
     data_type_t type)) COMMAND(tensor, {
  const Rounded r{type};
  Function(dst, src, {work0, work1}, {{coeff, kExp}}, shape, type, true)
      .run(kTanhSteps, [r](float x) { return 1.f - r.quotient(2.f, r(r.exp(2.f * x) + 1.f)); });
})
API(void, tpu_bdc_fp_erf,
    (local_addr_t dst, local_addr_t src, local_addr_t work0, local_addr_t work1, local_addr_t work2,
     local_addr_t exp_coeff, local_addr_t erf_coeff, const dim4* shape, data_type_t type)) COMMAND(tensor, {
  Function(dst, src, {work0, work1, work2}, {{exp_coeff, kExp}, {erf_coeff, kErf}}, shape, type, false)
      .run(kErfSteps, [](float x) { return std::erf(x); });
})
API(void, tpu_bdc_fp_gelu,
    (local_addr_t dst, local_addr_t src, local_addr_t work0, local_addr_t work1, local_addr_t work2, local_addr_t work3,
     local_addr_t exp_coeff, local_addr_t erf_coeff, const dim4* shape, data_type_t type)) COMMAND(tensor, {
  const Rounded r{type};
  Function(dst, src, {work0, work1, work2, work3}, {{exp_coeff, kExp}, {erf_coeff, kErf}}, shape, type, false)
      .run(kGeluSteps, [r](float x) { return x * r(0.5f * r(1.f + r(std::erf(x * 0.70710678118654752f)))); });
})
API(void, tpu_bdc_fp_sin,
    (local_addr_t dst, local_addr_t src, local_addr_t work, local_addr_t coeff, const dim4* shape, data_type_t type))
COMMAND(tensor, {
  const Rounded r{type};
  Function(dst, src, {work}, {{coeff, kSin}}, shape, type, false)
      .run(kSinSteps, [r](float x) { return float(std::sin(6.283185307179586 * turn_of(x, r))); });
})
API(void, tpu_bdc_fp_cos,
    (local_addr_t dst, local_addr_t src, local_addr_t work, local_addr_t coeff, const dim4* shape, data_type_t type))
COMMAND(tensor, {
  const Rounded r{type};
  Function(dst, src, {work}, {{coeff, kCos}}, shape, type, false)
      .run(kCosSteps, [r](float x) { return float(std::cos(6.283185307179586 * turn_of(x, r))); });
})

// Aligned layout only, no work buffers.
API(void, tpu_bdc_fp_rsqrt, (local_addr_t dst, local_addr_t src, const dim4* shape, data_type_t type))
COMMAND(tensor, {
  Function(dst, src, {}, {}, shape, type, true).run(kRsqrtSteps, [](float x) { return 1.f / std::sqrt(x); });
})
API(void, tpu_bdc_fp_sqrt, (local_addr_t dst, local_addr_t src, const dim4* shape, data_type_t type))
COMMAND(tensor, {
  Function(dst, src, {}, {}, shape, type, true).run(kSqrtSteps, [](float x) {
    return std::isinf(x) ? std::numeric_limits<float>::quiet_NaN() : std::sqrt(x);
  });
})
