// Products by the other units: fp32 in the matrix layout, int8 in that of rows.
#include <algorithm>
#include <vector>

#include "calls.h"
#include "elementwise.h"
#include "matrix.h"

using namespace sim;

namespace {

// rows x columns, a row a batch, columns in sections of a lane each.
struct Sections {
  View view;
  int rows, columns, section;

  Sections(const char* role, local_addr_t address, int rows, int columns, int section)
      : rows(rows), columns(columns), section(section) {
    if (section < 1) fail("argument", text("columns a channel of %s", role), text("%d", section), "at least 1");
    const dim4 shape{rows, (columns + section - 1) / section, 1, section};
    check_shape(&shape);
    view = tensor_view(role, address, shape, nullptr, DT_FP32);
  }
  template <class F>
  void each(F body) const {  // body(first element of the row's part, offset, count)
    for (int r = 0; r < rows; ++r)
      for (int s = 0; s < view.shape.c; ++s) {
        const int first = s * section;
        body(size_t(r) * columns + first, view.offset(r, s, 0), std::min(section, columns - first));
      }
  }
  std::vector<float> unpack() const {
    std::vector<float> all(size_t(rows) * columns);
    each([&](size_t at, uint64_t offset, int count) {
      core->local->reads(offset, 4, count, 4);
      load(DT_FP32, bytes_at(offset), 4, count, &all[at]);
    });
    return all;
  }
  void pack(const std::vector<float>& all) const {
    each([&](size_t at, uint64_t offset, int count) {
      core->local->writes(offset, 4, count, 4);
      store(DT_FP32, bytes_at(offset), 4, count, &all[at]);
    });
  }
};

void spend_matrix(double cycles) {
  cycles *= device->chip.vector_cycle;
  core->counts.matrix_cycles += cycles;
  spend(Engine::tensor, cycles);
}

void multiply_fp32(local_addr_t out, local_addr_t left, local_addr_t right, local_addr_t bias, int left_rows,
                   int left_columns, int right_columns, int left_section, int right_section, bool has_bias, bool add,
                   bool left_trans) {
  const int rows = left_trans ? left_columns : left_rows, depth = left_trans ? left_rows : left_columns;
  const Sections a("left", left, left_rows, left_columns, left_section);
  const Sections b("right", right, depth, right_columns, right_section), c("output", out, rows, right_columns, right_section);
  same_lane({&c.view, &b.view});
  no_partial_overlap(c.view, {&a.view, &b.view});
  std::vector<float> offset(right_columns, 0.f);
  if (has_bias) offset = Sections("bias", bias, 1, right_columns, right_section).unpack();
  const std::vector<float> x = a.unpack(), y = b.unpack();
  std::vector<float> z = add ? c.unpack() : std::vector<float>(size_t(rows) * right_columns, 0.f);
  for (int i = 0; i < rows; ++i) {
    float* row = &z[size_t(i) * right_columns];
    if (has_bias)
      for (int j = 0; j < right_columns; ++j) row[j] += offset[j];
    for (int k = 0; k < depth; ++k) {
      const float factor = left_trans ? x[size_t(k) * rows + i] : x[size_t(i) * depth + k];
      const float* from = &y[size_t(k) * right_columns];
      for (int j = 0; j < right_columns; ++j) row[j] += factor * from[j];
    }
  }
  c.pack(z);
  // a lane multiplies its columns of a row by one element of left in a cycle for each eu_bytes of them
  const int units = device->chip.eu_count(32);
  spend_matrix(double(rows) * depth * c.view.groups() * ((right_section + units - 1) / units));
}

std::vector<int64_t> bytes_of(const View& view) {
  std::vector<int64_t> all(size_t(view.shape.c) * view.shape.w);
  for (int r = 0; r < view.shape.c; ++r) {
    note_read(view, 0, r, 0, view.shape.w);
    load(view.type, bytes_at(view.offset(0, r, 0)), view.size, view.shape.w, &all[size_t(r) * view.shape.w]);
  }
  return all;
}

View rows_view(const char* role, local_addr_t address, int rows, int columns, data_type_t type) {
  const dim4 shape{1, rows, 1, columns};
  check_shape(&shape);
  const View view = tensor_view(role, address, shape, nullptr, type);
  if (view.lane) fail("lane", text("%s of a product does not start in lane 0", role), text("lane %d", view.lane), "lane 0");
  return view;
}

void multiply_int8(local_addr_t out, local_addr_t left, local_addr_t right, scalar_t zero, int rows, int depth, int columns,
                   data_type_t left_type, data_type_t right_type, bool right_trans, bool add) {
  for (data_type_t type : {left_type, right_type})
    if (type != DT_INT8 && type != DT_UINT8) fail("dtype", "an operand of an int8 product", name_of(type), "DT_INT8, DT_UINT8");
  if (left_type != right_type)
    fail("unsupported", "an int8 product of a signed and an unsigned operand", name_of(left_type) + ", " + name_of(right_type),
         "two of one type", "the vendor's library gives another result than the sum of products");
  const View a = rows_view("left", left, rows, depth, left_type);
  const View b = right_trans ? rows_view("right", right, columns, depth, right_type)
                             : rows_view("right", right, depth, columns, right_type);
  const View c = rows_view("output", out, rows, columns, DT_INT32);
  no_partial_overlap(c, {&a, &b});
  const std::vector<int64_t> x = bytes_of(a), y = bytes_of(b);
  std::vector<int64_t> z = add ? bytes_of(c) : std::vector<int64_t>(size_t(rows) * columns, 0);
  const int64_t shift = integer_of(zero, right_type);
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < depth; ++k)
      for (int j = 0; j < columns; ++j)
        z[size_t(i) * columns + j] +=
            x[size_t(i) * depth + k] * (y[right_trans ? size_t(j) * depth + k : size_t(k) * columns + j] - shift);
  for (int r = 0; r < rows; ++r) {
    note_write(c, 0, r, 0, columns);
    store(DT_INT32, bytes_at(c.offset(0, r, 0)), 4, columns, &z[size_t(r) * columns]);
  }
  const Chip& chip = device->chip;
  const auto parts = [](int whole, int part) { return double((whole + part - 1) / part); };
  spend_matrix(parts(rows, chip.lanes) * parts(columns, chip.cube_columns) * parts(depth, chip.depth8));
}

}  // namespace

