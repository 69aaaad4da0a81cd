// A product of matrices in the {1, rows, 1, columns} layout: row r of a matrix is its channel r.
#pragma once
#include "views.h"

namespace sim {

struct Product {
  local_addr_t out, left, right;
  int rows, depth, columns;  // of out: rows x columns
  data_type_t out_type, left_type, right_type;
  bool left_trans = false, right_trans = false, add = false, relu = false;
  float scale = 1;
};

void multiply(const Product& p);

}  // namespace sim
