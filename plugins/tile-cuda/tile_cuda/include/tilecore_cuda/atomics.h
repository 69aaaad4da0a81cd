// Atomics on an element of shared or global memory. Each returns the old value; the default order is relaxed.
#pragma once

enum tc_order { tc_relaxed, tc_consume, tc_acquire, tc_release, tc_acq_rel, tc_seq_cst };

TC_FN void tc_fence_before(tc_order order) {
  if (order == tc_seq_cst) asm volatile("fence.sc.gpu;" ::: "memory");
  if (order == tc_release || order == tc_acq_rel) asm volatile("fence.acq_rel.gpu;" ::: "memory");
}
TC_FN void tc_fence_after(tc_order order) {
  if (order != tc_relaxed && order != tc_release) asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

template <class T>
struct tc_same {
  using type = T;
};

// Replaces an element that equals `expected`; returns the old value. Bytes are replaced through the word around them.
TC_FN unsigned tc_compare_exchange(unsigned* p, unsigned expected, unsigned desired) {
  return atomicCAS(p, expected, desired);
}
TC_FN unsigned long long tc_compare_exchange(unsigned long long* p, unsigned long long expected,
                                             unsigned long long desired) {
  return atomicCAS(p, expected, desired);
}
TC_FN unsigned short tc_compare_exchange(unsigned short* p, unsigned short expected, unsigned short desired) {
  unsigned short old;
  asm volatile("atom.cas.b16 %0, [%1], %2, %3;" : "=h"(old) : "l"(p), "h"(expected), "h"(desired) : "memory");
  return old;
}
TC_FN unsigned char tc_compare_exchange(unsigned char* p, unsigned char expected, unsigned char desired) {
  const unsigned long long address = (unsigned long long)p;
  unsigned* word = (unsigned*)(address & ~3ull);
  const unsigned shift = unsigned(address & 3) * 8;
  unsigned seen = *(volatile unsigned*)word;
  while ((unsigned char)(seen >> shift) == expected) {
    const unsigned found = atomicCAS(word, seen, (seen & ~(0xffu << shift)) | unsigned(desired) << shift);
    if (found == seen) return expected;
    seen = found;
  }
  return (unsigned char)(seen >> shift);
}

// change: computes the new value from the old one; repeated until no other thread has written in between.
template <class T, class Change>
TC_FN T tc_update(T* p, Change change) {
  using word = typename tc_word<int(sizeof(T))>::type;
  word* place = (word*)p;
  word seen = *(volatile word*)place;
  while (true) {
    const word made = tc_bits<word>(T(change(tc_bits<T>(seen))));
    if (made == seen) return tc_bits<T>(seen);
    const word found = tc_compare_exchange(place, seen, made);
    if (found == seen) return tc_bits<T>(seen);
    seen = found;
  }
}

#define TC_ATOMIC(NAME, CHANGED)                                                                         \
  template <class T>                                                                                     \
  TC_FN T tc_plain_##NAME(T* p, T v) {                                                                   \
    return tc_update(p, [v](T old) { return CHANGED; });                                                 \
  }
TC_ATOMIC(add, T(old + v))
TC_ATOMIC(max, T(tc_max(old, v)))
TC_ATOMIC(min, T(tc_min(old, v)))
TC_ATOMIC(and, T(old & v))
TC_ATOMIC(or, T(old | v))
TC_ATOMIC(xor, T(old ^ v))
#undef TC_ATOMIC

#define TC_BUILTIN(NAME, BUILTIN, T, AS) \
  TC_FN T tc_plain_##NAME(T* p, T v) { return (T)BUILTIN((AS*)p, (AS)v); }
#define TC_BUILTINS(T, UNSIGNED)                     \
  TC_BUILTIN(add, atomicAdd, T, UNSIGNED)            \
  TC_BUILTIN(max, atomicMax, T, T)                   \
  TC_BUILTIN(min, atomicMin, T, T)                   \
  TC_BUILTIN(and, atomicAnd, T, UNSIGNED)            \
  TC_BUILTIN(or, atomicOr, T, UNSIGNED)              \
  TC_BUILTIN(xor, atomicXor, T, UNSIGNED)
TC_BUILTINS(int, int)
TC_BUILTINS(unsigned, unsigned)
TC_BUILTINS(long long, unsigned long long)
TC_BUILTINS(unsigned long long, unsigned long long)
TC_BUILTIN(add, atomicAdd, float, float)
TC_BUILTIN(add, atomicAdd, double, double)
#undef TC_BUILTIN
#undef TC_BUILTINS
TC_FN bool tc_plain_add(bool* p, bool v) { return tc_update(p, [v](bool old) { return old || v; }); }
TC_FN tc_half tc_plain_add(tc_half* p, tc_half v) {
  unsigned short old;
  asm volatile(TC_HALF_ASM("atom.add.noftz.f16", "[%1], %2") : "=h"(old) : "l"(p), "h"(v.bits) : "memory");
  return tc_half::from_bits(old);
}
#if TC_ARCH >= 900
TC_FN tc_bfloat16 tc_plain_add(tc_bfloat16* p, tc_bfloat16 v) {
  unsigned short old;
  asm volatile(TC_HALF_ASM("atom.add.noftz.bf16", "[%1], %2") : "=h"(old) : "l"(p), "h"(v.bits) : "memory");
  return tc_bfloat16::from_bits(old);
}
#endif