API(void, tpu_bdc_fp32_mm,
    (local_addr_t out, local_addr_t left, local_addr_t right, local_addr_t bias, int left_rows, int left_columns,
     int right_columns, int left_section, int right_section, bool has_bias, bool add)) COMMAND(tensor, {
  multiply_fp32(out, left, right, bias, left_rows, left_columns, right_columns, left_section, right_section, has_bias, add,
                false);
})
API(void, tpu_bdc_fp32_mm_L_trans,
    (local_addr_t out, local_addr_t left, local_addr_t right, local_addr_t bias, int left_rows, int left_columns,
     int right_columns, int left_section, int right_section, bool has_bias, bool add)) COMMAND(tensor, {
  multiply_fp32(out, left, right, bias, left_rows, left_columns, right_columns, left_section, right_section, has_bias, add,
                true);
})
API(void, tpu_bdc_int8_zp_mm,
    (local_addr_t out, local_addr_t left, local_addr_t right, scalar_t zero, int rows, int depth, int columns,
     data_type_t left_type, data_type_t right_type, bool add)) COMMAND(tensor, {
  multiply_int8(out, left, right, zero, rows, depth, columns, left_type, right_type, false, add);
})
API(void, tpu_bdc_int8_zp_mm_R_trans,
    (local_addr_t out, local_addr_t left, local_addr_t right, scalar_t zero, int rows, int depth, int columns,
     data_type_t left_type, data_type_t right_type)) COMMAND(tensor, {
  multiply_int8(out, left, right, zero, rows, depth, columns, left_type, right_type, true, false);
})
