// Atomics on an element of local or global memory; each has the value before. Relaxed unless an order is given: then
// fences stand around it.
#ifdef TC_INT64_ATOMICS
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif

enum { tc_relaxed, tc_acquire, tc_release, tc_acq_rel, tc_seq_cst };

// Replaces a word that holds `seen`; returns what it held. Bytes and pairs of them go through the word around them.
#define TC_SWAP_PART(S, T, MASK)                                                                                 \
  TC_FN T tc_swap_if(volatile S T* p, T seen, T made) {                                                          \
    const uint shift = ((size_t)p & 3) * 8;                                                                      \
    volatile S uint* word = (volatile S uint*)((size_t)p & ~(size_t)3);                                          \
    uint whole = *(volatile S tc_any_uint*)word;                                                                                          \
    while ((T)(whole >> shift) == seen) {                                                                        \
      const uint found = atomic_cmpxchg(word, whole, (whole & ~((uint)MASK << shift)) | (uint)made << shift);    \
      if (found == whole) return seen;                                                                           \
      whole = found;                                                                                             \
    }                                                                                                            \
    return (T)(whole >> shift);                                                                                  \
  }

// The new value is made from the old one, `seen`, until nobody came between.
#define TC_UPDATE(S, T, WORD, NAME, MADE)                                     \
  TC_FN T tc_plain_##NAME(volatile S T* p, T v) {                             \
    volatile S WORD* place = (volatile S WORD*)p;                             \
    union { WORD word; T value; } old, made;                                  \
    old.word = *(volatile S tc_any_##WORD*)place;                                                        \
    while (1) {                                                               \
      made.value = (MADE);                                                    \
      const WORD found = tc_swap_if(place, old.word, made.word);              \
      if (found == old.word) return old.value;                                \
      old.word = found;                                                       \
    }                                                                         \
  }
