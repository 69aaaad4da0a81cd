// Atomic operations without an order. Metal has relaxed atomics of int and uint, and of float in device memory its addition;
// everything else is computed in a loop of compare-and-swap on the word of 32 bits around the element.
#pragma once

// What the loops compute: of narrow types in float, of bools the logical or.
#define TC_ADDED(T, WIDE, OF) TC_FN T tc_added(T a, T b) { return OF((WIDE)a + (WIDE)b); }
TC_ADDED(float, float, float)  // provides: tc_added; for: float
TC_ADDED(half, float, half)  // provides: tc_added; for: half
#if __METAL_VERSION__ >= 310  // provides: tc_added; for: bfloat
TC_ADDED(bfloat, float, bfloat)
#endif
TC_ADDED(char, int, char)  // provides: tc_added; for: char
TC_ADDED(uchar, uint, uchar)  // provides: tc_added; for: uchar
TC_ADDED(short, int, short)  // provides: tc_added; for: short
TC_ADDED(ushort, uint, ushort)  // provides: tc_added; for: ushort
TC_ADDED(tc_fp8_e4m3, float, tc_fp8_e4m3_from)  // provides: tc_added; for: tc_fp8_e4m3
TC_ADDED(tc_fp8_e5m2, float, tc_fp8_e5m2_from)  // provides: tc_added; for: tc_fp8_e5m2
TC_ADDED(tc_fp8_e4m3fnuz, float, tc_fp8_e4m3fnuz_from)  // provides: tc_added; for: tc_fp8_e4m3fnuz
TC_ADDED(tc_fp8_e5m2fnuz, float, tc_fp8_e5m2fnuz_from)  // provides: tc_added; for: tc_fp8_e5m2fnuz
TC_ADDED(tc_fp4_e2m1, float, tc_fp4_e2m1_from)  // provides: tc_added; for: tc_fp4_e2m1
TC_FN bool tc_added(bool a, bool b) { return a || b; }  // for: bool
#define TC_SMALLER(T, WIDE, OF) TC_FN T tc_smaller(T a, T b) { return OF(tc_min((WIDE)a, (WIDE)b)); }
TC_SMALLER(float, float, float)  // provides: tc_smaller; for: float
TC_SMALLER(half, float, half)  // provides: tc_smaller; for: half
#if __METAL_VERSION__ >= 310  // provides: tc_smaller; for: bfloat
TC_SMALLER(bfloat, float, bfloat)
#endif
TC_SMALLER(char, int, char)  // provides: tc_smaller; for: char
TC_SMALLER(uchar, uint, uchar)  // provides: tc_smaller; for: uchar
TC_SMALLER(short, int, short)  // provides: tc_smaller; for: short
TC_SMALLER(ushort, uint, ushort)  // provides: tc_smaller; for: ushort
TC_SMALLER(tc_fp8_e4m3, float, tc_fp8_e4m3_from)  // provides: tc_smaller; for: tc_fp8_e4m3
TC_SMALLER(tc_fp8_e5m2, float, tc_fp8_e5m2_from)  // provides: tc_smaller; for: tc_fp8_e5m2
TC_SMALLER(tc_fp8_e4m3fnuz, float, tc_fp8_e4m3fnuz_from)  // provides: tc_smaller; for: tc_fp8_e4m3fnuz
TC_SMALLER(tc_fp8_e5m2fnuz, float, tc_fp8_e5m2fnuz_from)  // provides: tc_smaller; for: tc_fp8_e5m2fnuz
TC_SMALLER(tc_fp4_e2m1, float, tc_fp4_e2m1_from)  // provides: tc_smaller; for: tc_fp4_e2m1
TC_FN bool tc_smaller(bool a, bool b) { return a && b; }  // for: bool
#define TC_LARGER(T, WIDE, OF) TC_FN T tc_larger(T a, T b) { return OF(tc_max((WIDE)a, (WIDE)b)); }
TC_LARGER(float, float, float)  // provides: tc_larger; for: float
TC_LARGER(half, float, half)  // provides: tc_larger; for: half
#if __METAL_VERSION__ >= 310  // provides: tc_larger; for: bfloat
TC_LARGER(bfloat, float, bfloat)
#endif
TC_LARGER(char, int, char)  // provides: tc_larger; for: char
TC_LARGER(uchar, uint, uchar)  // provides: tc_larger; for: uchar
TC_LARGER(short, int, short)  // provides: tc_larger; for: short
TC_LARGER(ushort, uint, ushort)  // provides: tc_larger; for: ushort
TC_LARGER(tc_fp8_e4m3, float, tc_fp8_e4m3_from)  // provides: tc_larger; for: tc_fp8_e4m3
TC_LARGER(tc_fp8_e5m2, float, tc_fp8_e5m2_from)  // provides: tc_larger; for: tc_fp8_e5m2
TC_LARGER(tc_fp8_e4m3fnuz, float, tc_fp8_e4m3fnuz_from)  // provides: tc_larger; for: tc_fp8_e4m3fnuz
TC_LARGER(tc_fp8_e5m2fnuz, float, tc_fp8_e5m2fnuz_from)  // provides: tc_larger; for: tc_fp8_e5m2fnuz
TC_LARGER(tc_fp4_e2m1, float, tc_fp4_e2m1_from)  // provides: tc_larger; for: tc_fp4_e2m1
TC_FN bool tc_larger(bool a, bool b) { return a || b; }  // for: bool

