// Integer arithmetic, shifts and bits.
#include <type_traits>

#include "arithmetic.h"
#include "calls.h"
#include "elementwise.h"

using namespace sim;

namespace {

struct Rest {
  int shift;  // of the result: negative to the right
  rounding_mode_t mode;
  bool saturation;
};

struct IntegerAdd { int64_t operator()(int64_t a, int64_t b) const { return a + b; } };
struct IntegerSubtract { int64_t operator()(int64_t a, int64_t b) const { return a - b; } };
struct IntegerMultiply { int64_t operator()(int64_t a, int64_t b) const { return a * b; } };
struct And { int64_t operator()(int64_t a, int64_t b) const { return a & b; } };
struct Or { int64_t operator()(int64_t a, int64_t b) const { return a | b; } };
struct Xor { int64_t operator()(int64_t a, int64_t b) const { return a ^ b; } };

// The result is shifted, rounded, and saturated or cut to its bits.
template <class Op>
void arithmetic(const View& dst, const View& a, const View& b, Op op, Rest rest) {
  for (const View* view : {&dst, &a, &b}) want_integer(view->type);
  if (std::is_same<Op, IntegerSubtract>::value && !is_signed(dst.type))
    fail("dtype", "a difference in an unsigned type", name_of(dst.type), "a signed type");
  check_elementwise(dst, {&a, &b});
  const data_type_t type = dst.type;
  apply<int64_t>(dst, {&a, &b}, [=](int64_t* out, const int64_t* x, const int64_t* y, const int64_t*, int count) {
    for (int i = 0; i < count; ++i) {
      int64_t value = op(x[i], y[i]);
      if (rest.shift) value = shift_right(value, -rest.shift, rest.mode);
      out[i] = rest.saturation ? clamp_into(type, value) : value;
    }
  });
  spend_vector(dst.shape, dst.lane, std::max({dst.size, a.size, b.size}) * 8);
}

template <class Op>
void bits(const View& dst, const View& a, const View& b, Op op) {
  if (!is_integer(dst.type)) fail("dtype", "bits of a floating type", name_of(dst.type), "an integer type of that size");
  arithmetic(dst, a, b, op, {0, RM_HALF_TO_EVEN, false});
}

// Amounts are signed: to the left where positive.
void shift(const View& dst, const View& a, const View& by, rounding_mode_t mode, bool logical) {
  for (const View* view : {&dst, &a, &by}) want_integer(view->type);
  if (logical && (is_signed(a.type) || is_signed(dst.type)))
    fail("dtype", "a logical shift of a signed type", name_of(a.type), "an unsigned type of that size");
  if (!is_signed(by.type)) fail("dtype", "a shift's amount has no sign", name_of(by.type), "a signed type");
  if (by.size > a.size) fail("dtype", "a shift's amount is wider than what it shifts", name_of(by.type), name_of(a.type));
  check_elementwise(dst, {&a, &by});
  const int width = a.size * 8;
  const uint64_t mask = (uint64_t(1) << width) - 1;
  apply<int64_t>(dst, {&a, &by}, [=](int64_t* out, const int64_t* x, const int64_t* y, const int64_t*, int count) {
    for (int i = 0; i < count; ++i) {
      const int64_t value = logical ? int64_t(uint64_t(x[i]) & mask) : x[i];
      out[i] = y[i] >= 0 ? (y[i] >= 64 ? 0 : int64_t(uint64_t(value) << y[i])) : shift_right(value, int(-y[i]), mode);
    }
  });
  spend_vector(dst.shape, dst.lane, std::max(dst.size, a.size) * 8);
}

View constant_shift(char by, const dim4& shape) {
  scalar_t value = {};
  value.s8 = by;
  return constant_view("C", value, DT_INT8, shape);
}

}  // namespace

#define INTEGER(name, op)                                                                                            \
  API(void, tpu_bdc_##name,                                                                                          \
      (local_addr_t dst, local_addr_t src0, local_addr_t src1, const dim4* shape, const dim4* dst_stride,            \
       const dim4* src0_stride, const dim4* src1_stride, data_type_t dst_type, data_type_t src0_type,                \
       data_type_t src1_type, char shift, rounding_mode_t mode, bool saturation)) COMMAND(tensor, {                  \
    check_shape(shape);                                                                                              \
    arithmetic(tensor_view("dst", dst, *shape, dst_stride, dst_type),                                                \
               tensor_view("src0", src0, *shape, src0_stride, src0_type),                                            \
               tensor_view("src1", src1, *shape, src1_stride, src1_type), op(), {shift, mode, saturation});          \
  })
