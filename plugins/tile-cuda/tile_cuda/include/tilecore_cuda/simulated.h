// The header on tilecore's simulated device: CUDA's own words, and what the neutral runtime does not have.
#pragma once
#include "tilecore_sim.h"

#define TC_FN inline __attribute__((always_inline))
#define TC_ARCH 900
#include "tilecore_c.h"

#define __global__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define blockIdx tc_sim_block_index()
#define threadIdx tc_sim_thread_index()
#define blockDim tc_sim_block_size()
#define gridDim tc_sim_grid_size()
#undef tc_assert
#define tc_assert(CONDITION, NUMBER, MESSAGE) ((CONDITION) ? (void)0 : tc_sim_assert_failed((NUMBER), __LINE__))
#define tc_assume(CONDITION) \
  do {                       \
    if (!(CONDITION)) tc_sim_fail("assumption", "an assumption does not hold: " #CONDITION, __LINE__); \
  } while (0)

// -- mathematics that the runtime leaves to backends ------------------------------------------------------------------

TC_FN float tc_sigmoid(float x) { return 1.0f / (1.0f + __builtin_expf(-x)); }
TC_FN double tc_sigmoid(double x) { return 1.0 / (1.0 + __builtin_exp(-x)); }
TC_FN float tc_ldexp(float x, int power) { return __builtin_ldexpf(x, power); }
TC_FN double tc_ldexp(double x, int power) { return __builtin_ldexp(x, power); }
TC_FN float tc_nextafter(float x, float y) { return __builtin_nextafterf(x, y); }
TC_FN double tc_nextafter(double x, double y) { return __builtin_nextafter(x, y); }
TC_FN float tc_floor_mod(float a, float b) { return a - __builtin_floorf(a / b) * b; }
TC_FN double tc_floor_mod(double a, double b) { return a - __builtin_floor(a / b) * b; }
TC_FN float tc_rounded(float x) { return x; }
TC_FN double tc_rounded(double x) { return x; }
TC_FN tc_half tc_nextafter(tc_half x, tc_half y) { return tc_neighbour<tc_half, uint16_t>(x, y); }
TC_FN tc_bfloat16 tc_nextafter(tc_bfloat16 x, tc_bfloat16 y) { return tc_neighbour<tc_bfloat16, uint16_t>(x, y); }
TC_FN tc_fp8_e4m3 tc_nextafter(tc_fp8_e4m3 x, tc_fp8_e4m3 y) { return tc_neighbour<tc_fp8_e4m3, uint8_t>(x, y); }
TC_FN tc_fp8_e5m2 tc_nextafter(tc_fp8_e5m2 x, tc_fp8_e5m2 y) { return tc_neighbour<tc_fp8_e5m2, uint8_t>(x, y); }
#define TC_FP8_EXTREMES(T)                                                    \
  TC_FN T tc_min(T a, T b) { return T(tc_min(float(a), float(b))); }          \
  TC_FN T tc_max(T a, T b) { return T(tc_max(float(a), float(b))); }
TC_FP8_EXTREMES(tc_fp8_e4m3)
TC_FP8_EXTREMES(tc_fp8_e5m2)
#undef TC_FP8_EXTREMES
// `long long` is another type than the runtime's int64_t on some hosts
#if defined(__LP64__) && !defined(__APPLE__)
TC_FN long long tc_min(long long a, long long b) { return a < b ? a : b; }
TC_FN long long tc_max(long long a, long long b) { return a < b ? b : a; }
TC_FN unsigned long long tc_min(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
TC_FN unsigned long long tc_max(unsigned long long a, unsigned long long b) { return a < b ? b : a; }
TC_FN long long tc_abs(long long a) { return a < 0 ? -a : a; }
TC_FN int tc_popcount(unsigned long long x) { return __builtin_popcountll(x); }
TC_FN int tc_clz(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
#endif

// -- hints and fences that order nothing more here -------------------------------------------------------------------

TC_FN void tc_prefetch_l2(const void*) {}
TC_FN unsigned long long tc_evict_first() { return 0; }
TC_FN unsigned long long tc_evict_last() { return 0; }
TC_FN void tc_load_with_policy(void* to, const void* from, unsigned long long, int line = TC_LINE) {
  tc_sim_move(to, from, 16, line);
}
TC_FN void tc_store_with_policy(void* to, const void* from, unsigned long long, int line = TC_LINE) {
  tc_sim_move(to, from, 16, line);
}
TC_FN void tc_transaction_fence_init() {}
TC_FN void tc_fence_async() { tc_sim_fence(0); }

// -- matrix instructions: d += a * b by the 32 lanes of a warp ---------------------------------------------------------
// Lane 4 g + t holds: of a, in word i, the elements (g + 8 (i % 2), 4 E (i / 2) + t E + j); of b, in word i, the elements
// (4 E i + t E + j, g); of d, at i, the element (g + 8 (i / 2), 2 t + i % 2). E: elements of a word; j: place in it.

template <class T>
TC_FN float tc_factor(T x) {
  return float(x);
}
TC_FN int tc_factor(signed char x) { return x; }
TC_FN int tc_factor(unsigned char x) { return x; }
TC_FN double tc_factor(double x) { return x; }
struct tc_tf32 {
  uint32_t bits;
};
TC_FN float tc_factor(tc_tf32 x) { return tc_bits_float(x.bits & ~uint32_t(0x1fff)); }

// E: elements of a word (1 for float64); AW, BW: words of a and b; CN: values of d that a lane holds.
template <class A, class B, class D, int E, int AW, int BW, int CN>
inline void tc_matrix(const char* name, D* d, const void* a, const void* b, int line) {
  struct Operands {
    A a[AW * E];
    B b[BW * E];
    D d[CN];
  } mine;
  __builtin_memcpy(mine.a, a, sizeof mine.a);
  __builtin_memcpy(mine.b, b, sizeof mine.b);
  for (int i = 0; i < CN; ++i) mine.d[i] = d[i];
  constexpr int rows_of_a = AW > 1 ? 2 : 1;
  tc_collective(
      name, mine,
      [](Operands* const* lanes, unsigned) {
        for (int lane = 0; lane < 32; ++lane) {
          const int g = lane / 4, t = lane % 4;
          for (int i = 0; i < CN; ++i) {
            const int half = i / 2, column = 2 * t + i % 2;
            auto total = lanes[lane]->d[i];
            for (int w = 0; w < BW; ++w) {
              for (int s = 0; s < 4; ++s) {
                for (int j = 0; j < E; ++j) {
                  total += tc_factor(lanes[4 * g + s]->a[(rows_of_a * w + half) * E + j]) *
                           tc_factor(lanes[4 * column + s]->b[w * E + j]);
                }
              }
            }
            lanes[lane]->d[i] = total;
          }
        }
      },
      32, 0, line);
  for (int i = 0; i < CN; ++i) d[i] = mine.d[i];
}
// Accumulators in halves: 4 of them in 2 words, summed in float and rounded once.
template <class A, int AW, int BW>
inline void tc_matrix_in_halves(const char* name, void* d, const void* a, const void* b, int line) {
  tc_half* halves = static_cast<tc_half*>(d);
  float wide[4];
  for (int i = 0; i < 4; ++i) wide[i] = float(halves[i]);
  tc_matrix<A, A, float, 2, AW, BW, 4>(name, wide, a, b, line);
  for (int i = 0; i < 4; ++i) halves[i] = tc_half(wide[i]);
}

#define TC_MMA(NAME, A, B, D, E, AW, BW, CN)                                                          \
  TC_FN void tc_mma_##NAME(D* d, const void* a, const void* b, int line = TC_LINE) {                  \
    tc_matrix<A, B, D, E, AW, BW, CN>("tc_mma_" #NAME, d, a, b, line);                                \
  }
TC_MMA(m16n8k8_f16_f32, tc_half, tc_half, float, 2, 2, 1, 4)
TC_MMA(m16n8k16_f16_f32, tc_half, tc_half, float, 2, 4, 2, 4)
TC_MMA(m16n8k8_bf16_f32, tc_bfloat16, tc_bfloat16, float, 2, 2, 1, 4)
TC_MMA(m16n8k16_bf16_f32, tc_bfloat16, tc_bfloat16, float, 2, 4, 2, 4)
TC_MMA(m16n8k4_tf32_f32, tc_tf32, tc_tf32, float, 1, 2, 1, 4)
TC_MMA(m16n8k8_tf32_f32, tc_tf32, tc_tf32, float, 1, 4, 2, 4)
TC_MMA(m8n8k16_s8_s32, signed char, signed char, int, 4, 1, 1, 2)
#define TC_MMA_INTEGER(X, A, Y, B)                                    \
  TC_MMA(m16n8k16_##X##_##Y##_s32, A, B, int, 4, 2, 1, 4)             \
  TC_MMA(m16n8k32_##X##_##Y##_s32, A, B, int, 4, 4, 2, 4)
TC_MMA_INTEGER(s8, signed char, s8, signed char)
TC_MMA_INTEGER(s8, signed char, u8, unsigned char)
TC_MMA_INTEGER(u8, unsigned char, s8, signed char)
TC_MMA_INTEGER(u8, unsigned char, u8, unsigned char)
TC_MMA(m16n8k32_e4m3_e4m3_f32, tc_fp8_e4m3, tc_fp8_e4m3, float, 4, 4, 2, 4)
TC_MMA(m16n8k32_e4m3_e5m2_f32, tc_fp8_e4m3, tc_fp8_e5m2, float, 4, 4, 2, 4)
TC_MMA(m16n8k32_e5m2_e4m3_f32, tc_fp8_e5m2, tc_fp8_e4m3, float, 4, 4, 2, 4)
TC_MMA(m16n8k32_e5m2_e5m2_f32, tc_fp8_e5m2, tc_fp8_e5m2, float, 4, 4, 2, 4)
TC_MMA(m8n8k4_f64_f64, double, double, double, 1, 1, 1, 2)
TC_MMA(m16n8k8_f64_f64, double, double, double, 1, 4, 2, 4)
#undef TC_MMA_INTEGER
#undef TC_MMA
TC_FN void tc_mma_m16n8k8_f16_f16(void* d, const void* a, const void* b, int line = TC_LINE) {
  tc_matrix_in_halves<tc_half, 2, 1>("tc_mma_m16n8k8_f16_f16", d, a, b, line);
}
TC_FN void tc_mma_m16n8k16_f16_f16(void* d, const void* a, const void* b, int line = TC_LINE) {
  tc_matrix_in_halves<tc_half, 4, 2>("tc_mma_m16n8k16_f16_f16", d, a, b, line);
}

// -- 8 x 8 tiles of 16-bit elements: lane 8 m + r names row r of tile m -----------------------------------------------

template <int Count, bool Trans, bool Stores>
inline void tc_matrix_tiles(const char* name, void* registers, const void* row, int line) {
  struct Operands {
    void* row;
    uint16_t values[2 * Count];
  } mine;
  mine.row = const_cast<void*>(row);
  if (Stores) __builtin_memcpy(mine.values, registers, sizeof mine.values);
  tc_collective(
      name, mine,
      [line](Operands* const* lanes, unsigned) {
        for (int tile = 0; tile < Count; ++tile) {
          uint16_t elements[8][8];
          if (!Stores) {
            for (int r = 0; r < 8; ++r) {
              tc_sim_act_as(unsigned(8 * tile + r));
              tc_sim_load(elements[r], lanes[8 * tile + r]->row, 16, 16, line);
            }
          }
          for (int lane = 0; lane < 32; ++lane) {
            for (int j = 0; j < 2; ++j) {
              const int across = lane / 4, along = lane % 4 * 2 + j;
              uint16_t& element = Trans ? elements[along][across] : elements[across][along];
              if (Stores) {
                element = lanes[lane]->values[2 * tile + j];
              } else {
                lanes[lane]->values[2 * tile + j] = element;
              }
            }
          }
          if (Stores) {
            for (int r = 0; r < 8; ++r) {
              tc_sim_act_as(unsigned(8 * tile + r));
              tc_sim_store(lanes[8 * tile + r]->row, elements[r], 16, 16, line);
            }
          }
        }
      },
      32, 0, line);
  if (!Stores) __builtin_memcpy(registers, mine.values, sizeof mine.values);
}
#define TC_TILES(COUNT, SUFFIX, TRANS)                                                              \
  TC_FN void tc_ldmatrix_x##COUNT##SUFFIX(void* to, const void* row, int line = TC_LINE) {          \
    tc_matrix_tiles<COUNT, TRANS, false>("tc_ldmatrix_x" #COUNT #SUFFIX, to, row, line);            \
  }                                                                                                 \
  TC_FN void tc_stmatrix_x##COUNT##SUFFIX(void* row, const void* from, int line = TC_LINE) {        \
    tc_matrix_tiles<COUNT, TRANS, true>("tc_stmatrix_x" #COUNT #SUFFIX, const_cast<void*>(from), row, line); \
  }
TC_TILES(1, , false)
TC_TILES(2, , false)
TC_TILES(4, , false)
TC_TILES(1, _trans, true)
TC_TILES(2, _trans, true)
TC_TILES(4, _trans, true)
#undef TC_TILES
