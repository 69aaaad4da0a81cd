// Comparisons: to a value where they hold and 0 elsewhere, or choosing between two operands.
#include <cstring>

#include "calls.h"
#include "elementwise.h"

using namespace sim;

namespace {

// a, b: the values, of floats with subnormal ones as 0. same: their bits are. A NaN is greater than nothing and nothing
// than it, less than anything and anything than it, unless their bits are the same; -0 is not equal to 0 (measured on
// BM1690's CModel). commands: that the vendor's function expands to.
struct Greater { static constexpr int commands = 1; template <class T> bool operator()(T a, T b, bool) const { return a > b; } };
struct Equal { static constexpr int commands = 1; template <class T> bool operator()(T, T, bool same) const { return same; } };
struct Less { static constexpr int commands = 1; template <class T> bool operator()(T a, T b, bool same) const { return !(a >= b) && !same; } };
struct GreaterEqual { static constexpr int commands = 2; template <class T> bool operator()(T a, T b, bool same) const { return a >= b || same; } };
struct LessEqual { static constexpr int commands = 2; template <class T> bool operator()(T a, T b, bool) const { return !(a > b); } };
struct NotEqual { static constexpr int commands = 2; template <class T> bool operator()(T, T, bool same) const { return !same; } };

// dst[i] = holds(a[i], b[i], whether their bits are the same) ? yes[i] : no[i], elements of dst as bytes.
template <class T, class Op>
void choose(const View& dst, const View& a, const View& b, const View& yes, const View& no, Op holds) {
  T x[kChunk], y[kChunk];
  const int size = dst.size;
  each_row(dst.shape, {&dst, &a, &b, &yes, &no}, [&](int n, int c, int h, int64_t count) {
    for (const View* view : {&a, &b, &yes, &no}) note_read(*view, n, c, h, count);
    note_write(dst, n, c, h, count);
    const auto place = [&](const View& v) { return v.constant ? 0 : v.offset(n, c, h); };
    const uint64_t at_a = place(a), at_b = place(b), at_yes = place(yes), at_no = place(no);
    uint8_t* to = bytes_at(dst.offset(n, c, h));
    const auto element = [](const View& v, uint64_t at, int64_t i) {
      return v.constant ? reinterpret_cast<const uint8_t*>(&v.value) : bytes_at(at) + i * v.stride.w * v.size;
    };
    for (int64_t first = 0; first < count; first += kChunk) {
      const int part = int(std::min<int64_t>(kChunk, count - first));
      fetch(a, at_a, int(first), part, x);
      fetch(b, at_b, int(first), part, y);
      for (int i = 0; i < part; ++i) {
        const bool same = !std::memcmp(element(a, at_a, first + i), element(b, at_b, first + i), a.size);
        const uint8_t* from = holds(x[i], y[i], same) ? element(yes, at_yes, first + i) : element(no, at_no, first + i);
        std::memmove(to + (first + i) * dst.stride.w * size, from, size);
      }
    }
  });
}

template <class Op>
void compare(const View& dst, const View& a, const View& b, const View& yes, const View& no, Op op) {
  if (a.type != b.type) fail("dtype", "the operands of a comparison differ in type");
  check_elementwise(dst, {&a, &b, &yes, &no});
  if (is_float(a.type)) {
    choose<float>(dst, a, b, yes, no, op);
  } else {
    want_integer(a.type);
    choose<int64_t>(dst, a, b, yes, no, op);
  }
  spend_vector(dst.shape, dst.lane, std::max(dst.size, a.size) * 8, Op::commands);
}

View operand(const char* role, const variable_t* variable, const dim4& shape, data_type_t type) {
  if (!variable) fail("argument", text("%s is NULL", role));
  if (variable->type == SCALAR) return constant_view(role, variable->context.scalar, type, shape);
  if (variable->type != TENSOR) fail("unsupported", text("%s is a VECTOR, which the simulator has not", role));
  return tensor_view(role, variable->context.addr, shape, nullptr, type);
}

template <class Op>
void select(local_addr_t dst, const variable_t* const (&given)[4], const dim4* shape, data_type_t compared,
            data_type_t type, Op op) {
  check_shape(shape);
  const View to = tensor_view("dst", dst, *shape, nullptr, type);
  compare(to, operand("src0", given[0], *shape, compared), operand("src1", given[1], *shape, compared),
          operand("src2", given[2], *shape, type), operand("src3", given[3], *shape, type), op);
}

scalar_t zero() {
  scalar_t value;
  std::memset(&value, 0, sizeof value);
  return value;
}

}  // namespace

#define COMPARE(name, op)                                                                                              \
  API(void, tpu_bdc_##name,                                                                                            \
      (local_addr_t dst, local_addr_t src0, local_addr_t src1, scalar_t yes, const dim4* shape,                        \
       const dim4* dst_stride, const dim4* src0_stride, const dim4* src1_stride, data_type_t dst_type,                 \
       data_type_t type)) COMMAND(tensor, {                                                                            \
    check_shape(shape);                                                                                                \
    compare(tensor_view("dst", dst, *shape, dst_stride, dst_type), tensor_view("src0", src0, *shape, src0_stride, type), \
            tensor_view("src1", src1, *shape, src1_stride, type), constant_view("true_val", yes, dst_type, *shape),    \
            constant_view("0", zero(), dst_type, *shape), op());                                                       \
  })                                                                                                                   \
  API(void, tpu_bdc_##name##_C,                                                                                        \
      (local_addr_t dst, local_addr_t src, scalar_t C, scalar_t yes, const dim4* shape, const dim4* dst_stride,        \
       const dim4* src_stride, data_type_t dst_type, data_type_t type)) COMMAND(tensor, {                              \
    check_shape(shape);                                                                                                \
    compare(tensor_view("dst", dst, *shape, dst_stride, dst_type), tensor_view("src", src, *shape, src_stride, type),  \
            constant_view("C", C, type, *shape), constant_view("true_val", yes, dst_type, *shape),                     \
            constant_view("0", zero(), dst_type, *shape), op());                                                       \
  })
COMPARE(greater, Greater)
COMPARE(less, Less)
COMPARE(equal, Equal)
COMPARE(greater_equal, GreaterEqual)
COMPARE(less_equal, LessEqual)
COMPARE(not_equal, NotEqual)

#define SELECT(name, op)                                                                                            \
  API(void, tpu_bdc_##name##_select,                                                                                \
      (local_addr_t dst, const variable_t* src0, const variable_t* src1, const variable_t* src2,                    \
       const variable_t* src3, const dim4* shape, data_type_t compared, data_type_t type)) COMMAND(tensor, {        \
    select(dst, {src0, src1, src2, src3}, shape, compared, type, op());                                             \
  })
SELECT(greater, Greater)
SELECT(less, Less)
SELECT(equal, Equal)
