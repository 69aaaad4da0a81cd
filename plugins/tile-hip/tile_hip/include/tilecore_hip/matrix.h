// Products by the lanes of a wave: tc_mma_<size>x<size>x<depth>_<types>(d, a, b) computes d += a * b. The instructions
// get b as their operand A and a as B, so that the result is transposed: a lane has one row of d. Where an operand has
// more elements in a lane than an instruction takes, several instructions follow one another.
//
// <along_m, along_n>: the lane has so many neighbouring rows of a and columns of b, which go to as many products: the
// elements of a product are along_m (along_n) apart in a (b), and its result follows that of the product before in d.
#pragma once

// Part number `part` of the operand of product number `product`: `each` elements, which are `products` apart.
template <class Vector, class Element, int Each>
TC_FN Vector tc_operand_part(const void* operand, int part, int product, int products) {
  Vector vector;
  if (products == 1) {
    __builtin_memcpy(&vector, static_cast<const char*>(operand) + part * sizeof(Vector), sizeof(Vector));
    return vector;
  }
  Element elements[Each];
#pragma unroll
  for (int e = 0; e < Each; ++e)
    __builtin_memcpy(elements + e, static_cast<const Element*>(operand) + (part * Each + e) * products + product,
                     sizeof(Element));
  __builtin_memcpy(&vector, elements, sizeof(Vector));
  return vector;
}

// NAME: of the function. PARTS: of each operand. D: the result's vector in a lane. A, B: the operands' vectors of one
// instruction, whose elements of type E number EACH. INSTRUCTION(b, a, sum): what the wave executes.
#define TC_MMA(NAME, PARTS, D, A, B, E, EACH, INSTRUCTION)                                                     \
  template <int AlongM = 1, int AlongN = 1>                                                                    \
  TC_FN void tc_mma_##NAME(void* d, const void* a, const void* b TC_LINE_PARAMETER) {                          \
    _Pragma("unroll") for (int i = 0; i < AlongM; ++i) _Pragma("unroll") for (int j = 0; j < AlongN; ++j) {    \
      char* place = static_cast<char*>(d) + (i * AlongN + j) * sizeof(D);                                      \
      D sum;                                                                                                   \
      __builtin_memcpy(&sum, place, sizeof(D));                                                                \
      _Pragma("unroll") for (int part = 0; part < PARTS; ++part)                                               \
          sum = INSTRUCTION((tc_operand_part<B, E, EACH>(b, part, j, AlongN)),                                 \
                            (tc_operand_part<A, E, EACH>(a, part, i, AlongM)), sum TC_LINE_ARGUMENT);          \
      __builtin_memcpy(place, &sum, sizeof(D));                                                                \
    }                                                                                                          \
  }
