// Matrix instructions of a warp: d += a * b. Operands are a thread's registers, in the layouts that the instruction
// set defines; a and b hold packed elements and are at multiples of 4 bytes.
#pragma once

// Registers of a fragment: the i-th 32-bit word.
#define TC_A(I) "r"(static_cast<const unsigned*>(a)[I])
#define TC_B(I) "r"(static_cast<const unsigned*>(b)[I])

// d: 4 words of accumulators, by constraint C ("+f" or "+r").
#define TC_MMA_1_1(NAME, INSTRUCTION, D, C)                                                               \
  TC_FN void NAME(D* d, const void* a, const void* b) {                                                   \
    asm volatile(INSTRUCTION " {%0, %1, %2, %3}, {%4}, {%5}, {%0, %1, %2, %3};"                           \
                 : C(d[0]), C(d[1]), C(d[2]), C(d[3])                                                     \
                 : TC_A(0), TC_B(0));                                                                     \
  }
#define TC_MMA_2_1(NAME, INSTRUCTION, D, C)                                                               \
  TC_FN void NAME(D* d, const void* a, const void* b) {                                                   \
    asm volatile(INSTRUCTION " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"                       \
                 : C(d[0]), C(d[1]), C(d[2]), C(d[3])                                                     \
                 : TC_A(0), TC_A(1), TC_B(0));                                                            \
  }
#define TC_MMA_4_2(NAME, INSTRUCTION, D, C)                                                               \
  TC_FN void NAME(D* d, const void* a, const void* b) {                                                   \
    asm volatile(INSTRUCTION " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"           \
                 : C(d[0]), C(d[1]), C(d[2]), C(d[3])                                                     \
                 : TC_A(0), TC_A(1), TC_A(2), TC_A(3), TC_B(0), TC_B(1));                                 \
  }
#define TC_MMA(SHAPE, TYPES) "mma.sync.aligned." SHAPE ".row.col." TYPES

#if TC_ARCH >= 750
TC_MMA_2_1(tc_mma_m16n8k8_f16_f32, TC_MMA("m16n8k8", "f32.f16.f16.f32"), float, "+f")
// Accumulators in pairs of halves: 2 words.
TC_FN void tc_mma_m16n8k8_f16_f16(void* d, const void* a, const void* b) {
  unsigned* c = static_cast<unsigned*>(d);
  asm volatile(TC_MMA("m16n8k8", "f16.f16.f16.f16") " {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
               : "+r"(c[0]), "+r"(c[1])
               : TC_A(0), TC_A(1), TC_B(0));
}
TC_FN void tc_mma_m8n8k16_s8_s32(int* d, const void* a, const void* b) {
  asm volatile(TC_MMA("m8n8k16", "s32.s8.s8.s32") " {%0, %1}, {%2}, {%3}, {%0, %1};" : "+r"(d[0]), "+r"(d[1]) : TC_A(0), TC_B(0));
}
#endif

