// What several files of functions share.
#pragma once
#include "views.h"

namespace sim {

// Factors: cycles for one result of each execution unit, where an instruction takes more than one.
constexpr double kDivision = 4;  // a Newton iteration a cycle, and the product
constexpr double kTranspose = 1;

void unary_floats(local_addr_t dst, local_addr_t src, const dim4* shape, const dim4* dst_stride, const dim4* src_stride,
                  data_type_t type, float (*op)(float), double factor = 1,
                  Alignment alignment = Alignment::by_stride);
void unary_integers(local_addr_t dst, local_addr_t src, const dim4* shape, const dim4* dst_stride,
                    const dim4* src_stride, data_type_t type, int64_t (*op)(int64_t));

}  // namespace sim
