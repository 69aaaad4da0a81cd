// The word of 32 bits around an element of memory, and atomic operations on it.
#pragma once

template <int Bytes> struct tc_word_of;
template <> struct tc_word_of<1> { typedef uchar type; };
template <> struct tc_word_of<2> { typedef ushort type; };
template <> struct tc_word_of<4> { typedef uint type; };

template <typename T>
TC_FN T tc_of_word(uint word) {
  return tc_bits<T>((typename tc_word_of<(int)sizeof(T)>::type)word);
}
template <typename T>
TC_FN uint tc_to_word(T value) {
  return (uint)tc_bits<typename tc_word_of<(int)sizeof(T)>::type>(value);
}

#define TC_WORDS(SPACE, OBJECT)                                                                                   \
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
// provides: tc_word_around tc_place_in_word tc_exchange_bits tc_load_bits
TC_WORDS(device, device) TC_WORDS(threadgroup, threadgroup)
#ifdef TC_COHERENT  // provides: tc_word_around tc_place_in_word tc_exchange_bits tc_load_bits; for: coherent
TC_WORDS(TC_COHERENT, device)
#endif
