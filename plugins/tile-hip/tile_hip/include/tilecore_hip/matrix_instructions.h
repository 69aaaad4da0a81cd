// The matrix instructions as functions (a, b, c) of the instruction's own operands: clang's built-ins.
#pragma once

#define TC_VECTOR(NAME, T, COUNT) typedef T NAME __attribute__((ext_vector_type(COUNT)))
TC_VECTOR(tc_f16x4, _Float16, 4);
TC_VECTOR(tc_f16x8, _Float16, 8);
TC_VECTOR(tc_f16x16, _Float16, 16);
TC_VECTOR(tc_bf16x4, short, 4);
TC_VECTOR(tc_bf16x16, short, 16);
#if TC_ISA_VERSION == 9500
TC_VECTOR(tc_bf16x8, __bf16, 8);
#else
TC_VECTOR(tc_bf16x8, short, 8);
#endif
TC_VECTOR(tc_f32x4, float, 4);
TC_VECTOR(tc_f32x8, float, 8);
TC_VECTOR(tc_f32x16, float, 16);
TC_VECTOR(tc_f64x4, double, 4);
TC_VECTOR(tc_i32x2, int, 2);
TC_VECTOR(tc_i32x4, int, 4);
TC_VECTOR(tc_i32x8, int, 8);
TC_VECTOR(tc_i32x16, int, 16);
#undef TC_VECTOR
#define TC_LINE_PARAMETER
#define TC_LINE_ARGUMENT

#if TC_ISA_VERSION < 10000
#define TC_MFMA(NAME, D, V) \
  TC_FN D tc_mfma_##NAME(V a, V b, D c) { return __builtin_amdgcn_mfma_##NAME(a, b, c, 0, 0, 0); }
TC_MFMA(f32_32x32x8f16, tc_f32x16, tc_f16x4)
TC_MFMA(f32_16x16x16f16, tc_f32x4, tc_f16x4)
TC_MFMA(f32_32x32x8bf16_1k, tc_f32x16, tc_bf16x4)
TC_MFMA(f32_16x16x16bf16_1k, tc_f32x4, tc_bf16x4)
TC_MFMA(f32_32x32x2f32, tc_f32x16, float)
TC_MFMA(f32_16x16x4f32, tc_f32x4, float)
TC_MFMA(f64_16x16x4f64, tc_f64x4, double)
#if TC_ISA_VERSION >= 9402
TC_MFMA(i32_32x32x16_i8, tc_i32x16, long)
TC_MFMA(i32_16x16x32_i8, tc_i32x4, long)
#define TC_MFMA_FLOAT8(TYPES)                        \
  TC_MFMA(f32_32x32x16_##TYPES, tc_f32x16, long)     \
  TC_MFMA(f32_16x16x32_##TYPES, tc_f32x4, long)
TC_MFMA_FLOAT8(fp8_fp8)
TC_MFMA_FLOAT8(fp8_bf8)
TC_MFMA_FLOAT8(bf8_fp8)
TC_MFMA_FLOAT8(bf8_bf8)
#undef TC_MFMA_FLOAT8
#else
TC_MFMA(i32_32x32x8i8, tc_i32x16, int)
TC_MFMA(i32_16x16x16i8, tc_i32x4, int)
#endif
#if TC_ISA_VERSION >= 9500
TC_MFMA(f32_32x32x16_f16, tc_f32x16, tc_f16x8)
TC_MFMA(f32_16x16x32_f16, tc_f32x4, tc_f16x8)
TC_MFMA(f32_32x32x16_bf16, tc_f32x16, tc_bf16x8)
TC_MFMA(f32_16x16x32_bf16, tc_f32x4, tc_bf16x8)
TC_MFMA(i32_32x32x32_i8, tc_i32x16, tc_i32x4)
TC_MFMA(i32_16x16x64_i8, tc_i32x4, tc_i32x4)
// A_TYPE, B_TYPE: 0 for e4m3, 1 for e5m2. The scales are 1: bytes of 127.
#define TC_MFMA_SCALED(TYPES, A_TYPE, B_TYPE)                                                                   \
  TC_FN tc_f32x16 tc_mfma_scale_f32_32x32x64_##TYPES(tc_i32x8 a, tc_i32x8 b, tc_f32x16 c) {                     \
    return __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a, b, c, A_TYPE, B_TYPE, 0, 0x7f7f7f7f, 0, 0x7f7f7f7f); \
  }                                                                                                             \
  TC_FN tc_f32x4 tc_mfma_scale_f32_16x16x128_##TYPES(tc_i32x8 a, tc_i32x8 b, tc_f32x4 c) {                      \
    return __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, c, A_TYPE, B_TYPE, 0, 0x7f7f7f7f, 0, 0x7f7f7f7f); \
  }
