#pragma once

TC_FN float tc_quotient(float a, float b) { return a / b; }

// Operations with a rounding of their own: nothing is contracted across a function.
TC_FN float tc_rounded(float x) { return x; }
TC_FN float tc_rounded_add(float a, float b) { return a + b; }
TC_FN float tc_rounded_sub(float a, float b) { return a - b; }
TC_FN float tc_rounded_mul(float a, float b) { return a * b; }

// float32 with 10 bits of fraction, to nearest, ties away from zero.
TC_FN float tc_round_tf32(float x) {
  return tc_isfinite(x) ? as_type<float>((as_type<uint>(x) + 0x1000u) & 0xffffe000u) : x;
}