// One operation. CHANGED: the new value from `old` and `v`, both of type T.
#define TC_UPDATE(SPACE, NAME, CHANGED)                                       \
  template <typename T>                                                       \
  TC_FN T NAME(SPACE T* p, T v) {                                             \
    uint seen = tc_load_bits(p);                                              \
    while (true) {                                                            \
      const T old = tc_of_word<T>(seen);                                      \
      const uint changed = tc_to_word<T>(CHANGED);                            \
      if (changed == seen) return old;                                        \
      const uint before = tc_exchange_bits(p, seen, changed);                 \
      if (before == seen) return old;                                         \
      seen = before;                                                          \
    }                                                                         \
  }
#define TC_INSTRUCTION(SPACE, OBJECT, NAME, T, METAL)                                     \
  TC_FN T NAME(SPACE T* p, T v) {                                                         \
    return metal::METAL((OBJECT metal::atomic<T>*)p, v, metal::memory_order_relaxed);     \
  }
#define TC_OPERATION(SPACE, OBJECT, NAME, METAL, CHANGED)  \
  TC_UPDATE(SPACE, NAME, CHANGED)                          \
  TC_INSTRUCTION(SPACE, OBJECT, NAME, int, METAL)          \
  TC_INSTRUCTION(SPACE, OBJECT, NAME, uint, METAL)
#define TC_OPERATIONS(NAME, METAL, CHANGED)             \
  TC_OPERATION(device, device, NAME, METAL, CHANGED)    \
  TC_OPERATION(threadgroup, threadgroup, NAME, METAL, CHANGED)
#ifdef TC_COHERENT
#define TC_COHERENT_OPERATIONS(NAME, METAL, CHANGED) TC_OPERATION(TC_COHERENT, device, NAME, METAL, CHANGED)
#else
#define TC_COHERENT_OPERATIONS(NAME, METAL, CHANGED)
#endif
// provides: tc_plain_add
TC_OPERATIONS(tc_plain_add, atomic_fetch_add_explicit, tc_added(old, v))
// provides: tc_plain_add; for: coherent
TC_COHERENT_OPERATIONS(tc_plain_add, atomic_fetch_add_explicit, tc_added(old, v))
// provides: tc_plain_max
TC_OPERATIONS(tc_plain_max, atomic_fetch_max_explicit, tc_larger(old, v))
// provides: tc_plain_max; for: coherent
TC_COHERENT_OPERATIONS(tc_plain_max, atomic_fetch_max_explicit, tc_larger(old, v))
// provides: tc_plain_min
TC_OPERATIONS(tc_plain_min, atomic_fetch_min_explicit, tc_smaller(old, v))
// provides: tc_plain_min; for: coherent
TC_COHERENT_OPERATIONS(tc_plain_min, atomic_fetch_min_explicit, tc_smaller(old, v))
// provides: tc_plain_and
TC_OPERATIONS(tc_plain_and, atomic_fetch_and_explicit, (T)(old & v))
// provides: tc_plain_and; for: coherent
TC_COHERENT_OPERATIONS(tc_plain_and, atomic_fetch_and_explicit, (T)(old & v))
// provides: tc_plain_or
TC_OPERATIONS(tc_plain_or, atomic_fetch_or_explicit, (T)(old | v))
// provides: tc_plain_or; for: coherent
TC_COHERENT_OPERATIONS(tc_plain_or, atomic_fetch_or_explicit, (T)(old | v))
// provides: tc_plain_xor
TC_OPERATIONS(tc_plain_xor, atomic_fetch_xor_explicit, (T)(old ^ v))
// provides: tc_plain_xor; for: coherent
TC_COHERENT_OPERATIONS(tc_plain_xor, atomic_fetch_xor_explicit, (T)(old ^ v))
// provides: tc_plain_exchange
TC_OPERATIONS(tc_plain_exchange, atomic_exchange_explicit, v)
// provides: tc_plain_exchange; for: coherent
TC_COHERENT_OPERATIONS(tc_plain_exchange, atomic_exchange_explicit, v)
TC_INSTRUCTION(device, device, tc_plain_add, float, atomic_fetch_add_explicit)  // provides: tc_plain_add; for: float
#ifdef TC_COHERENT  // provides: tc_plain_add; for: coherent
TC_INSTRUCTION(TC_COHERENT, device, tc_plain_add, float, atomic_fetch_add_explicit)
#endif
