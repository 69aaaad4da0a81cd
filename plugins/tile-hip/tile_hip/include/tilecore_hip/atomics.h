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

template <class T>
struct tc_same {
  using type = T;
};

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
// Bytes and halves are replaced through the word around them.
template <class Part>
TC_FN Part tc_compare_exchange(Part* p, Part expected, Part desired) {
  static_assert(sizeof(Part) < 4, "a part of a word");
  const unsigned long long address = (unsigned long long)p;
  unsigned* word = (unsigned*)(address & ~3ull);
  const unsigned shift = unsigned(address & 3) * 8, mask = unsigned(Part(~Part(0))) << shift;
  unsigned seen = __scoped_atomic_load_n(word, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  while (Part(seen >> shift) == expected) {
    const unsigned before = tc_compare_exchange(word, seen, (seen & ~mask) | unsigned(desired) << shift);
    if (before == seen) return expected;
    seen = before;
  }
  return Part(seen >> shift);
}

// change: computes the new value from the old one; repeated until no other thread has written in between.
template <class T, class Change>
TC_FN T tc_update(T* p, Change change) {
  using word = typename tc_word<int(sizeof(T))>::type;
  word* place = (word*)p;
  word seen = *(volatile word*)place;
  while (true) {
    const word changed = tc_bits<word>(T(change(tc_bits<T>(seen))));
    if (changed == seen) return tc_bits<T>(seen);
    const word before = tc_compare_exchange(place, seen, changed);
    if (before == seen) return tc_bits<T>(seen);
    seen = before;
  }
}

#define TC_ATOMIC(NAME, CHANGED)                                          \
  template <class T>                                                      \
  TC_FN T tc_plain_##NAME(T* p, T v) {                                    \
    return tc_update(p, [v](T old) { return CHANGED; }); \
  }
TC_ATOMIC(add, T(old + v))
TC_ATOMIC(max, T(tc_max(old, v)))
TC_ATOMIC(min, T(tc_min(old, v)))
TC_ATOMIC(and, T(old & v))
TC_ATOMIC(or, T(old | v))
TC_ATOMIC(xor, T(old ^ v))
#undef TC_ATOMIC

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
#undef TC_BUILTIN
#undef TC_BUILTINS
TC_FN bool tc_plain_add(bool* p, bool v) {
  return tc_update(p, [v](bool old) { return old || v; });
}

template <class T>
TC_FN T tc_plain_exchange(T* p, T v) {
  using word = typename tc_word<int(sizeof(T))>::type;
  if constexpr (sizeof(T) >= 4) {
    return tc_bits<T>(
        __scoped_atomic_exchange_n((word*)p, tc_bits<word>(v), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE));
  } else {
    return tc_update(p, [v](T) { return v; });
  }
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
  const word value = __scoped_atomic_load_n((const word*)p, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  tc_fence_after(order == tc_release || order == tc_acq_rel ? tc_acquire : order);
  return tc_bits<T>(value);
}
template <class T>
TC_FN void tc_atomic_store(T* p, typename tc_same<T>::type v, tc_order order = tc_relaxed) {
  using word = typename tc_word<int(sizeof(T))>::type;
  tc_fence_before(order == tc_acquire || order == tc_consume || order == tc_acq_rel ? tc_release : order);
  __scoped_atomic_store_n((word*)p, tc_bits<word>(v), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

// -- several contiguous elements, without a result -------------------------------------------------------------------

#define TC_ADD_SEVERAL(COUNT)                                                           \
  template <class T>                                                                    \
  TC_FN void tc_atomic_add_x##COUNT(T* p, const T* v, tc_order order = tc_relaxed) {    \
    tc_fence_before(order);                                                             \
    for (int i = 0; i < COUNT; ++i) tc_plain_add(p + i, v[i]);                          \
    tc_fence_after(order);                                                              \
  }
TC_ADD_SEVERAL(2)
TC_ADD_SEVERAL(4)
#undef TC_ADD_SEVERAL