#define TC_ANY(S, T, WORD)                                                    \
  TC_UPDATE(S, T, WORD, exchange, v)                                          \
  TC_FN T tc_plain_load(const volatile S T* p) {                              \
    union { WORD word; T value; } both;                                       \
    both.word = *(const volatile S tc_any_##WORD*)p;                                   \
    return both.value;                                                        \
  }                                                                           \
  TC_FN void tc_plain_store(volatile S T* p, T v) {                           \
    union { WORD word; T value; } both;                                       \
    both.value = v;                                                           \
    *(volatile S tc_any_##WORD*)p = both.word;                                         \
  }                                                                           \
  TC_FN void tc_atomic_add_x2(volatile S T* p, const T* v) {                  \
    for (int i = 0; i < 2; ++i) tc_plain_add(p + i, v[i]);                    \
  }                                                                           \
  TC_FN void tc_atomic_add_x4(volatile S T* p, const T* v) {                  \
    for (int i = 0; i < 4; ++i) tc_plain_add(p + i, v[i]);                    \
  }
#define TC_ARITHMETIC(S, T, WORD)                                             \
  TC_UPDATE(S, T, WORD, add, tc_sum(old.value, v))                            \
  TC_UPDATE(S, T, WORD, max, tc_larger(old.value, v))                         \
  TC_UPDATE(S, T, WORD, min, tc_smaller(old.value, v))                        \
  TC_ANY(S, T, WORD)
#define TC_LOGIC(S, T, WORD)                                                  \
  TC_UPDATE(S, T, WORD, and, old.value & v)                                   \
  TC_UPDATE(S, T, WORD, or, old.value | v)                                    \
  TC_UPDATE(S, T, WORD, xor, old.value ^ v)
#define TC_BUILTIN(S, T, NAME) \
  TC_FN T tc_plain_##NAME(volatile S T* p, T v) { return atomic_##NAME(p, v); }
#define TC_BUILTINS(S, T)                                                                                  \
  TC_BUILTIN(S, T, add) TC_BUILTIN(S, T, max) TC_BUILTIN(S, T, min) TC_BUILTIN(S, T, and) TC_BUILTIN(S, T, or) \
  TC_BUILTIN(S, T, xor) TC_ANY(S, T, uint)
#define TC_SMALL(S, T, WORD) TC_ARITHMETIC(S, T, WORD) TC_LOGIC(S, T, WORD)
#define TC_SPACE(S)                                                           \
  TC_FN uint tc_swap_if(volatile S uint* p, uint seen, uint made) {           \
    return atomic_cmpxchg(p, seen, made);                                     \
  }                                                                           \
  TC_SWAP_PART(S, ushort, 0xffff)                                             \
  TC_SWAP_PART(S, uchar, 0xff)                                                \
  TC_BUILTINS(S, int)                                                         \
  TC_BUILTINS(S, uint)                                                        \
  TC_SMALL(S, char, uchar)                                                    \
  TC_SMALL(S, uchar, uchar)                                                   \
  TC_SMALL(S, short, ushort)                                                  \
  TC_SMALL(S, ushort, ushort)                                                 \
  TC_ARITHMETIC(S, float, uint)                                               \
  TC_ARITHMETIC(S, tc_half, ushort)                                           \
  TC_ARITHMETIC(S, tc_bfloat16, ushort)                                       \
  TC_ARITHMETIC(S, tc_fp8_e4m3, uchar)                                        \
  TC_ARITHMETIC(S, tc_fp8_e5m2, uchar)
TC_SPACE(global)
TC_SPACE(local)
#ifdef TC_INT64_ATOMICS
#define TC_LONG_SPACE(S)                                                      \
  TC_FN ulong tc_swap_if(volatile S ulong* p, ulong seen, ulong made) {       \
    return atom_cmpxchg(p, seen, made);                                       \
  }                                                                           \
  TC_SMALL(S, long, ulong)                                                    \
  TC_SMALL(S, ulong, ulong)
TC_LONG_SPACE(global)
TC_LONG_SPACE(local)
#ifdef cl_khr_fp64
TC_ARITHMETIC(global, double, ulong)
TC_ARITHMETIC(local, double, ulong)
#endif
#undef TC_LONG_SPACE
#endif
#undef TC_SPACE
#undef TC_SMALL
#undef TC_BUILTINS
#undef TC_BUILTIN
#undef TC_LOGIC
#undef TC_ARITHMETIC
#undef TC_ANY
#undef TC_UPDATE
#undef TC_SWAP_PART

#define TC_FENCE(...) ((__VA_ARGS__ + 0) == tc_relaxed ? (void)0 : tc_fence_device())
#define TC_ORDERED(CALL, ...)          \
  ({                                   \
    TC_FENCE(__VA_ARGS__);             \
    __auto_type before_ = CALL;        \
    TC_FENCE(__VA_ARGS__);             \
    before_;                           \
  })
#define tc_atomic_add(p, v, ...) TC_ORDERED(tc_plain_add(p, v), __VA_ARGS__)
#define tc_atomic_max(p, v, ...) TC_ORDERED(tc_plain_max(p, v), __VA_ARGS__)
#define tc_atomic_min(p, v, ...) TC_ORDERED(tc_plain_min(p, v), __VA_ARGS__)
#define tc_atomic_and(p, v, ...) TC_ORDERED(tc_plain_and(p, v), __VA_ARGS__)
#define tc_atomic_or(p, v, ...) TC_ORDERED(tc_plain_or(p, v), __VA_ARGS__)
#define tc_atomic_xor(p, v, ...) TC_ORDERED(tc_plain_xor(p, v), __VA_ARGS__)
#define tc_atomic_exchange(p, v, ...) TC_ORDERED(tc_plain_exchange(p, v), __VA_ARGS__)
#define tc_atomic_load(p, ...) TC_ORDERED(tc_plain_load(p), __VA_ARGS__)
#define tc_atomic_store(p, v, ...) (TC_FENCE(__VA_ARGS__), tc_plain_store(p, v), TC_FENCE(__VA_ARGS__))
