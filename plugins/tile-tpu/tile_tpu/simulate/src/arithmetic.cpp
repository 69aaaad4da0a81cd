// Arithmetic of floating-point tensors, and what works on every type: max, min, abs, neg.
#include "arithmetic.h"

#include <cmath>

#include "calls.h"
#include "elementwise.h"

namespace sim {

void spend_vector(const dim4& shape, int lane, int bits, double factor) {
  const double cycles = vector_cycles(shape, lane, bits, factor) * device->chip.vector_cycle;
  core->counts.vector_cycles += cycles;
  spend(Engine::tensor, cycles);
}

void check_elementwise(const View& dst, std::initializer_list<const View*> sources) {
  for (const View* source : sources) same_lane({&dst, source});
  written_once(dst);
  no_partial_overlap(dst, sources);
  switch (sources.size()) {
    case 0: break;
    case 1: count_banks({&dst, *sources.begin()}); break;
    default: count_banks({&dst, *sources.begin(), *(sources.begin() + 1)}); break;
  }
}

void want_float(data_type_t type) {
  if (!is_float(type)) fail("dtype", "a floating type is needed", name_of(type));
}
void want_plain_float(data_type_t type) {
  if (type != DT_FP32 && type != DT_FP16 && type != DT_BFP16)
    fail("dtype", "a floating type of 16 or 32 bits is needed", name_of(type), "DT_FP32, DT_FP16, DT_BFP16");
}
void want_integer(data_type_t type) {
  if (!is_integer(type) || bits_of(type) < 8)
    fail("dtype", "an integer type of 8, 16 or 32 bits is needed", name_of(type));
}

namespace {

struct Add {
  template <class T> T operator()(T a, T b) const { return a + b; }
};
struct Subtract {
  template <class T> T operator()(T a, T b) const { return a - b; }
};
struct Multiply {
  template <class T> T operator()(T a, T b) const { return a * b; }
};
struct Divide {
  float operator()(float a, float b) const { return a / b; }
};
// what is not greater: a NaN wins as the second of max and as the first of min (measured on BM1690's CModel)
struct Largest {
  template <class T> T operator()(T a, T b) const { return a > b ? a : b; }
};
struct Smallest {
  template <class T> T operator()(T a, T b) const { return a > b ? b : a; }
};
struct Difference {
  float operator()(float a, float b) const { return std::fabs(a - b); }
};

template <class T, class Op>
void combine(const View& dst, const View& a, const View& b, Op op) {
  apply<T>(dst, {&a, &b}, [op](T* out, const T* x, const T* y, const T*, int count) {
    for (int i = 0; i < count; ++i) out[i] = op(x[i], y[i]);
  });
}

// Half of the functions are of two tensors, half have a constant on one side.
struct Operands {
  View dst, a, b;
};
Operands of_tensors(local_addr_t dst, local_addr_t a, local_addr_t b, const dim4* shape, const dim4* dst_stride,
                    const dim4* a_stride, const dim4* b_stride, data_type_t type) {
  check_shape(shape);
  return {tensor_view("dst", dst, *shape, dst_stride, type), tensor_view("src0", a, *shape, a_stride, type),
          tensor_view("src1", b, *shape, b_stride, type)};
}
Operands of_constant(local_addr_t dst, local_addr_t a, scalar_t c, const dim4* shape, const dim4* dst_stride,
                     const dim4* a_stride, data_type_t type) {
  check_shape(shape);
  return {tensor_view("dst", dst, *shape, dst_stride, type), tensor_view("src", a, *shape, a_stride, type),
          constant_view("C", c, type, *shape)};
}

template <class Op>
void on_floats(const Operands& o, Op op, double factor = 1, bool reversed = false) {
  want_float(o.dst.type);
  check_elementwise(o.dst, {&o.a, &o.b});
  combine<float>(o.dst, reversed ? o.b : o.a, reversed ? o.a : o.b, op);
  spend_vector(o.dst.shape, o.dst.lane, o.dst.size * 8, factor);
}
template <class Op>
void on_all(const Operands& o, Op op) {
  if (is_float(o.dst.type)) return on_floats(o, op);
  want_integer(o.dst.type);
  check_elementwise(o.dst, {&o.a, &o.b});
  combine<int64_t>(o.dst, o.a, o.b, op);
  spend_vector(o.dst.shape, o.dst.lane, o.dst.size * 8);
}

}  // namespace

void unary_floats(local_addr_t dst, local_addr_t src, const dim4* shape, const dim4* dst_stride, const dim4* src_stride,
                  data_type_t type, float (*op)(float), double factor, Alignment alignment) {
  check_shape(shape);
  want_float(type);
  const View to = tensor_view("dst", dst, *shape, dst_stride, type, alignment);
  const View from = tensor_view("src", src, *shape, src_stride, type, alignment);
  check_elementwise(to, {&from});
  apply<float>(to, {&from}, [op](float* out, const float* x, const float*, const float*, int count) {
    for (int i = 0; i < count; ++i) out[i] = op(x[i]);
  });
  spend_vector(*shape, to.lane, to.size * 8, factor);
}

void unary_integers(local_addr_t dst, local_addr_t src, const dim4* shape, const dim4* dst_stride,
                    const dim4* src_stride, data_type_t type, int64_t (*op)(int64_t)) {
  check_shape(shape);
  want_integer(type);
  const View to = tensor_view("dst", dst, *shape, dst_stride, type);
  const View from = tensor_view("src", src, *shape, src_stride, type);
  check_elementwise(to, {&from});
  apply<int64_t>(to, {&from}, [op](int64_t* out, const int64_t* x, const int64_t*, const int64_t*, int count) {
    for (int i = 0; i < count; ++i) out[i] = op(x[i]);
  });
  spend_vector(*shape, to.lane, to.size * 8);
}

}  // namespace sim

