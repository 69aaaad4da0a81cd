// Loads and stores with a cache hint: data that is used once, or that L2 should evict later or earlier than other data.
#pragma once

// LOAD and STORE: the instructions without their type; MORE(i): their last operand, the POLICY, if it is the i-th.
#define TC_HINTED_WORD(BYTES, WORD, C, TYPE, NAME, LOAD, STORE, MORE, POLICY)                              \
  template <>                                                                                             \
  struct NAME<BYTES> {                                                                                    \
    TC_FN static void load(void* to, const void* from) {                                                  \
      WORD v;                                                                                             \
      asm volatile(LOAD TYPE " %0, [%1]" MORE(2) ";"   : "=" C(v) : "l"(__cvta_generic_to_global(from)), "l"(POLICY) : "memory"); \
      *static_cast<typename tc_vector<BYTES>::type*>(to) = typename tc_vector<BYTES>::type(v);            \
    }                                                                                                     \
    TC_FN static void store(void* to, const void* from) {                                                 \
      const WORD v = *static_cast<const typename tc_vector<BYTES>::type*>(from);                          \
      asm volatile(STORE TYPE " [%0], %1" MORE(2) ";" ::"l"(__cvta_generic_to_global(to)), C(v), "l"(POLICY) : "memory"); \
    }                                                                                                     \
  };
#define TC_HINTED(NAME, LOAD, STORE, MORE, POLICY)                                                         \
  template <int Bytes>                                                                                    \
  struct NAME;                                                                                            \
  TC_HINTED_WORD(1, unsigned short, "h", ".u8", NAME, LOAD, STORE, MORE, POLICY)                           \
  TC_HINTED_WORD(2, unsigned short, "h", ".u16", NAME, LOAD, STORE, MORE, POLICY)                          \
  TC_HINTED_WORD(4, unsigned, "r", ".u32", NAME, LOAD, STORE, MORE, POLICY)                                \
  template <>                                                                                             \
  struct NAME<8> {                                                                                        \
    TC_FN static void load(void* to, const void* from) {                                                  \
      uint2 v;                                                                                            \
      asm volatile(LOAD ".v2.u32 {%0, %1}, [%2]" MORE(3) ";"                                              \
                   : "=r"(v.x), "=r"(v.y)                                                                 \
                   : "l"(__cvta_generic_to_global(from)), "l"(POLICY)                                            \
                   : "memory");                                                                           \
      *static_cast<uint2*>(to) = v;                                                                       \
    }                                                                                                     \
    TC_FN static void store(void* to, const void* from) {                                                 \
      const uint2 v = *static_cast<const uint2*>(from);                                                   \
      asm volatile(STORE ".v2.u32 [%0], {%1, %2}" MORE(3) ";" ::"l"(__cvta_generic_to_global(to)), "r"(v.x), \
                   "r"(v.y), "l"(POLICY)                                                                         \
                   : "memory");                                                                           \
    }                                                                                                     \
  };                                                                                                      \
  template <>                                                                                             \
  struct NAME<16> {                                                                                       \
    TC_FN static void load(void* to, const void* from) {                                                  \
      uint4 v;                                                                                            \
      asm volatile(LOAD ".v4.u32 {%0, %1, %2, %3}, [%4]" MORE(5) ";"                                      \
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)                                           \
                   : "l"(__cvta_generic_to_global(from)), "l"(POLICY)                                            \
                   : "memory");                                                                           \
      *static_cast<uint4*>(to) = v;                                                                       \
    }                                                                                                     \
    TC_FN static void store(void* to, const void* from) {                                                 \
      const uint4 v = *static_cast<const uint4*>(from);                                                   \
      asm volatile(STORE ".v4.u32 [%0], {%1, %2, %3, %4}" MORE(5) ";" ::"l"(__cvta_generic_to_global(to)), "r"(v.x), \
                   "r"(v.y), "r"(v.z), "r"(v.w), "l"(POLICY)                                                     \
                   : "memory");                                                                           \
    }                                                                                                     \
  };
#define TC_NO_MORE(I)
#define TC_POLICY_OPERAND(I) ", %" #I
TC_HINTED(tc_hinted_streaming, "ld.global.L1::no_allocate", "st.global.cs", TC_NO_MORE, 0ull)
#if TC_ARCH >= 800
TC_HINTED(tc_hinted_evict_first, "ld.global.L2::cache_hint", "st.global.L2::cache_hint", TC_POLICY_OPERAND, tc_evict_first())
TC_HINTED(tc_hinted_evict_last, "ld.global.L2::cache_hint", "st.global.L2::cache_hint", TC_POLICY_OPERAND, tc_evict_last())
#else
TC_HINTED(tc_hinted_evict_first, "ld.global.L1::evict_first", "st.global.L1::evict_first", TC_NO_MORE, 0ull)
TC_HINTED(tc_hinted_evict_last, "ld.global.L1::evict_last", "st.global.L1::evict_last", TC_NO_MORE, 0ull)
#endif
#undef TC_HINTED
#undef TC_HINTED_WORD
#undef TC_NO_MORE
#undef TC_POLICY_OPERAND

// As tc_move, where the source (of a load) or the destination (of a store) is in global memory.
#define TC_HINTED_MOVES(HINT)                                                                             \
  template <int Bytes>                                                                                    \
  TC_FN void tc_load_##HINT(void* to, const void* from) {                                                 \
    tc_hinted_##HINT<Bytes>::load(to, from);                                                              \
  }                                                                                                       \
  template <int Bytes>                                                                                    \
  TC_FN void tc_store_##HINT(void* to, const void* from) {                                                \
    tc_hinted_##HINT<Bytes>::store(to, from);                                                             \
  }
TC_HINTED_MOVES(streaming)
TC_HINTED_MOVES(evict_first)
TC_HINTED_MOVES(evict_last)
#undef TC_HINTED_MOVES
