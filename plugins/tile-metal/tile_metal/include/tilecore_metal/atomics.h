// Atomics on an element of device or threadgroup memory. Each returns the old value; the default order is relaxed. Metal
// has relaxed atomics of int and uint, and of float in device memory its addition; everything else is computed in a loop of
// compare-and-swap on the word of 32 bits around the element.
#pragma once

enum tc_order { tc_relaxed, tc_acquire, tc_release, tc_acq_rel, tc_seq_cst };

TC_FN void tc_fence_before(tc_order order) {
#if __METAL_VERSION__ >= 320
  if (order == tc_release || order == tc_acq_rel || order == tc_seq_cst)
    metal::atomic_thread_fence(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device,
                               metal::memory_order_seq_cst, metal::thread_scope_device);
#endif
}
TC_FN void tc_fence_after(tc_order order) {
#if __METAL_VERSION__ >= 320
  if (order == tc_acquire || order == tc_acq_rel || order == tc_seq_cst)
    metal::atomic_thread_fence(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device,
                               metal::memory_order_seq_cst, metal::thread_scope_device);
#endif
}

template <typename T>
struct tc_same {
  typedef T type;
};
template <int Bytes>
struct tc_word_of;
template <>
struct tc_word_of<1> {
  typedef uchar type;
};
template <>
struct tc_word_of<2> {
  typedef ushort type;
};
template <>
struct tc_word_of<4> {
  typedef uint type;
};

#define TC_ATOMICS(SPACE, OBJECT)                                                                                  \
  /* the word around an element of at most 4 bytes, and the place of its lowest bit in it */                       \
  template <typename T>                                                                                            \
  TC_FN OBJECT metal::atomic_uint* tc_word_around(SPACE T* p) {                                                    \
    return (OBJECT metal::atomic_uint*)((SPACE uchar*)p - ((ulong)p & 3ul));                                       \
  }                                                                                                                \
  template <typename T>                                                                                            \
  TC_FN uint tc_place_in_word(SPACE T* p) {                                                                        \
    return (uint)((ulong)p & 3ul) * 8u;                                                                            \
  }                                                                                                                \
  /* replaces the element if it has the bits `expected`; the bits that it had */                                   \
  template <typename T>                                                                                            \
  TC_FN uint tc_exchange_bits(SPACE T* p, uint expected, uint desired) {                                           \
    OBJECT metal::atomic_uint* word = tc_word_around(p);                                                           \
    const uint place = tc_place_in_word(p), mask = ~0u >> (32u - 8u * (uint)sizeof(T));                            \
    uint seen = metal::atomic_load_explicit(word, metal::memory_order_relaxed);                                    \
    while ((seen >> place & mask) == expected) {                                                                   \
      const uint changed = (seen & ~(mask << place)) | desired << place;                                           \
      if (metal::atomic_compare_exchange_weak_explicit(word, &seen, changed, metal::memory_order_relaxed,          \
                                                       metal::memory_order_relaxed))                               \
        return expected;                                                                                           \
    }                                                                                                              \
    return seen >> place & mask;                                                                                   \
  }                                                                                                                \
  template <typename T>                                                                                            \
  TC_FN uint tc_load_bits(SPACE T* p) {                                                                            \
    const uint word = metal::atomic_load_explicit(tc_word_around(p), metal::memory_order_relaxed);                 \
    return word >> tc_place_in_word(p) & (~0u >> (32u - 8u * (uint)sizeof(T)));                                    \
  }
TC_ATOMICS(device, device)
TC_ATOMICS(threadgroup, threadgroup)
#ifdef TC_COHERENT
TC_ATOMICS(TC_COHERENT, device)
#endif
#undef TC_ATOMICS

template <typename T>
TC_FN T tc_of_word(uint word) {
  return tc_bits<T>((typename tc_word_of<(int)sizeof(T)>::type)word);
}
template <typename T>
TC_FN uint tc_to_word(T value) {
  return (uint)tc_bits<typename tc_word_of<(int)sizeof(T)>::type>(value);
}

