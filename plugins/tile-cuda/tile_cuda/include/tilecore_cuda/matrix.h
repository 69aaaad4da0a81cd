// Warp-level matrix instructions: d += a * b. Operands are registers of a thread, in the layouts of the PTX ISA ("Matrix
// multiply-accumulate operation using mma instruction", the sections "Matrix Fragments for mma.<shape>"); a and b hold
// packed elements and are at multiples of 4 bytes. A name: the shape, the type of a and of b (once if they are equal),
// the type of d.
#pragma once

// Registers of a fragment: the i-th 32-bit word.
#define TC_A(I) "r"(static_cast<const unsigned*>(a)[I])
#define TC_B(I) "r"(static_cast<const unsigned*>(b)[I])
#define TC_MMA(SHAPE, TYPES) "mma.sync.aligned." SHAPE ".row.col." TYPES

// By words of d, a and b. C: the constraint of an accumulator, "+f" or "+r".
#define TC_MMA_2_1_1(NAME, INSTRUCTION, D, C)                                                             \
  TC_FN void NAME(void* words, const void* a, const void* b) {                                            \
    D* d = static_cast<D*>(words);                                                                        \
    asm volatile(INSTRUCTION " {%0, %1}, {%2}, {%3}, {%0, %1};" : C(d[0]), C(d[1]) : TC_A(0), TC_B(0));   \
  }
#define TC_MMA_2_2_1(NAME, INSTRUCTION, D, C)                                                             \
  TC_FN void NAME(void* words, const void* a, const void* b) {                                            \
    D* d = static_cast<D*>(words);                                                                        \
    asm volatile(INSTRUCTION " {%0, %1}, {%2, %3}, {%4}, {%0, %1};"                                       \
                 : C(d[0]), C(d[1])                                                                       \
                 : TC_A(0), TC_A(1), TC_B(0));                                                            \
  }
#define TC_MMA_2_4_2(NAME, INSTRUCTION, D, C)                                                             \
  TC_FN void NAME(void* words, const void* a, const void* b) {                                            \
    D* d = static_cast<D*>(words);                                                                        \
    asm volatile(INSTRUCTION " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"                           \
                 : C(d[0]), C(d[1])                                                                       \
                 : TC_A(0), TC_A(1), TC_A(2), TC_A(3), TC_B(0), TC_B(1));                                 \
  }
#define TC_MMA_4_2_1(NAME, INSTRUCTION, D, C)                                                             \
  TC_FN void NAME(D* d, const void* a, const void* b) {                                                   \
    asm volatile(INSTRUCTION " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"                       \
                 : C(d[0]), C(d[1]), C(d[2]), C(d[3])                                                     \
                 : TC_A(0), TC_A(1), TC_B(0));                                                            \
  }
#define TC_MMA_4_4_2(NAME, INSTRUCTION, D, C)                                                             \
  TC_FN void NAME(D* d, const void* a, const void* b) {                                                   \
    asm volatile(INSTRUCTION " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"           \
                 : C(d[0]), C(d[1]), C(d[2]), C(d[3])                                                     \
                 : TC_A(0), TC_A(1), TC_A(2), TC_A(3), TC_B(0), TC_B(1));                                 \
  }

