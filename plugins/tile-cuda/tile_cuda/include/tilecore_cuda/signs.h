// Negation that the compiler keeps.
#pragma once

// -x, wrapping. From sm_90 on ptxas 13.0 forgets a negation in front of the smallest or largest of three (VIMNMX3).
TC_FN int tc_negative(int x) {
#ifdef TC_SIMULATE
  return (int)(0u - (unsigned)x);
#else
  int made;
  asm("{ .reg .b32 less; not.b32 less, %1; add.s32 %0, less, 1; }" : "=r"(made) : "r"(x));
  return made;
#endif
}