TC_FN unsigned tc_swap(unsigned* p, unsigned v) { return atomicExch(p, v); }
TC_FN unsigned long long tc_swap(unsigned long long* p, unsigned long long v) { return atomicExch(p, v); }
template <class Word>
TC_FN Word tc_swap(Word* p, Word v) {
  return tc_update(p, [v](Word) { return v; });
}
template <class T>
TC_FN T tc_plain_exchange(T* p, T v) {
  using word = typename tc_word<int(sizeof(T))>::type;
  return tc_bits<T>(tc_swap((word*)p, tc_bits<word>(v)));
}

#define TC_ORDERED(NAME)                                                                                   \
  template <class T>                                                                                       \
  TC_FN T tc_atomic_##NAME(T* p, typename tc_same<T>::type v, tc_order order = tc_relaxed) {               \
    tc_fence_before(order);                                                                                \
    const T old = tc_plain_##NAME(p, v);                                                                   \
    tc_fence_after(order);                                                                                 \
    return old;                                                                                            \
  }
TC_ORDERED(add)
TC_ORDERED(max)
TC_ORDERED(min)
TC_ORDERED(and)
TC_ORDERED(or)
TC_ORDERED(xor)
TC_ORDERED(exchange)
#undef TC_ORDERED

template <class T>
TC_FN T tc_atomic_cas(T* p, typename tc_same<T>::type expected, typename tc_same<T>::type v,
                      tc_order order = tc_relaxed) {
  using word = typename tc_word<int(sizeof(T))>::type;
  tc_fence_before(order);
  const T old = tc_bits<T>(tc_compare_exchange((word*)p, tc_bits<word>(expected), tc_bits<word>(v)));
  tc_fence_after(order);
  return old;
}
template <class T>
TC_FN T tc_atomic_load(const T* p, tc_order order = tc_relaxed) {
  using word = typename tc_word<int(sizeof(T))>::type;
  if (order == tc_seq_cst) tc_fence_before(order);
  const word value = *(const volatile word*)p;
  tc_fence_after(order == tc_release || order == tc_acq_rel ? tc_acquire : order);
  return tc_bits<T>(value);
}
template <class T>
TC_FN void tc_atomic_store(T* p, typename tc_same<T>::type v, tc_order order = tc_relaxed) {
  using word = typename tc_word<int(sizeof(T))>::type;
  tc_fence_before(order == tc_acquire || order == tc_consume || order == tc_acq_rel ? tc_release : order);
  *(volatile word*)p = tc_bits<word>(v);
}

// -- several contiguous elements at once, without a result -----------------------------------------------------------

template <int Count, class T>
TC_FN void tc_add_each(T* p, const T* v) {
#pragma unroll
  for (int i = 0; i < Count; ++i) tc_plain_add(p + i, v[i]);
}
template <class T>
TC_FN void tc_plain_add_x2(T* p, const T* v) {
  tc_add_each<2>(p, v);
}
template <class T>
TC_FN void tc_plain_add_x4(T* p, const T* v) {
  tc_add_each<4>(p, v);
}
TC_FN void tc_plain_add_x2(tc_half* p, const tc_half* v);
TC_FN void tc_plain_add_x4(tc_half* p, const tc_half* v) {
#if TC_ARCH >= 900
  const unsigned low = unsigned(v[0].bits) | unsigned(v[1].bits) << 16, high = unsigned(v[2].bits) | unsigned(v[3].bits) << 16;
  asm volatile("red.global.add.noftz.v2.f16x2 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)), "r"(low), "r"(high)
               : "memory");
#else
  tc_plain_add_x2(p, v);
  tc_plain_add_x2(p + 2, v + 2);
#endif
}
// In global memory, at a multiple of the pair's size.
TC_FN void tc_plain_add_x2(tc_half* p, const tc_half* v) {
  const unsigned pair = unsigned(v[0].bits) | unsigned(v[1].bits) << 16;
  asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(pair) : "memory");
}
#if TC_ARCH >= 900
TC_FN void tc_plain_add_x2(tc_bfloat16* p, const tc_bfloat16* v) {
  const unsigned pair = unsigned(v[0].bits) | unsigned(v[1].bits) << 16;
  asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(pair) : "memory");
}
TC_FN void tc_plain_add_x4(tc_bfloat16* p, const tc_bfloat16* v) {
  const unsigned low = unsigned(v[0].bits) | unsigned(v[1].bits) << 16, high = unsigned(v[2].bits) | unsigned(v[3].bits) << 16;
  asm volatile("red.global.add.noftz.v2.bf16x2 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)), "r"(low), "r"(high)
               : "memory");
}
TC_FN void tc_plain_add_x2(float* p, const float* v) {
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)), "f"(v[0]), "f"(v[1])
               : "memory");
}
TC_FN void tc_plain_add_x4(float* p, const float* v) {
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)), "f"(v[0]), "f"(v[1]),
               "f"(v[2]), "f"(v[3])
               : "memory");
}
#endif
template <class T>
TC_FN void tc_atomic_add_x2(T* p, const T* v, tc_order order = tc_relaxed) {
  tc_fence_before(order);
  tc_plain_add_x2(p, v);
  tc_fence_after(order);
}
template <class T>
TC_FN void tc_atomic_add_x4(T* p, const T* v, tc_order order = tc_relaxed) {
  tc_fence_before(order);
  tc_plain_add_x4(p, v);
  tc_fence_after(order);
}
