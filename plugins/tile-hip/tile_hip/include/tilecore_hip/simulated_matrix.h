// The matrix instructions on the simulated device: each gathers the operands of the wave by the lane layouts that AMD
// documents (tile_hip/lowering/matrix_instructions.py lists them), and multiplies in plain C++.
#pragma once

template <class T, int Count>
struct tc_registers_of {
  T at[Count];
};
#define TC_VECTOR(NAME, T, COUNT) typedef tc_registers_of<T, COUNT> NAME
TC_VECTOR(tc_f16x4, tc_half, 4);
TC_VECTOR(tc_f16x8, tc_half, 8);
TC_VECTOR(tc_f16x16, tc_half, 16);
TC_VECTOR(tc_bf16x4, tc_bfloat16, 4);
TC_VECTOR(tc_bf16x8, tc_bfloat16, 8);
TC_VECTOR(tc_bf16x16, tc_bfloat16, 16);
TC_VECTOR(tc_f32x4, float, 4);
TC_VECTOR(tc_f32x8, float, 8);
TC_VECTOR(tc_f32x16, float, 16);
TC_VECTOR(tc_f64x4, double, 4);
TC_VECTOR(tc_i32x2, int, 2);
TC_VECTOR(tc_i32x4, int, 4);
TC_VECTOR(tc_i32x8, int, 8);
TC_VECTOR(tc_i32x16, int, 16);
#undef TC_VECTOR
#define TC_LINE_PARAMETER , int line = TC_LINE
#define TC_LINE_ARGUMENT , line

// The row of the result that element e of a lane has, for results of Size x Size; the column is lane % Size.
template <int Size>
struct tc_rows_of_mfma {
  static int row(int lane, int e) { return 4 * (64 / Size) * (e / 4) + 4 * (lane / Size) + e % 4; }
};
struct tc_rows_of_mfma_f64 {
  static int row(int lane, int e) { return 4 * e + lane / 16; }
};
struct tc_rows_of_gfx11 {
  static int row(int lane, int e) { return 2 * e + lane / 16; }
};
struct tc_rows_of_gfx12 {
  static int row(int lane, int e) { return 8 * (lane / 16) + e; }
};

TC_FN float tc_sum_of_product(float sum, float a, float b) { return sum + a * b; }
TC_FN double tc_sum_of_product(double sum, double a, double b) { return __builtin_fma(a, b, sum); }
TC_FN int tc_sum_of_product(int sum, int a, int b) { return int(unsigned(sum) + unsigned(a) * unsigned(b)); }

// FactorA, FactorB: the elements of A and B, Each in a lane. Sum: the elements of the result. Groups: of lanes with
// different k; where there are fewer than lanes / Size, further lanes hold copies.
template <class Rows, int Size, int Groups, class FactorA, class FactorB, class Sum, class V, class D>
inline D tc_matrix_of_wave(const char* name, V a, V b, D c, int line) {
  constexpr int Each = sizeof(V) / sizeof(FactorA), Depth = Each * Groups, Results = sizeof(D) / sizeof(Sum);
  struct Operands {
    FactorA a[Each];
    FactorB b[Each];
    Sum d[Results];
  } operands;
  __builtin_memcpy(operands.a, &a, sizeof operands.a);
  __builtin_memcpy(operands.b, &b, sizeof operands.b);
  __builtin_memcpy(operands.d, &c, sizeof operands.d);
  tc_collective(
      name, operands,
      [=](Operands* const* lanes, unsigned count) {
        Sum left[Size][Depth], right[Size][Depth];
        for (int lane = 0; lane < int(count); ++lane) {
          const Operands& of_lane = *lanes[lane];
          if (lane >= Size * Groups) {
            const Operands& first = *lanes[lane % Size];
            if (__builtin_memcmp(first.a, of_lane.a, sizeof first.a) || __builtin_memcmp(first.b, of_lane.b, sizeof first.b))
              tc_sim_fail("matrix operands", "lanes from 16 on must hold what lanes 0 to 15 hold", line);
            continue;
          }
          for (int e = 0; e < Each; ++e) {
            left[lane % Size][Each * (lane / Size) + e] = Sum(of_lane.a[e]);
            right[lane % Size][Each * (lane / Size) + e] = Sum(of_lane.b[e]);
          }
        }
        for (int lane = 0; lane < int(count); ++lane) {
          for (int i = 0; i < Results; ++i) {
            const int row = Rows::row(lane, i), column = lane % Size;
            Sum sum = lanes[lane]->d[i];
            for (int k = 0; k < Depth; ++k) sum = tc_sum_of_product(sum, left[row][k], right[column][k]);
            lanes[lane]->d[i] = sum;
          }
        }
      },
      TC_WAVE, 0, line);
  __builtin_memcpy(&c, operands.d, sizeof operands.d);
  return c;
}