using namespace sim;

#define BINARY (local_addr_t dst, local_addr_t src0, local_addr_t src1, const dim4* shape, const dim4* dst_stride, \
                const dim4* src0_stride, const dim4* src1_stride, data_type_t type)
#define WITH_C (local_addr_t dst, local_addr_t src, scalar_t C, const dim4* shape, const dim4* dst_stride, \
                const dim4* src_stride, data_type_t type)
#define UNARY (local_addr_t dst, local_addr_t src, const dim4* shape, const dim4* dst_stride, const dim4* src_stride, \
               data_type_t type)
#define TENSORS of_tensors(dst, src0, src1, shape, dst_stride, src0_stride, src1_stride, type)
#define CONSTANT of_constant(dst, src, C, shape, dst_stride, src_stride, type)

API(void, tpu_bdc_fp_add, BINARY) COMMAND(tensor, { on_floats(TENSORS, Add()); })
API(void, tpu_bdc_fp_add_C, WITH_C) COMMAND(tensor, { on_floats(CONSTANT, Add()); })
API(void, tpu_bdc_fp_sub, BINARY) COMMAND(tensor, { on_floats(TENSORS, Subtract()); })
API(void, tpu_bdc_fp_sub_C, WITH_C) COMMAND(tensor, { on_floats(CONSTANT, Subtract()); })
API(void, tpu_bdc_fp_C_sub, WITH_C) COMMAND(tensor, { on_floats(CONSTANT, Subtract(), 1, true); })
API(void, tpu_bdc_fp_mul, BINARY) COMMAND(tensor, { on_floats(TENSORS, Multiply()); })
API(void, tpu_bdc_fp_mul_C, WITH_C) COMMAND(tensor, { on_floats(CONSTANT, Multiply()); })
API(void, tpu_bdc_fp_diff_abs, BINARY) COMMAND(tensor, { on_floats(TENSORS, Difference()); })
API(void, tpu_bdc_fp_diff_abs_C, WITH_C) COMMAND(tensor, { on_floats(CONSTANT, Difference()); })
// The vendor's functions put the operand with strides of its own first (measured on BM1690's CModel).
#define STRIDES_FIRST if (!src0_stride && src1_stride) std::swap(src0, src1), std::swap(src0_stride, src1_stride)
API(void, tpu_bdc_max, BINARY) COMMAND(tensor, {
  STRIDES_FIRST;
  on_all(TENSORS, Largest());
})
API(void, tpu_bdc_max_C, WITH_C) COMMAND(tensor, { on_all(CONSTANT, Largest()); })
API(void, tpu_bdc_min, BINARY) COMMAND(tensor, {
  STRIDES_FIRST;
  on_all(TENSORS, Smallest());
})
API(void, tpu_bdc_min_C, WITH_C) COMMAND(tensor, { on_all(CONSTANT, Smallest()); })