#if TC_ISA_VERSION < 10000  // CDNA: MFMA
// clang-format off
#if TC_ISA_VERSION >= 9500
TC_MMA(32x32x16_f16, 1, tc_f32x16, tc_f16x8, tc_f16x8, unsigned short, 8, tc_mfma_f32_32x32x16_f16)
TC_MMA(16x16x32_f16, 1, tc_f32x4, tc_f16x8, tc_f16x8, unsigned short, 8, tc_mfma_f32_16x16x32_f16)
TC_MMA(32x32x16_bf16, 1, tc_f32x16, tc_bf16x8, tc_bf16x8, unsigned short, 8, tc_mfma_f32_32x32x16_bf16)
TC_MMA(16x16x32_bf16, 1, tc_f32x4, tc_bf16x8, tc_bf16x8, unsigned short, 8, tc_mfma_f32_16x16x32_bf16)
#else
TC_MMA(32x32x16_f16, 2, tc_f32x16, tc_f16x4, tc_f16x4, unsigned short, 4, tc_mfma_f32_32x32x8f16)
TC_MMA(16x16x32_f16, 2, tc_f32x4, tc_f16x4, tc_f16x4, unsigned short, 4, tc_mfma_f32_16x16x16f16)
TC_MMA(32x32x16_bf16, 2, tc_f32x16, tc_bf16x4, tc_bf16x4, unsigned short, 4, tc_mfma_f32_32x32x8bf16_1k)
TC_MMA(16x16x32_bf16, 2, tc_f32x4, tc_bf16x4, tc_bf16x4, unsigned short, 4, tc_mfma_f32_16x16x16bf16_1k)
#endif
TC_MMA(32x32x8_f16, 1, tc_f32x16, tc_f16x4, tc_f16x4, unsigned short, 4, tc_mfma_f32_32x32x8f16)
TC_MMA(16x16x16_f16, 1, tc_f32x4, tc_f16x4, tc_f16x4, unsigned short, 4, tc_mfma_f32_16x16x16f16)
TC_MMA(32x32x8_bf16, 1, tc_f32x16, tc_bf16x4, tc_bf16x4, unsigned short, 4, tc_mfma_f32_32x32x8bf16_1k)
TC_MMA(16x16x16_bf16, 1, tc_f32x4, tc_bf16x4, tc_bf16x4, unsigned short, 4, tc_mfma_f32_16x16x16bf16_1k)
TC_MMA(32x32x8_f32, 4, tc_f32x16, float, float, float, 1, tc_mfma_f32_32x32x2f32)
TC_MMA(16x16x16_f32, 4, tc_f32x4, float, float, float, 1, tc_mfma_f32_16x16x4f32)
TC_MMA(32x32x2_f32, 1, tc_f32x16, float, float, float, 1, tc_mfma_f32_32x32x2f32)
TC_MMA(16x16x4_f32, 1, tc_f32x4, float, float, float, 1, tc_mfma_f32_16x16x4f32)
TC_MMA(16x16x8_f64, 2, tc_f64x4, double, double, double, 1, tc_mfma_f64_16x16x4f64)
TC_MMA(16x16x4_f64, 1, tc_f64x4, double, double, double, 1, tc_mfma_f64_16x16x4f64)
#if TC_ISA_VERSION >= 9500
TC_MMA(32x32x32_s8, 1, tc_i32x16, tc_i32x4, tc_i32x4, signed char, 16, tc_mfma_i32_32x32x32_i8)
TC_MMA(16x16x64_s8, 1, tc_i32x4, tc_i32x4, tc_i32x4, signed char, 16, tc_mfma_i32_16x16x64_i8)
#elif TC_ISA_VERSION >= 9402
TC_MMA(32x32x32_s8, 2, tc_i32x16, long, long, signed char, 8, tc_mfma_i32_32x32x16_i8)
TC_MMA(16x16x64_s8, 2, tc_i32x4, long, long, signed char, 8, tc_mfma_i32_16x16x32_i8)
#else
TC_MMA(32x32x32_s8, 4, tc_i32x16, int, int, signed char, 4, tc_mfma_i32_32x32x8i8)
TC_MMA(16x16x64_s8, 4, tc_i32x4, int, int, signed char, 4, tc_mfma_i32_16x16x16i8)
#endif
#if TC_ISA_VERSION >= 9402
TC_MMA(32x32x16_s8, 1, tc_i32x16, long, long, signed char, 8, tc_mfma_i32_32x32x16_i8)
TC_MMA(16x16x32_s8, 1, tc_i32x4, long, long, signed char, 8, tc_mfma_i32_16x16x32_i8)
#else
TC_MMA(32x32x16_s8, 2, tc_i32x16, int, int, signed char, 4, tc_mfma_i32_32x32x8i8)
TC_MMA(16x16x32_s8, 2, tc_i32x4, int, int, signed char, 4, tc_mfma_i32_16x16x16i8)
#endif
// TYPES: of T.gemm's A and B. SWAPPED: those of the instruction's.
#define TC_MMA_FLOAT8(TYPES, SWAPPED)                                                                              \
  TC_MMA(32x32x32_##TYPES, 2, tc_f32x16, long, long, unsigned char, 8, tc_mfma_f32_32x32x16_##SWAPPED)             \
  TC_MMA(16x16x64_##TYPES, 2, tc_f32x4, long, long, unsigned char, 8, tc_mfma_f32_16x16x32_##SWAPPED)              \
  TC_MMA(32x32x16_##TYPES, 1, tc_f32x16, long, long, unsigned char, 8, tc_mfma_f32_32x32x16_##SWAPPED)             \
  TC_MMA(16x16x32_##TYPES, 1, tc_f32x4, long, long, unsigned char, 8, tc_mfma_f32_16x16x32_##SWAPPED)
#define TC_MMA_SCALED(TYPES, SWAPPED)                                                                              \
  TC_MMA(32x32x64_##TYPES, 1, tc_f32x16, tc_i32x8, tc_i32x8, unsigned char, 32, tc_mfma_scale_f32_32x32x64_##SWAPPED) \
  TC_MMA(16x16x128_##TYPES, 1, tc_f32x4, tc_i32x8, tc_i32x8, unsigned char, 32, tc_mfma_scale_f32_16x16x128_##SWAPPED)
#if TC_ISA_VERSION >= 9500
TC_MMA_FLOAT8(e4m3, fp8_fp8)
TC_MMA_FLOAT8(e4m3_e5m2, bf8_fp8)
TC_MMA_FLOAT8(e5m2_e4m3, fp8_bf8)
TC_MMA_FLOAT8(e5m2, bf8_bf8)
TC_MMA_SCALED(e4m3, e4m3_e4m3)
TC_MMA_SCALED(e4m3_e5m2, e5m2_e4m3)
TC_MMA_SCALED(e5m2_e4m3, e4m3_e5m2)
TC_MMA_SCALED(e5m2, e5m2_e5m2)
#elif TC_ISA_VERSION >= 9402  // the types without -0
TC_MMA_FLOAT8(e4m3fnuz, fp8_fp8)
TC_MMA_FLOAT8(e4m3fnuz_e5m2fnuz, bf8_fp8)
TC_MMA_FLOAT8(e5m2fnuz_e4m3fnuz, fp8_bf8)
TC_MMA_FLOAT8(e5m2fnuz, bf8_bf8)
#endif
#undef TC_MMA_FLOAT8
#undef TC_MMA_SCALED
#elif TC_WAVE != 32  // products on RDNA are those of waves of 32 lanes
#elif TC_ISA_VERSION < 12000  // RDNA 3: lanes hold whole rows of 16 elements
TC_MMA(16x16x16_f16, 1, tc_f32x8, tc_f16x16, tc_f16x16, unsigned short, 16, tc_wmma_f32_16x16x16_f16)
TC_MMA(16x16x16_bf16, 1, tc_f32x8, tc_bf16x16, tc_bf16x16, unsigned short, 16, tc_wmma_f32_16x16x16_bf16)
TC_MMA(16x16x16_s8, 1, tc_i32x8, tc_i32x4, tc_i32x4, unsigned char, 16, tc_wmma_i32_16x16x16_s8_s8)
TC_MMA(16x16x16_s8_u8, 1, tc_i32x8, tc_i32x4, tc_i32x4, unsigned char, 16, tc_wmma_i32_16x16x16_u8_s8)
TC_MMA(16x16x16_u8_s8, 1, tc_i32x8, tc_i32x4, tc_i32x4, unsigned char, 16, tc_wmma_i32_16x16x16_s8_u8)
TC_MMA(16x16x16_u8, 1, tc_i32x8, tc_i32x4, tc_i32x4, unsigned char, 16, tc_wmma_i32_16x16x16_u8_u8)
#else  // RDNA 4: lanes hold half rows of 8 elements
TC_MMA(16x16x16_f16, 1, tc_f32x8, tc_f16x8, tc_f16x8, unsigned short, 8, tc_wmma_f32_16x16x16_f16)
TC_MMA(16x16x16_bf16, 1, tc_f32x8, tc_bf16x8, tc_bf16x8, unsigned short, 8, tc_wmma_f32_16x16x16_bf16)
#define TC_MMA_BYTES(TYPES, D, INSTRUCTION)                                                        \
  TC_MMA(16x16x16_##TYPES, 1, D, tc_i32x2, tc_i32x2, unsigned char, 8, INSTRUCTION)                \
  TC_MMA(16x16x32_##TYPES, 2, D, tc_i32x2, tc_i32x2, unsigned char, 8, INSTRUCTION)
TC_MMA_BYTES(s8, tc_i32x8, tc_wmma_i32_16x16x16_s8_s8)
TC_MMA_BYTES(s8_u8, tc_i32x8, tc_wmma_i32_16x16x16_u8_s8)
TC_MMA_BYTES(u8_s8, tc_i32x8, tc_wmma_i32_16x16x16_s8_u8)
TC_MMA_BYTES(u8, tc_i32x8, tc_wmma_i32_16x16x16_u8_u8)
TC_MMA_BYTES(e4m3, tc_f32x8, tc_wmma_f32_16x16x16_fp8_fp8)
TC_MMA_BYTES(e4m3_e5m2, tc_f32x8, tc_wmma_f32_16x16x16_bf8_fp8)
TC_MMA_BYTES(e5m2_e4m3, tc_f32x8, tc_wmma_f32_16x16x16_fp8_bf8)
TC_MMA_BYTES(e5m2, tc_f32x8, tc_wmma_f32_16x16x16_bf8_bf8)
#undef TC_MMA_BYTES
#endif
// clang-format on
#undef TC_MMA
