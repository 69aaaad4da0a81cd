// Products of a simdgroup on the simulated device: gathers the operands of the lanes by their places in the matrices of
// 8 x 8 (tile_metal/lowering/matrix_instruction.py), and multiplies in plain C++.
#pragma once

namespace tc_metal {
inline int row(int lane) { return lane / 16 * 4 + lane / 2 % 4; }
inline int column(int lane) { return lane / 8 % 2 * 4 + lane % 2 * 2; }

struct Operands {
  float a[2], b[2], d[2];
};
inline void multiply(Operands* const* lanes, unsigned count) {
  float left[8][8], right[8][8];
  for (int lane = 0; lane < int(count); ++lane)
    for (int e = 0; e < 2; ++e) {
      left[row(lane)][column(lane) + e] = lanes[lane]->a[e];
      right[row(lane)][column(lane) + e] = lanes[lane]->b[e];
    }
  for (int lane = 0; lane < int(count); ++lane)
    for (int e = 0; e < 2; ++e)
      for (int k = 0; k < 8; ++k) lanes[lane]->d[e] += left[row(lane)][k] * right[k][column(lane) + e];
}
}  // namespace tc_metal

// The places of elements in a lane are those of tilecore_metal/matrix.h.
template <class Factor, bool Transposed, int M, int N, int K, class A, class B>
inline void tc_products(float* d, const A* a, const B* b, int line) {
  struct Products {
    tc_metal::Operands of[M * N * K];
  } products;
  for (int p = 0; p < K; ++p)
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j)
        for (int e = 0; e < 2; ++e) {
          tc_metal::Operands& product = products.of[(p * M + i) * N + j];
          product.a[e] = float(Factor(float(a[(e * K + p) * M + i])));
          product.b[e] = float(Factor(float(b[Transposed ? (j * 2 + e) * K + p : (p * N + j) * 2 + e])));
          product.d[e] = p == 0 ? d[(i * N + j) * 2 + e] : 0;
        }
  tc_collective(
      "simdgroup_multiply_accumulate", products,
      [](Products* const* lanes, unsigned count) {
        tc_metal::Operands* of[32];
        for (int p = 0; p < K; ++p)
          for (int product = 0; product < M * N; ++product) {
            for (unsigned lane = 0; lane < count; ++lane) {
              of[lane] = &lanes[lane]->of[p * M * N + product];
              if (p > 0)
                for (int e = 0; e < 2; ++e) of[lane]->d[e] = lanes[lane]->of[(p - 1) * M * N + product].d[e];
            }
            tc_metal::multiply(of, count);
          }
      },
      32, 0, line);
  for (int product = 0; product < M * N; ++product)
    for (int e = 0; e < 2; ++e) d[product * 2 + e] = products.of[(K - 1) * M * N + product].d[e];
}
template <class Factor, int M = 1, int N = 1, int K = 1, class A, class B>
inline void tc_multiply_add(float* d, const A* a, const B* b, int line = TC_LINE) {
  tc_products<Factor, false, M, N, K>(d, a, b, line);
}
template <class Factor, int M = 1, int N = 1, int K = 1, class A, class B>
inline void tc_multiply_add_transposed(float* d, const A* a, const B* b, int line = TC_LINE) {
  tc_products<Factor, true, M, N, K>(d, a, b, line);
}
