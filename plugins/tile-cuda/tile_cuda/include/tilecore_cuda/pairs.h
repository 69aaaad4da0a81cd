// Arithmetic on two float32 values at once, which are the halves of 64 bits (lowering/pair_floats.py). From sm_100 on
// there are instructions for it.
#pragma once

typedef unsigned long long tc_pair;

#if defined(TC_SIMULATE) || TC_ARCH < 1000
TC_FN tc_pair tc_float_pair(float low, float high) {
  return tc_pair(tc_bits<unsigned>(high)) << 32 | tc_bits<unsigned>(low);
}
TC_FN float tc_low(tc_pair x) { return tc_bits<float>(unsigned(x)); }
TC_FN float tc_high(tc_pair x) { return tc_bits<float>(unsigned(x >> 32)); }
#define TC_OF_PAIRS(NAME, VALUE)                                                           \
  TC_FN tc_pair NAME(tc_pair x, tc_pair y) {                                               \
    auto of_one = [](float a, float b) { return VALUE; };                                  \
    return tc_float_pair(of_one(tc_low(x), tc_low(y)), of_one(tc_high(x), tc_high(y)));    \
  }
TC_OF_PAIRS(tc_pair_add, a + b)
TC_OF_PAIRS(tc_pair_sub, a - b)
TC_OF_PAIRS(tc_pair_mul, a * b)
#undef TC_OF_PAIRS
TC_FN tc_pair tc_pair_fma(tc_pair x, tc_pair y, tc_pair z) {
  return tc_float_pair(tc_fma(tc_low(x), tc_low(y), tc_low(z)), tc_fma(tc_high(x), tc_high(y), tc_high(z)));
}
#else
TC_FN tc_pair tc_float_pair(float low, float high) {
  tc_pair pair;
  asm("mov.b64 %0, {%1, %2};" : "=l"(pair) : "f"(low), "f"(high));
  return pair;
}
TC_FN float tc_low(tc_pair x) {
  float low;
  asm("{ .reg .b32 high; mov.b64 {%0, high}, %1; }" : "=f"(low) : "l"(x));
  return low;
}
TC_FN float tc_high(tc_pair x) {
  float high;
  asm("{ .reg .b32 low; mov.b64 {low, %0}, %1; }" : "=f"(high) : "l"(x));
  return high;
}
#define TC_OF_PAIRS(NAME, INSTRUCTION)                                      \
  TC_FN tc_pair NAME(tc_pair x, tc_pair y) {                                \
    tc_pair result;                                                         \
    asm(INSTRUCTION " %0, %1, %2;" : "=l"(result) : "l"(x), "l"(y));        \
    return result;                                                          \
  }
TC_OF_PAIRS(tc_pair_add, "add.rn.f32x2")
TC_OF_PAIRS(tc_pair_sub, "sub.rn.f32x2")
TC_OF_PAIRS(tc_pair_mul, "mul.rn.f32x2")  // ptxas fuses it with a sum: lowering/pair_floats.py
#undef TC_OF_PAIRS
TC_FN tc_pair tc_pair_fma(tc_pair x, tc_pair y, tc_pair z) {
  tc_pair result;
  asm("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(result) : "l"(x), "l"(y), "l"(z));
  return result;
}
#endif