#define INTEGER_C(name, reversed, op)                                                                                \
  API(void, tpu_bdc_##name,                                                                                          \
      (local_addr_t dst, local_addr_t src, scalar_t C, const dim4* shape, const dim4* dst_stride,                    \
       const dim4* src_stride, data_type_t dst_type, data_type_t src_type, data_type_t C_type, char shift,           \
       rounding_mode_t mode, bool saturation)) COMMAND(tensor, {                                                     \
    check_shape(shape);                                                                                              \
    const View to = tensor_view("dst", dst, *shape, dst_stride, dst_type);                                           \
    const View a = tensor_view("src", src, *shape, src_stride, src_type);                                            \
    const View b = constant_view("C", C, C_type, *shape);                                                            \
    arithmetic(to, reversed ? b : a, reversed ? a : b, op(), {shift, mode, saturation});                             \
  })
INTEGER(int_add, IntegerAdd)
INTEGER(int_sub, IntegerSubtract)
INTEGER(int_mul, IntegerMultiply)
INTEGER_C(int_add_C, false, IntegerAdd)
INTEGER_C(int_sub_C, false, IntegerSubtract)
INTEGER_C(int_C_sub, true, IntegerSubtract)
INTEGER_C(int_mul_C, false, IntegerMultiply)

#define BITS(name, op)                                                                                                 \
  API(void, tpu_bdc_##name,                                                                                            \
      (local_addr_t dst, local_addr_t src0, local_addr_t src1, const dim4* shape, const dim4* dst_stride,              \
       const dim4* src0_stride, const dim4* src1_stride, data_type_t type)) COMMAND(tensor, {                          \
    check_shape(shape);                                                                                                \
    bits(tensor_view("dst", dst, *shape, dst_stride, type), tensor_view("src0", src0, *shape, src0_stride, type),      \
         tensor_view("src1", src1, *shape, src1_stride, type), op());                                                  \
  })                                                                                                                   \
  API(void, tpu_bdc_##name##_C,                                                                                        \
      (local_addr_t dst, local_addr_t src, scalar_t C, const dim4* shape, const dim4* dst_stride,                      \
       const dim4* src_stride, data_type_t type)) COMMAND(tensor, {                                                    \
    check_shape(shape);                                                                                                \
    bits(tensor_view("dst", dst, *shape, dst_stride, type), tensor_view("src", src, *shape, src_stride, type),         \
         constant_view("C", C, type, *shape), op());                                                                   \
  })
BITS(and, And)
BITS(or, Or)
BITS(xor, Xor)

API(void, tpu_bdc_not,
    (local_addr_t dst, local_addr_t src, const dim4* shape, const dim4* dst_stride, const dim4* src_stride,
     data_type_t type)) COMMAND(tensor, {
  unary_integers(dst, src, shape, dst_stride, src_stride, type, [](int64_t x) { return ~x; });
})

#define SHIFT(name, logical)                                                                                         \
  API(void, tpu_bdc_##name,                                                                                          \
      (local_addr_t dst, local_addr_t src, local_addr_t by, const dim4* shape, const dim4* dst_stride,               \
       const dim4* src_stride, const dim4* by_stride, data_type_t dst_type, data_type_t src_type,                    \
       data_type_t by_type, rounding_mode_t mode)) COMMAND(tensor, {                                                 \
    check_shape(shape);                                                                                              \
    shift(tensor_view("dst", dst, *shape, dst_stride, dst_type),                                                     \
          tensor_view("src", src, *shape, src_stride, src_type),                                                     \
          tensor_view("shift", by, *shape, by_stride, by_type), mode, logical);                                      \
  })                                                                                                                 \
  API(void, tpu_bdc_##name##_C,                                                                                      \
      (local_addr_t dst, local_addr_t src, char by, const dim4* shape, const dim4* dst_stride,                       \
       const dim4* src_stride, data_type_t dst_type, data_type_t src_type, rounding_mode_t mode)) COMMAND(tensor, {  \
    check_shape(shape);                                                                                              \
    shift(tensor_view("dst", dst, *shape, dst_stride, dst_type),                                                     \
          tensor_view("src", src, *shape, src_stride, src_type), constant_shift(by, *shape), mode, logical);         \
  })
SHIFT(arithmetic_shift, false)
SHIFT(logical_shift, true)