// -- what the loops compute: of narrow types in float, of bools the logical or ---------------------------------------------
#define TC_COMPUTED_IN(T, WIDE)                                                                 \
  TC_FN T tc_added(T a, T b) { return (T)((WIDE)a + (WIDE)b); }                                 \
  TC_FN T tc_smaller(T a, T b) { return (T)tc_min((WIDE)a, (WIDE)b); }                          \
  TC_FN T tc_larger(T a, T b) { return (T)tc_max((WIDE)a, (WIDE)b); }
TC_COMPUTED_IN(float, float)
TC_COMPUTED_IN(half, float)
#if __METAL_VERSION__ >= 310
TC_COMPUTED_IN(bfloat, float)
#endif
TC_COMPUTED_IN(char, int)
TC_COMPUTED_IN(uchar, uint)
TC_COMPUTED_IN(short, int)
TC_COMPUTED_IN(ushort, uint)
#undef TC_COMPUTED_IN
TC_FN bool tc_added(bool a, bool b) { return a || b; }
TC_FN bool tc_smaller(bool a, bool b) { return a && b; }
TC_FN bool tc_larger(bool a, bool b) { return a || b; }

// -- one operation ---------------------------------------------------------------------------------------------------------
// NAME: of the operation; CHANGED: the new value from `old` and `v`, both of type T.
#define TC_UPDATE(SPACE, NAME, CHANGED)                                       \
  template <typename T>                                                       \
  TC_FN T tc_plain_##NAME(SPACE T* p, T v) {                                  \
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
#define TC_INSTRUCTION(SPACE, OBJECT, NAME, T, METAL)                         \
  TC_FN T tc_plain_##NAME(SPACE T* p, T v) {                                  \
    return metal::atomic_##METAL##_explicit((OBJECT metal::atomic<T>*)p, v, metal::memory_order_relaxed); \
  }
#define TC_INSTRUCTIONS(SPACE, OBJECT, T)             \
  TC_INSTRUCTION(SPACE, OBJECT, add, T, fetch_add)    \
  TC_INSTRUCTION(SPACE, OBJECT, max, T, fetch_max)    \
  TC_INSTRUCTION(SPACE, OBJECT, min, T, fetch_min)    \
  TC_INSTRUCTION(SPACE, OBJECT, and, T, fetch_and)    \
  TC_INSTRUCTION(SPACE, OBJECT, or, T, fetch_or)      \
  TC_INSTRUCTION(SPACE, OBJECT, xor, T, fetch_xor)    \
  TC_INSTRUCTION(SPACE, OBJECT, exchange, T, exchange)
#define TC_OPERATIONS(SPACE, OBJECT)            \
  TC_UPDATE(SPACE, add, tc_added(old, v))       \
  TC_UPDATE(SPACE, max, tc_larger(old, v))      \
  TC_UPDATE(SPACE, min, tc_smaller(old, v))     \
  TC_UPDATE(SPACE, and, (T)(old & v))           \
  TC_UPDATE(SPACE, or, (T)(old | v))            \
  TC_UPDATE(SPACE, xor, (T)(old ^ v))           \
  TC_UPDATE(SPACE, exchange, v)                 \
  TC_INSTRUCTIONS(SPACE, OBJECT, int)           \
  TC_INSTRUCTIONS(SPACE, OBJECT, uint)
TC_OPERATIONS(device, device)
TC_OPERATIONS(threadgroup, threadgroup)
TC_INSTRUCTION(device, device, add, float, fetch_add)
#ifdef TC_COHERENT
TC_OPERATIONS(TC_COHERENT, device)
TC_INSTRUCTION(TC_COHERENT, device, add, float, fetch_add)
#endif
#undef TC_OPERATIONS
#undef TC_INSTRUCTIONS
#undef TC_INSTRUCTION
#undef TC_UPDATE

