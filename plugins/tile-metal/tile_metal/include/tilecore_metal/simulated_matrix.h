// Products of a simdgroup on the simulated device: gathers the operands of the lanes by their places in the matrices of
// 8 x 8 (tile_metal/lowering/matrix_instruction.py), and multiplies in plain C++.
#pragma once

namespace tc_metal {
inline int row(int lane) { return lane / 16 * 4 + lane / 2 % 4; }
inline int column(int lane) { return lane / 8 % 2 * 4 + lane % 2 * 2; }
}  // namespace tc_metal

template <class Factor, class A, class B>
inline void tc_multiply_add(float* d, const A* a, const B* b, int line = TC_LINE) {
  struct Operands {
    float a[2], b[2], d[2];
  } operands;
  for (int e = 0; e < 2; ++e) {
    operands.a[e] = float(Factor(float(a[e])));
    operands.b[e] = float(Factor(float(b[e])));
    operands.d[e] = d[e];
  }
  tc_collective(
      "simdgroup_multiply_accumulate", operands,
      [](Operands* const* lanes, unsigned count) {
        float left[8][8], right[8][8];
        for (int lane = 0; lane < int(count); ++lane)
          for (int e = 0; e < 2; ++e) {
            left[tc_metal::row(lane)][tc_metal::column(lane) + e] = lanes[lane]->a[e];
            right[tc_metal::row(lane)][tc_metal::column(lane) + e] = lanes[lane]->b[e];
          }
        for (int lane = 0; lane < int(count); ++lane)
          for (int e = 0; e < 2; ++e)
            for (int k = 0; k < 8; ++k)
              lanes[lane]->d[e] += left[tc_metal::row(lane)][k] * right[k][tc_metal::column(lane) + e];
      },
      32, 0, line);
  d[0] = operands.d[0];
  d[1] = operands.d[1];
}
