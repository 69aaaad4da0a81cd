// Atomics of every type and memory order, for headers of devices. A backend's header includes it after tilecore_c.h and
//   tc_word<Bytes>::type                                 the unsigned integer of 1, 2, 4 or 8 bytes
//   tc_order, tc_fence_before(order), tc_fence_after(order)
//   tc_compare_exchange(word*, expected, desired)        of 4 and 8 bytes; returns the old word
//   tc_load_word(const word*), tc_store_word(word*, word)  of 1 to 8 bytes
// and after overloads of tc_plain_add and the like, tc_swap and tc_plain_add_x2 for what the device does in one
// instruction. Each operation returns the old value; the default order is relaxed.
#pragma once

template <class T>
struct tc_same {
  using type = T;
};

// Parts of a word are replaced through the word around them.
template <class Part>
TC_FN Part tc_compare_exchange(Part* p, Part expected, Part desired) {
  static_assert(sizeof(Part) < 4, "a part of a word");
  const unsigned inside = unsigned((unsigned long long)p) & 3;
  unsigned* word = (unsigned*)((unsigned char*)p - inside);  // not from a number: compilers then know the memory
  const unsigned shift = inside * 8, mask = unsigned(Part(~Part(0))) << shift;
  unsigned seen = tc_load_word(word);
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
  word seen = tc_load_word(place);
  while (true) {
    const word changed = tc_bits<word>(T(change(tc_bits<T>(seen))));
    if (changed == seen) return tc_bits<T>(seen);
    const word before = tc_compare_exchange(place, seen, changed);
    if (before == seen) return tc_bits<T>(seen);
    seen = before;
  }
}

#define TC_ATOMIC(NAME, CHANGED)                         \
  template <class T>                                     \
  TC_FN T tc_plain_##NAME(T* p, T v) {                   \
    return tc_update(p, [v](T old) { return CHANGED; }); \
  }
TC_ATOMIC(add, T(old + v))
TC_ATOMIC(max, T(tc_max(old, v)))
TC_ATOMIC(min, T(tc_min(old, v)))
TC_ATOMIC(and, T(old & v))
TC_ATOMIC(or, T(old | v))
TC_ATOMIC(xor, T(old ^ v))
#undef TC_ATOMIC
TC_FN bool tc_plain_add(bool* p, bool v) { return tc_update(p, [v](bool old) { return old || v; }); }

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
  const word value = tc_load_word((const word*)p);
  tc_fence_after(order == tc_release || order == tc_acq_rel ? tc_acquire : order);
  return tc_bits<T>(value);
}
template <class T>
TC_FN void tc_atomic_store(T* p, typename tc_same<T>::type v, tc_order order = tc_relaxed) {
  using word = typename tc_word<int(sizeof(T))>::type;
  tc_fence_before(order == tc_acquire || order == tc_consume || order == tc_acq_rel ? tc_release : order);
  tc_store_word((word*)p, tc_bits<word>(v));
}

// -- several contiguous elements at once, without a result -----------------------------------------------------------

#define TC_ADD_SEVERAL(COUNT)                                                           \
  template <class T>                                                                    \
  TC_FN void tc_plain_add_x##COUNT(T* p, const T* v) {                                  \
    _Pragma("unroll") for (int i = 0; i < COUNT; ++i) tc_plain_add(p + i, v[i]);        \
  }                                                                                     \
  template <class T>                                                                    \
  TC_FN void tc_atomic_add_x##COUNT(T* p, const T* v, tc_order order = tc_relaxed) {    \
    tc_fence_before(order);                                                             \
    tc_plain_add_x##COUNT(p, v);                                                        \
    tc_fence_after(order);                                                              \
  }
TC_ADD_SEVERAL(2)
TC_ADD_SEVERAL(4)
#undef TC_ADD_SEVERAL