#define TC_ORDERED(SPACE, NAME)                                                                       \
  template <typename T>                                                                               \
  TC_FN T tc_atomic_##NAME(SPACE T* p, typename tc_same<T>::type v, tc_order order = tc_relaxed) {    \
    tc_fence_before(order);                                                                           \
    const T old = tc_plain_##NAME(p, v);                                                              \
    tc_fence_after(order);                                                                            \
    return old;                                                                                       \
  }
#define TC_ADD_SEVERAL(SPACE, COUNT)                                                                  \
  template <typename T>                                                                               \
  TC_FN void tc_atomic_add_x##COUNT(SPACE T* p, const thread T* v, tc_order order = tc_relaxed) {     \
    tc_fence_before(order);                                                                           \
    for (int i = 0; i < COUNT; ++i) tc_plain_add(p + i, v[i]);                                        \
    tc_fence_after(order);                                                                            \
  }
#define TC_ATOMICS(SPACE)                                                                             \
  TC_ORDERED(SPACE, add)                                                                              \
  TC_ORDERED(SPACE, max)                                                                              \
  TC_ORDERED(SPACE, min)                                                                              \
  TC_ORDERED(SPACE, and)                                                                              \
  TC_ORDERED(SPACE, or)                                                                               \
  TC_ORDERED(SPACE, xor)                                                                              \
  TC_ORDERED(SPACE, exchange)                                                                         \
  TC_ADD_SEVERAL(SPACE, 2)                                                                            \
  TC_ADD_SEVERAL(SPACE, 4)                                                                            \
  template <typename T>                                                                               \
  TC_FN T tc_atomic_cas(SPACE T* p, typename tc_same<T>::type expected, typename tc_same<T>::type v,  \
                        tc_order order = tc_relaxed) {                                                \
    tc_fence_before(order);                                                                           \
    const uint old = tc_exchange_bits(p, tc_to_word<T>(expected), tc_to_word<T>(v));                  \
    tc_fence_after(order);                                                                            \
    return tc_of_word<T>(old);                                                                        \
  }                                                                                                   \
  template <typename T>                                                                               \
  TC_FN T tc_atomic_load(SPACE T* p, tc_order order = tc_relaxed) {                                   \
    if (order == tc_seq_cst) tc_fence_before(order);                                                  \
    const uint word = tc_load_bits(p);                                                                \
    tc_fence_after(order == tc_release || order == tc_acq_rel ? tc_acquire : order);                  \
    return tc_of_word<T>(word);                                                                       \
  }                                                                                                   \
  template <typename T>                                                                               \
  TC_FN void tc_atomic_store(SPACE T* p, typename tc_same<T>::type v, tc_order order = tc_relaxed) {  \
    tc_fence_before(order == tc_acquire || order == tc_acq_rel ? tc_release : order);                 \
    tc_plain_exchange(p, (T)v);                                                                       \
  }
TC_ATOMICS(device)
TC_ATOMICS(threadgroup)
#ifdef TC_COHERENT
TC_ATOMICS(TC_COHERENT)
#endif
#undef TC_ATOMICS
#undef TC_ADD_SEVERAL
#undef TC_ORDERED

// Of 64 bits there is the smaller and the larger one alone, without the old value (Apple9 and later).
#define TC_EXTREME(SPACE, NAME)                                                                              \
  TC_FN void tc_atomic_ulong_##NAME(SPACE ulong* p, ulong v, tc_order order = tc_relaxed) {                 \
    tc_fence_before(order);                                                                                  \
    metal::atomic_##NAME##_explicit((device metal::atomic_ulong*)p, v, metal::memory_order_relaxed);         \
    tc_fence_after(order);                                                                                   \
  }
TC_EXTREME(device, max)
TC_EXTREME(device, min)
#ifdef TC_COHERENT
TC_EXTREME(TC_COHERENT, max)
TC_EXTREME(TC_COHERENT, min)
#endif
#undef TC_EXTREME