#if TC_ISA_VERSION < 10000
#define TC_MFMA_AS(NAME, SIZE, FA, FB, SUM, D, V)                                                          \
  inline D tc_mfma_##NAME(V a, V b, D c, int line) {                                                       \
    return tc_matrix_of_wave<tc_rows_of_mfma<SIZE>, SIZE, 64 / SIZE, FA, FB, SUM>("mfma " #NAME, a, b, c, line); \
  }
#define TC_MFMA(NAME, SIZE, F, D, V) TC_MFMA_AS(NAME, SIZE, F, F, float, D, V)
TC_MFMA(f32_32x32x8f16, 32, tc_half, tc_f32x16, tc_f16x4)
TC_MFMA(f32_16x16x16f16, 16, tc_half, tc_f32x4, tc_f16x4)
TC_MFMA(f32_32x32x8bf16_1k, 32, tc_bfloat16, tc_f32x16, tc_bf16x4)
TC_MFMA(f32_16x16x16bf16_1k, 16, tc_bfloat16, tc_f32x4, tc_bf16x4)
TC_MFMA(f32_32x32x2f32, 32, float, tc_f32x16, float)
TC_MFMA(f32_16x16x4f32, 16, float, tc_f32x4, float)
TC_MFMA(f32_32x32x16_f16, 32, tc_half, tc_f32x16, tc_f16x8)
TC_MFMA(f32_16x16x32_f16, 16, tc_half, tc_f32x4, tc_f16x8)
TC_MFMA(f32_32x32x16_bf16, 32, tc_bfloat16, tc_f32x16, tc_bf16x8)
TC_MFMA(f32_16x16x32_bf16, 16, tc_bfloat16, tc_f32x4, tc_bf16x8)
#define TC_MFMA_INTEGER(NAME, SIZE, D, V) TC_MFMA_AS(NAME, SIZE, signed char, signed char, int, D, V)
TC_MFMA_INTEGER(i32_32x32x8i8, 32, tc_i32x16, int)
TC_MFMA_INTEGER(i32_16x16x16i8, 16, tc_i32x4, int)
TC_MFMA_INTEGER(i32_32x32x16_i8, 32, tc_i32x16, long)
TC_MFMA_INTEGER(i32_16x16x32_i8, 16, tc_i32x4, long)
TC_MFMA_INTEGER(i32_32x32x32_i8, 32, tc_i32x16, tc_i32x4)
TC_MFMA_INTEGER(i32_16x16x64_i8, 16, tc_i32x4, tc_i32x4)
#undef TC_MFMA_INTEGER
inline tc_f64x4 tc_mfma_f64_16x16x4f64(double a, double b, tc_f64x4 c, int line) {
  return tc_matrix_of_wave<tc_rows_of_mfma_f64, 16, 4, double, double, double>("mfma f64_16x16x4f64", a, b, c, line);
}
#if TC_ISA_VERSION >= 9500
typedef tc_fp8_e4m3 tc_matrix_fp8;
typedef tc_fp8_e5m2 tc_matrix_bf8;
#else
typedef tc_fp8_e4m3fnuz tc_matrix_fp8;
typedef tc_fp8_e5m2fnuz tc_matrix_bf8;
#endif
// The scaled instructions order k differently, but alike for A and B: sums of the same products.
#define TC_MFMA_FLOAT8(TYPES, SCALED, FA, FB)                                            \
  TC_MFMA_AS(f32_32x32x16_##TYPES, 32, FA, FB, float, tc_f32x16, long)                   \
  TC_MFMA_AS(f32_16x16x32_##TYPES, 16, FA, FB, float, tc_f32x4, long)                    \
  TC_MFMA_AS(scale_f32_32x32x64_##SCALED, 32, FA, FB, float, tc_f32x16, tc_i32x8)        \
  TC_MFMA_AS(scale_f32_16x16x128_##SCALED, 16, FA, FB, float, tc_f32x4, tc_i32x8)
TC_MFMA_FLOAT8(fp8_fp8, e4m3_e4m3, tc_matrix_fp8, tc_matrix_fp8)
TC_MFMA_FLOAT8(fp8_bf8, e4m3_e5m2, tc_matrix_fp8, tc_matrix_bf8)
TC_MFMA_FLOAT8(bf8_fp8, e5m2_e4m3, tc_matrix_bf8, tc_matrix_fp8)
TC_MFMA_FLOAT8(bf8_bf8, e5m2_e5m2, tc_matrix_bf8, tc_matrix_bf8)
#undef TC_MFMA_FLOAT8
#undef TC_MFMA
#undef TC_MFMA_AS
#elif TC_WAVE == 32
#if TC_ISA_VERSION < 12000
#define TC_WMMA_ROWS tc_rows_of_gfx11, 16, 1
#define TC_FLOATS(NAME) NAME##x16
#define TC_BYTES tc_i32x4
#else
#define TC_WMMA_ROWS tc_rows_of_gfx12, 16, 2
#define TC_FLOATS(NAME) NAME##x8
#define TC_BYTES tc_i32x2
#endif
#define TC_WMMA(NAME, FA, FB, SUM, D, V)                                                      \
  inline D tc_wmma_##NAME(V a, V b, D c, int line) {                                          \
    return tc_matrix_of_wave<TC_WMMA_ROWS, FA, FB, SUM>("wmma " #NAME, a, b, c, line);        \
  }
TC_WMMA(f32_16x16x16_f16, tc_half, tc_half, float, tc_f32x8, TC_FLOATS(tc_f16))
TC_WMMA(f32_16x16x16_bf16, tc_bfloat16, tc_bfloat16, float, tc_f32x8, TC_FLOATS(tc_bf16))
TC_WMMA(i32_16x16x16_s8_s8, signed char, signed char, int, tc_i32x8, TC_BYTES)
TC_WMMA(i32_16x16x16_s8_u8, signed char, unsigned char, int, tc_i32x8, TC_BYTES)
TC_WMMA(i32_16x16x16_u8_s8, unsigned char, signed char, int, tc_i32x8, TC_BYTES)
TC_WMMA(i32_16x16x16_u8_u8, unsigned char, unsigned char, int, tc_i32x8, TC_BYTES)
TC_WMMA(f32_16x16x16_fp8_fp8, tc_fp8_e4m3, tc_fp8_e4m3, float, tc_f32x8, TC_BYTES)
TC_WMMA(f32_16x16x16_fp8_bf8, tc_fp8_e4m3, tc_fp8_e5m2, float, tc_f32x8, TC_BYTES)
TC_WMMA(f32_16x16x16_bf8_fp8, tc_fp8_e5m2, tc_fp8_e4m3, float, tc_f32x8, TC_BYTES)
TC_WMMA(f32_16x16x16_bf8_bf8, tc_fp8_e5m2, tc_fp8_e5m2, float, tc_f32x8, TC_BYTES)
#undef TC_WMMA
#undef TC_WMMA_ROWS
#undef TC_FLOATS
#undef TC_BYTES
#endif
TC_FN void tc_scheduling_fence() {}
#include "tilecore_hip/matrix.h"
