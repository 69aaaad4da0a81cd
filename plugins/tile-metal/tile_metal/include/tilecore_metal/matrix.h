// Products of a simdgroup: each lane has two neighbouring elements of a row of every matrix of 8 x 8. Row
// lane / 16 * 4 + lane / 2 % 4, columns lane / 8 % 2 * 4 + lane % 2 * 2 and the next.
#pragma once

#include <metal_simdgroup_matrix>  // provides: simdgroup_matrix

// Keeps the compiler from moving loads across; it orders no memory.
TC_FN void tc_scheduling_fence() { metal::simdgroup_barrier(metal::mem_flags::mem_none); }

// An element as a factor, which holds it exactly.
template <typename Factor, typename T>
struct tc_factor {
  static Factor of(T value) { return (Factor)tc_single(value); }
};
template <typename Factor>
struct tc_factor<Factor, Factor> {
  static Factor of(Factor value) { return value; }
};
template <typename Factor>
struct tc_factor<Factor, char> {
  static Factor of(char value) { return (Factor)value; }
};
template <typename Factor>
struct tc_factor<Factor, uchar> {
  static Factor of(uchar value) { return (Factor)value; }
};

// d += a * b, by all lanes of a simdgroup: M x N x K products of 8 x 8 x 8. Factor: the type in which the elements are
// multiplied. The elements of a lane: d[i][j][e]; a[e][p][i]; b[p][j][e], or b[j][e][p] where
// Transposed.
template <typename Factor, bool Transposed, int M, int N, int K, typename A, typename B>
TC_FN void tc_products(thread float* d, const thread A* a, const thread B* b) {
  metal::simdgroup_matrix<Factor, 8, 8> left, right;
  metal::simdgroup_matrix<float, 8, 8> sum;
#pragma unroll
  for (int p = 0; p < K; ++p) {
#pragma unroll
    for (int product = 0; product < M * N; ++product) {
      const int i = product / N, j = product % N;
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        left.thread_elements()[e] = tc_factor<Factor, A>::of(a[(e * K + p) * M + i]);
        const int at = Transposed ? (j * 2 + e) * K + p : (p * N + j) * 2 + e;
        right.thread_elements()[e] = tc_factor<Factor, B>::of(b[at]);
        sum.thread_elements()[e] = d[product * 2 + e];
      }
      metal::simdgroup_multiply_accumulate(sum, left, right, sum);
      d[product * 2] = sum.thread_elements()[0];
      d[product * 2 + 1] = sum.thread_elements()[1];
    }
  }
}
template <typename Factor, int M = 1, int N = 1, int K = 1, typename A, typename B>
TC_FN void tc_multiply_add(thread float* d, const thread A* a, const thread B* b) {
  tc_products<Factor, false, M, N, K>(d, a, b);
}
template <typename Factor, int M = 1, int N = 1, int K = 1, typename A, typename B>
TC_FN void tc_multiply_add_transposed(thread float* d, const thread A* a, const thread B* b) {
  tc_products<Factor, true, M, N, K>(d, a, b);
}
