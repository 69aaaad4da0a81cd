// Two 16-bit values in a word.
#pragma once

// x & Mask | Bits in the low half, (x >> Shift) & Mask | Bits in the high one. x is below 2^(16 - Shift), so is Mask.
template <int Shift, unsigned Mask, unsigned Bits>
TC_FN unsigned tc_bit_pair(unsigned x) {
  const unsigned both = x * (1u + (1u << (16 - Shift)));
#ifdef TC_SIMULATE
  return (both & Mask * 0x10001u) | Bits * 0x10001u;
#else
  if (Bits == 0) return both & Mask * 0x10001u;
  unsigned kept, pair;  // an instruction has room for one constant; the other one is in a register
  asm("mov.b32 %0, %1;" : "=r"(kept) : "n"(Bits * 0x10001u));
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(pair) : "r"(both), "n"(Mask * 0x10001u), "r"(kept));
  return pair;
#endif
}

TC_FN unsigned short tc_half_of_pair(unsigned pair, int number) {
#ifdef TC_SIMULATE
  return (unsigned short)(pair >> (16 * number));
#else
  unsigned short low, high;  // as named variables, so that ptxas keeps packed arithmetic on both
  asm("mov.b32 {%0, %1}, %2;" : "=h"(low), "=h"(high) : "r"(pair));
  return number ? high : low;
#endif
}
