// Products of floating-point matrices.
#include "matrix.h"

#include <vector>

#include "calls.h"
#include "elementwise.h"

namespace sim {
namespace {

View matrix_view(const char* role, local_addr_t address, int rows, int columns, data_type_t type) {
  const dim4 shape{1, rows, 1, columns};
  check_shape(&shape);
  const View view = tensor_view(role, address, shape, nullptr, type);
  if (view.lane)
    fail("lane", text("%s of a product does not start in lane 0", role), text("lane %d", view.lane), "lane 0",
         "copy it there by tpu_bdc_cpy_cross_npu or tpu_gdma_cpy_L2L");
  return view;
}

void check_types(const Product& p) {
  const data_type_t in = p.left_type, out = p.out_type;
  if (is_fp8(in) != is_fp8(p.right_type) || (!is_fp8(in) && in != p.right_type))
    fail("dtype", "the operands of a product differ in type", name_of(in) + " and " + name_of(p.right_type));
  if (in == DT_FP32 || in == DT_TF32)
    fail("dtype", "the matrix unit takes no fp32 inputs", name_of(in), "DT_FP16, DT_BFP16, or fp8 by tpu_bdc_fp8_mm",
         "tpu_bdc_fp32_mm multiplies fp32, in the matrix layout");
  if (!is_float(in)) fail("dtype", "a product of floats with other operands", name_of(in));
  const bool fits = out == DT_FP32 || (is_fp8(in) ? out == DT_FP16 || is_fp8(out) : out == in);
  if (!fits)
    fail("dtype", "a product cannot be written in this type", name_of(out),
         is_fp8(in) ? "DT_FP32, DT_FP16, fp8" : "DT_FP32, or the type of the operands");
  if (p.add && out != DT_FP32)
    fail("dtype", "adding to the result needs an fp32 result", name_of(out), "DT_FP32",
         "add up in fp32 and cast at the end");
}

// A matrix of channels as rows of floats, transposed or not.
std::vector<float> unpack(const View& view, bool transposed) {
  const int rows = view.shape.c, columns = view.shape.w;
  std::vector<float> all(size_t(rows) * columns), row(transposed ? columns : 0);
  for (int r = 0; r < rows; ++r) {
    note_read(view, 0, r, 0, columns);
    float* to = transposed ? row.data() : all.data() + size_t(r) * columns;
    load(view.type, bytes_at(view.offset(0, r, 0)), view.size, columns, to);
    if (transposed)
      for (int c = 0; c < columns; ++c) all[size_t(c) * rows + r] = row[c];
  }
  return all;
}

// c[rows][columns] += a[rows][depth] * b[depth][columns], products added one after the other, in float.
void accumulate(const float* a, const float* b, float* c, int rows, int depth, int columns) {
  constexpr int kWide = 512, kDeep = 64;
  for (int j0 = 0; j0 < columns; j0 += kWide) {
    const int wide = std::min(kWide, columns - j0);
    for (int k0 = 0; k0 < depth; k0 += kDeep) {
      const int deep = std::min(depth, k0 + kDeep);
      for (int i = 0; i < rows; ++i) {
        float* to = c + size_t(i) * columns + j0;
        for (int k = k0; k < deep; ++k) {
          const float factor = a[size_t(i) * depth + k];
          const float* from = b + size_t(k) * columns + j0;
          for (int j = 0; j < wide; ++j) to[j] += factor * from[j];
        }
      }
    }
  }
}

void spend_product(int rows, int depth, int columns, int bits) {
  const Chip& chip = device->chip;
  const auto parts = [](int64_t whole, int64_t part) { return double((whole + part - 1) / part); };
  const double cycles =
      parts(rows, chip.lanes) * parts(columns, chip.cube_columns) * parts(depth, chip.depth(bits)) * chip.vector_cycle;
  core->counts.matrix_cycles += cycles;
  spend(Engine::tensor, cycles);
}

}  // namespace

void multiply(const Product& p) {
  check_types(p);
  const View left = p.left_trans ? matrix_view("left", p.left, p.depth, p.rows, p.left_type)
                                 : matrix_view("left", p.left, p.rows, p.depth, p.left_type);
  const View right = p.right_trans ? matrix_view("right", p.right, p.columns, p.depth, p.right_type)
                                   : matrix_view("right", p.right, p.depth, p.columns, p.right_type);
  const View out = matrix_view("output", p.out, p.rows, p.columns, p.out_type);
  no_partial_overlap(out, {&left, &right});
  if (out.byte == left.byte || out.byte == right.byte)
    fail("overlap", "the result of a product lies on an operand", text("0x%x", p.out), "memory of its own");
  count_banks({&out, &left, &right});
  const std::vector<float> a = unpack(left, p.left_trans), b = unpack(right, p.right_trans);
  std::vector<float> c = p.add ? unpack(out, false) : std::vector<float>(size_t(p.rows) * p.columns, 0.f);
  accumulate(a.data(), b.data(), c.data(), p.rows, p.depth, p.columns);
  for (float& value : c) {
    value *= p.scale;
    if (p.relu && value < 0) value = 0;
  }
  for (int r = 0; r < p.rows; ++r) {
    note_write(out, 0, r, 0, p.columns);
    store(out.type, bytes_at(out.offset(0, r, 0)), out.size, p.columns, c.data() + size_t(r) * p.columns);
  }
  spend_product(p.rows, p.depth, p.columns, left.size * 8);
}

}  // namespace sim

