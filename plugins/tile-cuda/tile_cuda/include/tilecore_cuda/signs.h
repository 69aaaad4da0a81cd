// A negation that ptxas does not drop.
#pragma once

// -x, wrapping. From sm_90 on ptxas 13.0 drops a negation in a minimum or maximum of three values (VIMNMX3).
TC_FN int tc_negative(int x) {
#ifdef TC_SIMULATE
  return (int)(0u - (unsigned)x);
#else
  int made;
  asm("{ .reg .b32 less; not.b32 less, %1; add.s32 %0, less, 1; }" : "=r"(made) : "r"(x));
  return made;
#endif
}