// Four products at once, one by each of the lanes 4 q to 4 q + 3 with 4 q + 16 to 4 q + 19 (the instruction of sm_70).
TC_FN void tc_mma_m8n8k4_f16_f32(float* d, const void* a, const void* b) {
  asm volatile(TC_MMA("m8n8k4", "f32.f16.f16.f32")
               " {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, {%0, %1, %2, %3, %4, %5, %6, %7};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
               : TC_A(0), TC_A(1), TC_B(0), TC_B(1));
}
TC_FN void tc_mma_m8n8k4_f16_f16(void* words, const void* a, const void* b) {
  unsigned* d = static_cast<unsigned*>(words);
  asm volatile(TC_MMA("m8n8k4", "f16.f16.f16.f16") " {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, %2, %3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : TC_A(0), TC_A(1), TC_B(0), TC_B(1));
}

#if TC_ARCH >= 750
TC_MMA_4_2_1(tc_mma_m16n8k8_f16_f32, TC_MMA("m16n8k8", "f32.f16.f16.f32"), float, "+f")
TC_MMA_2_2_1(tc_mma_m16n8k8_f16_f16, TC_MMA("m16n8k8", "f16.f16.f16.f16"), unsigned, "+r")
TC_MMA_2_1_1(tc_mma_m8n8k16_s8_s32, TC_MMA("m8n8k16", "s32.s8.s8.s32"), int, "+r")
TC_MMA_2_1_1(tc_mma_m8n8k16_s8_u8_s32, TC_MMA("m8n8k16", "s32.s8.u8.s32"), int, "+r")
TC_MMA_2_1_1(tc_mma_m8n8k16_u8_s8_s32, TC_MMA("m8n8k16", "s32.u8.s8.s32"), int, "+r")
TC_MMA_2_1_1(tc_mma_m8n8k16_u8_s32, TC_MMA("m8n8k16", "s32.u8.u8.s32"), int, "+r")
#endif

#if TC_ARCH >= 800
TC_MMA_4_4_2(tc_mma_m16n8k16_f16_f32, TC_MMA("m16n8k16", "f32.f16.f16.f32"), float, "+f")
TC_MMA_2_4_2(tc_mma_m16n8k16_f16_f16, TC_MMA("m16n8k16", "f16.f16.f16.f16"), unsigned, "+r")
TC_MMA_4_2_1(tc_mma_m16n8k8_bf16_f32, TC_MMA("m16n8k8", "f32.bf16.bf16.f32"), float, "+f")
TC_MMA_4_4_2(tc_mma_m16n8k16_bf16_f32, TC_MMA("m16n8k16", "f32.bf16.bf16.f32"), float, "+f")
// Operands are floats of which the instruction reads the upper 19 bits; tc_round_tf32 rounds one to them.
TC_MMA_4_2_1(tc_mma_m16n8k4_tf32_f32, TC_MMA("m16n8k4", "f32.tf32.tf32.f32"), float, "+f")
TC_MMA_4_4_2(tc_mma_m16n8k8_tf32_f32, TC_MMA("m16n8k8", "f32.tf32.tf32.f32"), float, "+f")
#define TC_MMA_INTEGER(NAME, TYPES)                                                                       \
  TC_MMA_4_2_1(tc_mma_m16n8k16_##NAME##_s32, TC_MMA("m16n8k16", TYPES), int, "+r")                        \
  TC_MMA_4_4_2(tc_mma_m16n8k32_##NAME##_s32, TC_MMA("m16n8k32", TYPES), int, "+r")
TC_MMA_INTEGER(s8, "s32.s8.s8.s32")
TC_MMA_INTEGER(s8_u8, "s32.s8.u8.s32")
TC_MMA_INTEGER(u8_s8, "s32.u8.s8.s32")
TC_MMA_INTEGER(u8, "s32.u8.u8.s32")
#undef TC_MMA_INTEGER
TC_FN void tc_mma_m8n8k4_f64_f64(double* d, const double* a, const double* b) {
  asm volatile(TC_MMA("m8n8k4", "f64.f64.f64.f64") " {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(d[0]), "+d"(d[1])
               : "d"(a[0]), "d"(b[0]));
}
#endif

#if TC_ARCH >= 890
#define TC_MMA_FP8(NAME, TYPES)                                                                           \
  TC_MMA_4_4_2(tc_mma_m16n8k32_##NAME##_f32, TC_MMA("m16n8k32", "f32." TYPES ".f32"), float, "+f")        \
  TC_MMA_2_4_2(tc_mma_m16n8k32_##NAME##_f16, TC_MMA("m16n8k32", "f16." TYPES ".f16"), unsigned, "+r")     \
  TC_MMA_4_2_1(tc_mma_m16n8k16_##NAME##_f32, TC_MMA("m16n8k16", "f32." TYPES ".f32"), float, "+f")        \
  TC_MMA_2_2_1(tc_mma_m16n8k16_##NAME##_f16, TC_MMA("m16n8k16", "f16." TYPES ".f16"), unsigned, "+r")
TC_MMA_FP8(e4m3, "e4m3.e4m3")
TC_MMA_FP8(e4m3_e5m2, "e4m3.e5m2")
TC_MMA_FP8(e5m2_e4m3, "e5m2.e4m3")
TC_MMA_FP8(e5m2, "e5m2.e5m2")
#undef TC_MMA_FP8
#endif

#if TC_ARCH >= 900
#define TC_C4 "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
TC_FN void tc_mma_m16n8k4_f64_f64(double* d, const double* a, const double* b) {
  asm volatile(TC_MMA("m16n8k4", "f64.f64.f64.f64") " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : TC_C4
               : "d"(a[0]), "d"(a[1]), "d"(b[0]));
}
TC_FN void tc_mma_m16n8k8_f64_f64(double* d, const double* a, const double* b) {
  asm volatile(TC_MMA("m16n8k8", "f64.f64.f64.f64") " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : TC_C4
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}
TC_FN void tc_mma_m16n8k16_f64_f64(double* d, const double* a, const double* b) {
  asm volatile(TC_MMA("m16n8k16", "f64.f64.f64.f64")
               " {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
               : TC_C4
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]),
                 "d"(b[1]), "d"(b[2]), "d"(b[3]));
}
#undef TC_C4
#endif
#undef TC_A
#undef TC_B
#undef TC_MMA
#undef TC_MMA_2_1_1
#undef TC_MMA_2_2_1
#undef TC_MMA_2_4_2
#undef TC_MMA_4_2_1
#undef TC_MMA_4_4_2

// -- 8 x 8 tiles of 16-bit elements between shared memory and registers ----------------------------------------------
// Lane i passes the address of row i % 8 of tile i / 8: 16 aligned bytes. A register holds two neighbouring elements.

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
