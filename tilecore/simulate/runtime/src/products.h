// Products of dense matrices, for the bodies of matrix instructions on whole tiles.
#pragma once
#include <stddef.h>

namespace tcsim {

// d (rows x columns) += a (rows x depth) * b (depth x columns), all by rows.
template <class T>
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("O3")))
#endif
inline void multiply_add(T* __restrict__ d, const T* __restrict__ a, const T* __restrict__ b, size_t rows,
                         size_t columns, size_t depth) {
  for (size_t i = 0; i < rows; ++i)
    for (size_t k = 0; k < depth; ++k) {
      const T factor = a[i * depth + k];
      for (size_t j = 0; j < columns; ++j) d[i * columns + j] += factor * b[k * columns + j];
    }
}

}  // namespace tcsim
