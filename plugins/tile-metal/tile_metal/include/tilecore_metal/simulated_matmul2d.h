// matmul2d on the simulated device: gathers the operands of the lanes by their places (tile_metal/lowering/matmul2d.py).
#pragma once

template <class Factor, bool TransposedA, bool TransposedB, class A, class B>
inline void tc_matmul2d(float* d, const A* a, const B* b, int line = TC_LINE) {
  struct Operands {
    float a[8], b[16], d[16];
  } operands;
  for (int e = 0; e < 16; ++e) {
    if (e < 8) operands.a[e] = float(Factor(float(a[e])));
    operands.b[e] = float(Factor(float(b[e])));
    operands.d[e] = d[e];
  }
  tc_collective(
      "matmul2d", operands,
      [](Operands* const* lanes, unsigned count) {
        const auto row = [](int lane, int e) { return lane / 16 * 4 + lane / 2 % 4 + e % 8 / 4 * 8; };
        const auto column = [](int lane, int e) { return (lane / 8 % 2 * 2 + lane % 2) * 4 + e % 4; };
        float left[16][16], right[16][32];
        for (int lane = 0; lane < int(count); ++lane)
          for (int e = 0; e < 16; ++e) {
            const int i = row(lane, e), j = column(lane, e), second = e / 8 * 16;
            if (e < 8) (TransposedA ? left[j][i] : left[i][j]) = lanes[lane]->a[e];
            (TransposedB ? right[j][i + second] : right[i][j + second]) = lanes[lane]->b[e];
          }
        for (int lane = 0; lane < int(count); ++lane)
          for (int e = 0; e < 16; ++e)
            for (int k = 0; k < 16; ++k)
              lanes[lane]->d[e] += left[row(lane, e)][k] * right[k][column(lane, e) + e / 8 * 16];
      },
      32, 0, line);
  for (int e = 0; e < 16; ++e) d[e] = operands.d[e];
}
