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

// Replaces an element that equals `expected`; returns the old value.
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
template <class Word>
TC_FN Word tc_load_word(const Word* p) {
  return *(const volatile Word*)p;
}
template <class Word>
TC_FN void tc_store_word(Word* p, Word value) {
  *(volatile Word*)p = value;
}

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

// -- several contiguous elements at once, without a result -----------------------------------------------------------

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
#include "tilecore_atomics.h"
