// Products of a simdgroup: each lane has two neighbouring elements of a row of every matrix of 8 x 8. Row
// lane / 16 * 4 + lane / 2 % 4, columns lane / 8 % 2 * 4 + lane % 2 * 2 and the next.
#pragma once
#include <metal_simdgroup_matrix>

// d += a * b, by all lanes of a simdgroup. Factor: the type in which the elements are multiplied; it holds them exactly.
template <typename Factor, typename A, typename B>
TC_FN void tc_multiply_add(thread float* d, const thread A* a, const thread B* b) {
  metal::simdgroup_matrix<Factor, 8, 8> left, right;
  metal::simdgroup_matrix<float, 8, 8> sum;
  for (ushort e = 0; e < 2; ++e) {
    left.thread_elements()[e] = (Factor)tc_single(a[e]);
    right.thread_elements()[e] = (Factor)tc_single(b[e]);
    sum.thread_elements()[e] = d[e];
  }
  metal::simdgroup_multiply_accumulate(sum, left, right, sum);
  d[0] = sum.thread_elements()[0];
  d[1] = sum.thread_elements()[1];
}
