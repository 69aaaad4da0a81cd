// Divisions of several values by one divisor.
#pragma once

// values[i] / b for i < N, each correctly rounded. One test chooses the fast path of tc_quotient for all of them: a
// branch for each would cost more than the divisions.
template <int N>
TC_FN void tc_quotients(float* values, float b) {
#ifdef TC_SIMULATE
  for (int i = 0; i < N; ++i) values[i] = tc_quotient(values[i], b);
#else
  const float scale = tc_scale_of(b), divisor = b * scale, reciprocal = 1.0f / divisor;
  bool usual = true;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const float size = fabsf(values[i] * scale);
    usual = usual & (size >= 0x1p-100f) & (size <= 0x1p100f);
  }
  if (usual) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float dividend = values[i] * scale, first = dividend * reciprocal;
      values[i] = fmaf(fmaf(-first, divisor, dividend), reciprocal, first);
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = tc_quotient(values[i], b);
  }
#endif
}
