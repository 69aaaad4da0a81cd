// Atomics on an element of shared or global memory. Each returns the old value; the default order is relaxed.
#pragma once

enum tc_order { tc_relaxed, tc_consume, tc_acquire, tc_release, tc_acq_rel, tc_seq_cst };

TC_FN void tc_fence_before(tc_order order) {
  if (order == tc_seq_cst) __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  if (order == tc_release || order == tc_acq_rel) __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
}
TC_FN void tc_fence_after(tc_order order) {
  if (order != tc_relaxed && order != tc_release) __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
}

// Replaces a word that equals `expected`; returns the old value.
template <class Word>
TC_FN Word tc_exchange_word(Word* p, Word expected, Word desired) {
  __scoped_atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                     __MEMORY_SCOPE_DEVICE);
  return expected;
}
TC_FN unsigned tc_compare_exchange(unsigned* p, unsigned expected, unsigned desired) {
  return tc_exchange_word(p, expected, desired);
}
TC_FN unsigned long long tc_compare_exchange(unsigned long long* p, unsigned long long expected,
                                             unsigned long long desired) {
  return tc_exchange_word(p, expected, desired);
}
template <class Word>
TC_FN Word tc_load_word(const Word* p) {
  return __scoped_atomic_load_n(p, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
template <class Word>
TC_FN void tc_store_word(Word* p, Word value) {
  __scoped_atomic_store_n(p, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

#define TC_BUILTIN(NAME, T) \
  TC_FN T tc_plain_##NAME(T* p, T v) { return __scoped_atomic_fetch_##NAME(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); }
#define TC_BUILTINS(T)  \
  TC_BUILTIN(add, T)    \
  TC_BUILTIN(max, T)    \
  TC_BUILTIN(min, T)    \
  TC_BUILTIN(and, T)    \
  TC_BUILTIN(or, T)     \
  TC_BUILTIN(xor, T)
TC_BUILTINS(int)
TC_BUILTINS(unsigned)
TC_BUILTINS(long long)
TC_BUILTINS(unsigned long long)
TC_BUILTIN(add, float)
TC_BUILTIN(add, double)
// Where the hardware has no instruction, the loop of tilecore_atomics.h is better: it ends at once if nothing changes.
#if defined(__GFX9__)
TC_BUILTIN(max, double)
TC_BUILTIN(min, double)
#else
TC_BUILTIN(max, float)
TC_BUILTIN(min, float)
#endif
#undef TC_BUILTIN
#undef TC_BUILTINS

// -- two neighbouring elements of global memory by one instruction -----------------------------------------------------
// On gfx12, clang 19 forgets that the built-ins are for the whole device.

#if defined(__GFX12__) && __clang_major__ >= 20
#define TC_PACKED_HALF
#define TC_PACKED_BFLOAT16
#elif defined(__gfx942__) || defined(__gfx950__)
#define TC_PACKED_HALF
#define TC_PACKED_BFLOAT16
#elif defined(__gfx90a__)
#define TC_PACKED_HALF
#endif

#define TC_PACKED(T, ELEMENT, BUILTIN)                                                  \
  TC_FN void tc_plain_add_x2(T* p, const T* v) {                                        \
    typedef ELEMENT pair __attribute__((ext_vector_type(2)));                           \
    const unsigned both = unsigned(v[0].bits) | unsigned(v[1].bits) << 16;              \
    BUILTIN((__attribute__((address_space(1))) pair*)p, tc_bits<pair>(both));           \
  }
#ifdef TC_PACKED_HALF
TC_PACKED(tc_half, _Float16, __builtin_amdgcn_global_atomic_fadd_v2f16)
#undef TC_PACKED_HALF
#endif
#ifdef TC_PACKED_BFLOAT16
TC_PACKED(tc_bfloat16, short, __builtin_amdgcn_global_atomic_fadd_v2bf16)
#undef TC_PACKED_BFLOAT16
#endif
#undef TC_PACKED

TC_FN unsigned tc_swap(unsigned* p, unsigned v) {
  return __scoped_atomic_exchange_n(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
TC_FN unsigned long long tc_swap(unsigned long long* p, unsigned long long v) {
  return __scoped_atomic_exchange_n(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

#include "tilecore_atomics.h"