#if TC_ARCH >= 800
TC_MMA_4_2(tc_mma_m16n8k16_f16_f32, TC_MMA("m16n8k16", "f32.f16.f16.f32"), float, "+f")
TC_FN void tc_mma_m16n8k16_f16_f16(void* d, const void* a, const void* b) {
  unsigned* c = static_cast<unsigned*>(d);
  asm volatile(TC_MMA("m16n8k16", "f16.f16.f16.f16") " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
               : "+r"(c[0]), "+r"(c[1])
               : TC_A(0), TC_A(1), TC_A(2), TC_A(3), TC_B(0), TC_B(1));
}
TC_MMA_2_1(tc_mma_m16n8k8_bf16_f32, TC_MMA("m16n8k8", "f32.bf16.bf16.f32"), float, "+f")
TC_MMA_4_2(tc_mma_m16n8k16_bf16_f32, TC_MMA("m16n8k16", "f32.bf16.bf16.f32"), float, "+f")
TC_MMA_2_1(tc_mma_m16n8k4_tf32_f32, TC_MMA("m16n8k4", "f32.tf32.tf32.f32"), float, "+f")
TC_MMA_4_2(tc_mma_m16n8k8_tf32_f32, TC_MMA("m16n8k8", "f32.tf32.tf32.f32"), float, "+f")
#define TC_MMA_INTEGER(A, B)                                                                              \
  TC_MMA_2_1(tc_mma_m16n8k16_##A##_##B##_s32, TC_MMA("m16n8k16", "s32." #A "." #B ".s32"), int, "+r")     \
  TC_MMA_4_2(tc_mma_m16n8k32_##A##_##B##_s32, TC_MMA("m16n8k32", "s32." #A "." #B ".s32"), int, "+r")
TC_MMA_INTEGER(s8, s8)
TC_MMA_INTEGER(s8, u8)
TC_MMA_INTEGER(u8, s8)
TC_MMA_INTEGER(u8, u8)
#undef TC_MMA_INTEGER
TC_FN void tc_mma_m8n8k4_f64_f64(double* d, const double* a, const double* b) {
  asm volatile(TC_MMA("m8n8k4", "f64.f64.f64.f64") " {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(d[0]), "+d"(d[1])
               : "d"(a[0]), "d"(b[0]));
}
#endif

#if TC_ARCH >= 890
#define TC_MMA_FP8(A, B) \
  TC_MMA_4_2(tc_mma_m16n8k32_##A##_##B##_f32, TC_MMA("m16n8k32", "f32." #A "." #B ".f32"), float, "+f")
TC_MMA_FP8(e4m3, e4m3)
TC_MMA_FP8(e4m3, e5m2)
TC_MMA_FP8(e5m2, e4m3)
TC_MMA_FP8(e5m2, e5m2)
#undef TC_MMA_FP8
#endif

#if TC_ARCH >= 900
TC_FN void tc_mma_m16n8k8_f64_f64(double* d, const double* a, const double* b) {
  asm volatile(TC_MMA("m16n8k8", "f64.f64.f64.f64") " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}
#endif
#undef TC_A
#undef TC_B
#undef TC_MMA
#undef TC_MMA_1_1
#undef TC_MMA_2_1
#undef TC_MMA_4_2

// -- 8 x 8 tiles of 16-bit elements between shared memory and registers ----------------------------------------------
// Lane i gives the address of row i % 8 of tile i / 8: 16 bytes, at a multiple of 16. A register holds two neighbours.

#if TC_ARCH >= 750
#define TC_LDMATRIX(SUFFIX, FLAG)                                                                         \
  TC_FN void tc_ldmatrix_x1##SUFFIX(void* to, const void* row) {                                          \
    unsigned* d = static_cast<unsigned*>(to);                                                             \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1" FLAG ".shared.b16 {%0}, [%1];"                           \
                 : "=r"(d[0])                                                                             \
                 : "r"(tc_shared_address(row))                                                            \
                 : "memory");                                                                             \
  }                                                                                                       \
  TC_FN void tc_ldmatrix_x2##SUFFIX(void* to, const void* row) {                                          \
    unsigned* d = static_cast<unsigned*>(to);                                                             \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" FLAG ".shared.b16 {%0, %1}, [%2];"                       \
                 : "=r"(d[0]), "=r"(d[1])                                                                 \
                 : "r"(tc_shared_address(row))                                                            \
                 : "memory");                                                                             \
  }                                                                                                       \
  TC_FN void tc_ldmatrix_x4##SUFFIX(void* to, const void* row) {                                          \
    unsigned* d = static_cast<unsigned*>(to);                                                             \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" FLAG ".shared.b16 {%0, %1, %2, %3}, [%4];"               \
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                         \
                 : "r"(tc_shared_address(row))                                                            \
                 : "memory");                                                                             \
  }
TC_LDMATRIX(, "")
TC_LDMATRIX(_trans, ".trans")
#undef TC_LDMATRIX
#endif

#if TC_ARCH >= 900
#define TC_STMATRIX(SUFFIX, FLAG)                                                                         \
  TC_FN void tc_stmatrix_x1##SUFFIX(void* row, const void* from) {                                        \
    const unsigned* s = static_cast<const unsigned*>(from);                                               \
    asm volatile("stmatrix.sync.aligned.m8n8.x1" FLAG ".shared.b16 [%0], {%1};" ::"r"(tc_shared_address(row)), \
                 "r"(s[0])                                                                                \
                 : "memory");                                                                             \
  }                                                                                                       \
  TC_FN void tc_stmatrix_x2##SUFFIX(void* row, const void* from) {                                        \
    const unsigned* s = static_cast<const unsigned*>(from);                                               \
    asm volatile("stmatrix.sync.aligned.m8n8.x2" FLAG ".shared.b16 [%0], {%1, %2};" ::"r"(tc_shared_address(row)), \
                 "r"(s[0]), "r"(s[1])                                                                     \
                 : "memory");                                                                             \
  }                                                                                                       \
  TC_FN void tc_stmatrix_x4##SUFFIX(void* row, const void* from) {                                        \
    const unsigned* s = static_cast<const unsigned*>(from);                                               \
    asm volatile("stmatrix.sync.aligned.m8n8.x4" FLAG ".shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(        \
                     tc_shared_address(row)),                                                             \
                 "r"(s[0]), "r"(s[1]), "r"(s[2]), "r"(s[3])                                               \
                 : "memory");                                                                             \
  }
TC_STMATRIX(, "")
TC_STMATRIX(_trans, ".trans")
#undef TC_STMATRIX
#endif
