// TC_WGMMA(N, K, A, B, C), once in a source for each wgmma instruction that it uses: a product of 64 x N elements with
// depth K. Without it nothing is defined. PTX ISA 8.7, section "wgmma.mma_async".
//
// N: 8 to 256 in steps of 8 (for s8 and u8 not 40, 56, ...: above 32 in steps of 16). K: 16 for f16 and bf16, 8 for
// tf32, 32 for e4m3, e5m2, s8, u8. C: the type of the accumulator, f32, f16 (for f16 and fp8) or s32 (for s8 and u8). It
// defines
//
//   template <bool A_BY_M, bool B_BY_N>
//   void tc_wgmma_n<N>k<K>_<A>_<B>_<C>(C* d, tc_operand_t a, tc_operand_t b, bool add)
//   template <bool B_BY_N>
//   void tc_wgmma_held_n<N>k<K>_<A>_<B>_<C>(C* d, const A* a, tc_operand_t b, bool add)
//
// d: the first of the thread's N/2 accumulator registers; thread 32 w + 4 g + t has at i the element
// (16 w + g + 8 (i / 2 % 2), 8 (i / 4) + 2 t + i % 2). a, in the second: the thread's elements of one step; of word i
// the elements (16 w + g + 8 (i % 2), 4 E (i / 2) + t E + j), E to a word of 32 bits. A_BY_M, B_BY_N: the tile's
// innermost axis is m (n) instead of k, for 16-bit types. add: whether to add to d; else it is replaced.
#pragma once

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define TC_WGMMA(N, K, A, B, C) TC_WGMMA_OF_##A(N, K, A, B, C)

#define TC_WGMMA_OF_f16(N, K, A, B, C) TC_WGMMA_TURNED(N, K, A, B, C)
#define TC_WGMMA_OF_bf16(N, K, A, B, C) TC_WGMMA_TURNED(N, K, A, B, C)
#define TC_WGMMA_OF_tf32(N, K, A, B, C) TC_WGMMA_BY_K(N, K, A, B, C, ", 1, 1")
#define TC_WGMMA_OF_e4m3(N, K, A, B, C) TC_WGMMA_BY_K(N, K, A, B, C, ", 1, 1")
#define TC_WGMMA_OF_e5m2(N, K, A, B, C) TC_WGMMA_BY_K(N, K, A, B, C, ", 1, 1")
#define TC_WGMMA_OF_s8(N, K, A, B, C) TC_WGMMA_BY_K(N, K, A, B, C, "")
#define TC_WGMMA_OF_u8(N, K, A, B, C) TC_WGMMA_BY_K(N, K, A, B, C, "")

#define TC_ELEMENT_f16 tc_half
#define TC_ELEMENT_bf16 tc_bfloat16
#define TC_ELEMENT_tf32 float
#define TC_ELEMENT_e4m3 tc_fp8_e4m3
#define TC_ELEMENT_e5m2 tc_fp8_e5m2
#define TC_ELEMENT_s8 signed char
#define TC_ELEMENT_u8 unsigned char
#define TC_ELEMENT_f32 float
#define TC_ELEMENT_s32 int

// By the type of the accumulator: its register type, and the rows of wgmma_registers.h.
#define TC_SUM_f32(x) "+f"(x)
#define TC_SUM_s32(x) "+r"(x)
#define TC_SUM_f16(x) "+r"(x)
#define TC_SUMS_f32(d) d
#define TC_SUMS_s32(d) d
#define TC_SUMS_f16(d) reinterpret_cast<unsigned*>(d)
#define TC_WORDS_s32(N) TC_WORDS_f32_##N
#define TC_WORDS_f32(N) TC_WORDS_f32_##N
#define TC_WORDS_f16(N) TC_WORDS_f16_##N
#define TC_BIND_s32(N, C, d) TC_BIND_f32_##N(C, d)
#define TC_BIND_f32(N, C, d) TC_BIND_f32_##N(C, d)
#define TC_BIND_f16(N, C, d) TC_BIND_f16_##N(C, d)
#define TC_REST_s32(N) TC_REST_f32_##N
#define TC_REST_f32(N) TC_REST_f32_##N
#define TC_REST_f16(N) TC_REST_f16_##N

// "wgmma {accumulator}, ", with a predicate of the operand P.
#define TC_WGMMA_START(N, K, A, B, C, P)                                                                         \
  "{ .reg .pred p; setp.ne.b32 p, " P ", 0; wgmma.mma_async.sync.aligned.m64n" #N "k" #K "." #C "." #A "." #B " {" \
      TC_WORDS_##C(N) "}, "