using namespace sim;

API(void, tpu_bdc_fp_mm,
    (local_addr_t out, local_addr_t left, local_addr_t right, int rows, int depth, int columns, data_type_t out_type,
     data_type_t type, bool add)) COMMAND(tensor, {
  multiply({out, left, right, rows, depth, columns, out_type, type, type, false, false, add});
})
API(void, tpu_bdc_fp_mm_R_trans,
    (local_addr_t out, local_addr_t left, local_addr_t right, int rows, int depth, int columns, data_type_t out_type,
     data_type_t type)) COMMAND(tensor, {
  multiply({out, left, right, rows, depth, columns, out_type, type, type, false, true});
})
// The result is stored transposed: out[right_rows][left_columns] = right * left.
API(void, tpu_bdc_fp_mm_all_trans,
    (local_addr_t out, local_addr_t left, local_addr_t right, int left_rows, int left_columns, int right_rows,
     data_type_t out_type, data_type_t type, bool add)) COMMAND(tensor, {
  multiply({out, right, left, right_rows, left_rows, left_columns, out_type, type, type, false, false, add});
})

static void with_bias(Product p, data_type_t bias_type, bool bias_is_const, var_context_t bias, bool relu) {
  if (bias_type != DT_FP32 && bias_type != p.left_type)
    fail("dtype", "a bias of this type", name_of(bias_type), "DT_FP32, or the type of the operands");
  if (!bias_is_const || float_of(bias.scalar, bias_type) != 0.f)
    fail("unsupported", "the simulator has no product with a bias", "",
         "bias_is_const true and a constant of 0", "add the bias by tpu_bdc_fp_add");
  p.relu = relu;
  multiply(p);
}
API(void, tpu_bdc_fp_mm_with_bias,
    (local_addr_t out, local_addr_t left, local_addr_t right, int rows, int depth, int columns, data_type_t out_type,
     data_type_t type, data_type_t bias_type, bool add, bool bias_is_const, var_context_t bias, bool relu))
COMMAND(tensor, {
  with_bias({out, left, right, rows, depth, columns, out_type, type, type, false, false, add}, bias_type, bias_is_const,
            bias, relu);
})
API(void, tpu_bdc_fp_mm_R_trans_with_bias,
    (local_addr_t out, local_addr_t left, local_addr_t right, int rows, int depth, int columns, data_type_t out_type,
     data_type_t type, data_type_t bias_type, bool add, bool bias_is_const, var_context_t bias, bool relu))
COMMAND(tensor, {
  with_bias({out, left, right, rows, depth, columns, out_type, type, type, false, true, add}, bias_type, bias_is_const,
            bias, relu);
})

static float rescale(bool wanted, bool constant, var_context_t by) {
  if (!wanted) return 1;
  if (!constant) fail("unsupported", "the simulator rescales a product only by a constant");
  return by.scalar.f32;
}
API(void, tpu_bdc_fp8_mm,
    (local_addr_t out, local_addr_t left, local_addr_t right, int rows, int depth, int columns, data_type_t out_type,
     data_type_t left_type, data_type_t right_type, bool add, bool scaled, bool constant, var_context_t by))
COMMAND(tensor, {
  multiply({out, left, right, rows, depth, columns, out_type, left_type, right_type, false, false, add, false,
            rescale(scaled, constant, by)});
})
API(void, tpu_bdc_fp8_mm_R_trans,
    (local_addr_t out, local_addr_t left, local_addr_t right, int rows, int depth, int columns, data_type_t out_type,
     data_type_t left_type, data_type_t right_type, bool add, bool scaled, bool constant, var_context_t by))
COMMAND(tensor, {
  multiply({out, left, right, rows, depth, columns, out_type, left_type, right_type, false, true, add, false,
            rescale(scaled, constant, by)});
})
API(void, tpu_bdc_fp8_mm_all_trans,
    (local_addr_t out, local_addr_t left, local_addr_t right, int left_rows, int left_columns, int right_rows,
     data_type_t out_type, data_type_t left_type, data_type_t right_type, bool add, bool scaled, bool constant,
     var_context_t by)) COMMAND(tensor, {
  multiply({out, right, left, right_rows, left_rows, left_columns, out_type, right_type, left_type, false, false, add,
            false, rescale(scaled, constant, by)});
})