// Division iterates; kDivision is the factor of the default number of iterations.
static void check_division(data_type_t type, int iterations) {
  want_plain_float(type);
  if (iterations < 0 || iterations > 4)
    fail("argument", "a number of iterations out of range", text("%d", iterations), "0 to 4");
}
API(void, tpu_bdc_fp_div, BINARY) COMMAND(tensor, {
  check_division(type, 3);
  on_floats(TENSORS, Divide(), kDivision);
})
API(void, tpu_bdc_fp_div_C, WITH_C) COMMAND(tensor, {
  check_division(type, 3);
  on_floats(CONSTANT, Divide(), kDivision);
})
API(void, tpu_bdc_fp_C_div, WITH_C) COMMAND(tensor, {
  check_division(type, 3);
  on_floats(CONSTANT, Divide(), kDivision, true);
})
API(void, tpu_bdc_fp_tunable_div,
    (local_addr_t dst, local_addr_t src0, local_addr_t src1, const dim4* shape, const dim4* dst_stride,
     const dim4* src0_stride, const dim4* src1_stride, data_type_t type, int iterations)) COMMAND(tensor, {
  check_division(type, iterations);
  on_floats(TENSORS, Divide(), kDivision + iterations - 3);
})
API(void, tpu_bdc_fp_tunable_div_C,
    (local_addr_t dst, local_addr_t src, scalar_t C, const dim4* shape, const dim4* dst_stride, const dim4* src_stride,
     data_type_t type, int iterations)) COMMAND(tensor, {
  check_division(type, iterations);
  on_floats(CONSTANT, Divide(), kDivision + iterations - 3);
})
API(void, tpu_bdc_fp_tunable_C_div,
    (local_addr_t dst, local_addr_t src, scalar_t C, const dim4* shape, const dim4* dst_stride, const dim4* src_stride,
     data_type_t type, int iterations)) COMMAND(tensor, {
  check_division(type, iterations);
  on_floats(CONSTANT, Divide(), kDivision + iterations - 3, true);
})
API(void, tpu_bdc_fp_reciprocal, UNARY) COMMAND(tensor, {
  check_division(type, 3);
  unary_floats(dst, src, shape, dst_stride, src_stride, type, [](float x) { return 1.f / x; }, kDivision);
})
API(void, tpu_bdc_fp_square, UNARY) COMMAND(tensor, {
  unary_floats(dst, src, shape, dst_stride, src_stride, type, [](float x) { return x * x; });
})
API(void, tpu_bdc_abs, UNARY) COMMAND(tensor, {
  if (is_float(type))
    unary_floats(dst, src, shape, dst_stride, src_stride, type, [](float x) { return std::fabs(x); });
  else
    unary_integers(dst, src, shape, dst_stride, src_stride, type, [](int64_t x) { return x < 0 ? -x : x; });
})
API(void, tpu_bdc_neg, UNARY) COMMAND(tensor, {
  if (is_float(type))
    unary_floats(dst, src, shape, dst_stride, src_stride, type, [](float x) { return -x; });
  else
    unary_integers(dst, src, shape, dst_stride, src_stride, type, [](int64_t x) { return -x; });
})
API(void, tpu_bdc_relu, UNARY) COMMAND(tensor, {
  if (is_float(type))
    unary_floats(dst, src, shape, dst_stride, src_stride, type, [](float x) { return x > 0.f ? x : 0.f; });
  else
    unary_integers(dst, src, shape, dst_stride, src_stride, type, [](int64_t x) { return x > 0 ? x : 0; });
})
API(void, tpu_bdc_fp_floor, UNARY) COMMAND(tensor, {
  unary_floats(dst, src, shape, dst_stride, src_stride, type, [](float x) { return std::floor(x); });
})
API(void, tpu_bdc_fp_ceil, UNARY) COMMAND(tensor, {
  unary_floats(dst, src, shape, dst_stride, src_stride, type, [](float x) { return std::ceil(x); });
})
API(void, tpu_bdc_fp_round,
    (local_addr_t dst, local_addr_t src, const dim4* shape, const dim4* dst_stride, const dim4* src_stride,
     data_type_t type, rounding_mode_t mode)) COMMAND(tensor, {
  static float (*const by_mode[])(float) = {
      [](float x) { return float(round_whole(x, RM_HALF_TO_EVEN)); },
      [](float x) { return float(round_whole(x, RM_HALF_AWAY_FROM_ZERO)); },
      [](float x) { return float(round_whole(x, RM_TOWARDS_ZERO)); },
      [](float x) { return float(round_whole(x, RM_DOWN)); },
      [](float x) { return float(round_whole(x, RM_UP)); },
  };
  if (int(mode) < 0 || int(mode) > 4) fail("argument", "no such rounding mode here", text("%d", int(mode)), "0 to 4");
  unary_floats(dst, src, shape, dst_stride, src_stride, type, by_mode[mode]);
})