// With the operands after the accumulator spelled out.
#define TC_WITH(MACRO, ...) MACRO(__VA_ARGS__)

#define TC_WGMMA_TURNED(N, K, A, B, C)                                \
  TC_WITH(TC_WGMMA_TURNED_TILES, N, K, A, B, C, TC_REST_##C(N))       \
  TC_WITH(TC_WGMMA_TURNED_HELD, N, K, A, B, C, TC_REST_##C(N))
#define TC_WGMMA_TURNED_TILES(N, K, A, B, C, R0, R1, R2, R3, R4, R5, R6)                                              \
  template <bool A_BY_M, bool B_BY_N>                                                                               \
  TC_FN void tc_wgmma_n##N##k##K##_##A##_##B##_##C(TC_ELEMENT_##C* sums, tc_operand_t a, tc_operand_t b, bool add) {  \
    auto* d = TC_SUMS_##C(sums);                                                                                    \
    asm volatile(TC_WGMMA_START(N, K, A, B, C, R2) R0 ", " R1 ", p, 1, 1, " R3 ", " R4 "; }"                          \
                 : TC_BIND_##C(N, TC_SUM_##C, d)                                                                    \
                 : "l"(a), "l"(b), "r"(int(add)), "n"(int(A_BY_M)), "n"(int(B_BY_N)));                              \
  }
#define TC_WGMMA_TURNED_HELD(N, K, A, B, C, R0, R1, R2, R3, R4, R5, R6)                                               \
  template <bool B_BY_N>                                                                                            \
  TC_FN void tc_wgmma_held_n##N##k##K##_##A##_##B##_##C(TC_ELEMENT_##C* sums, const TC_ELEMENT_##A* held,            \
                                                        tc_operand_t b, bool add) {                                 \
    auto* d = TC_SUMS_##C(sums);                                                                                    \
    const unsigned* a = reinterpret_cast<const unsigned*>(held);                                                    \
    asm volatile(TC_WGMMA_START(N, K, A, B, C, R5) "{" R0 ", " R1 ", " R2 ", " R3 "}, " R4 ", p, 1, 1, " R6 "; }"      \
                 : TC_BIND_##C(N, TC_SUM_##C, d)                                                                    \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(add)), "n"(int(B_BY_N)));            \
  }

#define TC_WGMMA_BY_K(N, K, A, B, C, SCALES)                            \
  TC_WITH(TC_WGMMA_BY_K_TILES, N, K, A, B, C, SCALES, TC_REST_##C(N))   \
  TC_WITH(TC_WGMMA_BY_K_HELD, N, K, A, B, C, SCALES, TC_REST_##C(N))
#define TC_WGMMA_BY_K_TILES(N, K, A, B, C, SCALES, R0, R1, R2, R3, R4, R5, R6)                                        \
  template <bool A_BY_M, bool B_BY_N>                                                                               \
  TC_FN void tc_wgmma_n##N##k##K##_##A##_##B##_##C(TC_ELEMENT_##C* sums, tc_operand_t a, tc_operand_t b, bool add) {  \
    static_assert(!A_BY_M && !B_BY_N, "only tiles of 16-bit elements may have m or n innermost");                   \
    auto* d = TC_SUMS_##C(sums);                                                                                    \
    asm volatile(TC_WGMMA_START(N, K, A, B, C, R2) R0 ", " R1 ", p" SCALES "; }"                                      \
                 : TC_BIND_##C(N, TC_SUM_##C, d)                                                                    \
                 : "l"(a), "l"(b), "r"(int(add)));                                                                  \
  }
#define TC_WGMMA_BY_K_HELD(N, K, A, B, C, SCALES, R0, R1, R2, R3, R4, R5, R6)                                         \
  template <bool B_BY_N>                                                                                            \
  TC_FN void tc_wgmma_held_n##N##k##K##_##A##_##B##_##C(TC_ELEMENT_##C* sums, const TC_ELEMENT_##A* held,            \
                                                        tc_operand_t b, bool add) {                                 \
    static_assert(!B_BY_N, "only tiles of 16-bit elements may have n innermost");                                   \
    auto* d = TC_SUMS_##C(sums);                                                                                    \
    const unsigned* a = reinterpret_cast<const unsigned*>(held);                                                    \
    asm volatile(TC_WGMMA_START(N, K, A, B, C, R5) "{" R0 ", " R1 ", " R2 ", " R3 "}, " R4 ", p" SCALES "; }"         \
                 : TC_BIND_##C(N, TC_SUM_##C, d)                                                                    \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(add)));                              \
  }
#else
#define TC_WGMMA(N, K, A, B, C)
#endif