TC_MFMA_SCALED(e4m3_e4m3, 0, 0)
TC_MFMA_SCALED(e4m3_e5m2, 0, 1)
TC_MFMA_SCALED(e5m2_e4m3, 1, 0)
TC_MFMA_SCALED(e5m2_e5m2, 1, 1)
#undef TC_MFMA_SCALED
#endif
#undef TC_MFMA
#elif TC_WAVE == 32
// SUFFIX: of the built-in's name.
#if TC_ISA_VERSION < 12000
#define TC_WMMA_NAME(NAME) __builtin_amdgcn_wmma_##NAME##_w32
#define TC_FLOATS(NAME) NAME##x16
#define TC_BYTES tc_i32x4
#else
#define TC_WMMA_NAME(NAME) __builtin_amdgcn_wmma_##NAME##_w32_gfx12
#define TC_FLOATS(NAME) NAME##x8
#define TC_BYTES tc_i32x2
#endif
TC_FN tc_f32x8 tc_wmma_f32_16x16x16_f16(TC_FLOATS(tc_f16) a, TC_FLOATS(tc_f16) b, tc_f32x8 c) {
  return TC_WMMA_NAME(f32_16x16x16_f16)(a, b, c);
}
TC_FN tc_f32x8 tc_wmma_f32_16x16x16_bf16(TC_FLOATS(tc_bf16) a, TC_FLOATS(tc_bf16) b, tc_f32x8 c) {
  return TC_WMMA_NAME(f32_16x16x16_bf16)(a, b, c);
}
#define TC_WMMA_INTEGER(TYPES, A_SIGNED, B_SIGNED)                                              \
  TC_FN tc_i32x8 tc_wmma_i32_16x16x16_##TYPES(TC_BYTES a, TC_BYTES b, tc_i32x8 c) {             \
    return TC_WMMA_NAME(i32_16x16x16_iu8)(A_SIGNED, a, B_SIGNED, b, c, false);                  \
  }
TC_WMMA_INTEGER(s8_s8, true, true)
TC_WMMA_INTEGER(s8_u8, true, false)
TC_WMMA_INTEGER(u8_s8, false, true)
TC_WMMA_INTEGER(u8_u8, false, false)
#undef TC_WMMA_INTEGER
#if TC_ISA_VERSION >= 12000
#define TC_WMMA_FLOAT8(TYPES)                                                                   \
  TC_FN tc_f32x8 tc_wmma_f32_16x16x16_##TYPES(TC_BYTES a, TC_BYTES b, tc_f32x8 c) {             \
    return TC_WMMA_NAME(f32_16x16x16_##TYPES)(a, b, c);                                         \
  }
TC_WMMA_FLOAT8(fp8_fp8)
TC_WMMA_FLOAT8(fp8_bf8)
TC_WMMA_FLOAT8(bf8_fp8)
TC_WMMA_FLOAT8(bf8_bf8)
#undef TC_WMMA_FLOAT8
#endif
#undef TC_WMMA_NAME
#undef TC_FLOATS
#undef TC_BYTES
#endif

// The compiler moves no instruction across it.
TC_FN void tc_scheduling_fence() { __builtin_amdgcn_sched_barrier(0); }
