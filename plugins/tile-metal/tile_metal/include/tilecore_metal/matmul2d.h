// Products by the matrix unit of apple10, which matmul2d of MSL 4 reaches (macOS 26.2 or later). A lane has the elements
// that tile_metal/lowering/matmul2d.py says.
#pragma once

#if __METAL_VERSION__ >= 400
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
// d += a * b, by all lanes of a simdgroup: 16 x 32 x 16. Factor: the type in which the elements are multiplied.
// TransposedA, TransposedB: the elements of a lane are those of the operand as it is stored, by columns.
// Factors of 16 bits are multiplied exactly in any mode; float is not to be rounded to fewer bits.
template <typename Factor, bool TransposedA, bool TransposedB, typename A, typename B>
TC_FN void tc_matmul2d(thread float* d, const thread A* a, const thread B* b) {
  constexpr auto product = mpp::tensor_ops::matmul2d_descriptor(
      16, 32, 16, TransposedA, TransposedB, sizeof(Factor) == 2,
      mpp::tensor_ops::matmul2d_descriptor::mode::multiply_accumulate);
  mpp::tensor_ops::matmul2d<product, metal::execution_simdgroup> operation;
  auto left = operation.template get_left_input_cooperative_tensor<Factor, Factor, float>();
  auto right = operation.template get_right_input_cooperative_tensor<Factor, Factor, float>();
  auto sums = operation.template get_destination_cooperative_tensor<
      metal::remove_addrspace_t<decltype(left)>, metal::remove_addrspace_t<decltype(right)>, float>();
#pragma unroll
  for (ushort e = 0; e < 8; ++e) left[e] = tc_factor<Factor, A>::of(a[e]);
#pragma unroll
  for (ushort e = 0; e < 16; ++e) {
    right[e] = tc_factor<Factor, B>::of(b[e]);
    sums[e] = d[e];
  }
  operation.run(left, right, sums);
#pragma unroll
  for (ushort e = 0; e < 16; ++e) d[e] = sums[e];
}
#endif
