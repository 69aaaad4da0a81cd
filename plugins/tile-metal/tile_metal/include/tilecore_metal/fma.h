#pragma once

TC_FN float tc_fma(float a, float b, float c) { return metal::fma(a, b, c); }
TC_FN half tc_fma(half a, half b, half c) { return metal::fma(a, b, c); }  // for: half
#if __METAL_VERSION__ >= 310  // for: bfloat
// Rounded once: the product is exact in float, and the sum gets a last bit that tells of what was cut off.
TC_FN bfloat tc_fma(bfloat a, bfloat b, bfloat c) {
  const float product = (float)a * (float)b, addend = (float)c, sum = product + addend;
  const float part = sum - product, error = (product - (sum - part)) + (addend - part);  // Knuth's TwoSum
  uint bits = as_type<uint>(sum);
  if (tc_isfinite(sum) && error != 0.0f && (bits & 1u) == 0) bits += (error > 0.0f) == (sum > 0.0f) ? 1u : ~0u;
  return (bfloat)as_type<float>(bits);
}
#endif
