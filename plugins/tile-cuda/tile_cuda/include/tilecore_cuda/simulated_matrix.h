// Matrix instructions on the simulated device: the operands of a warp are gathered and multiplied in plain C++.
#pragma once

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
template <class A, class B, int E, int AW, int BW>
inline void tc_matrix_in_halves(const char* name, void* d, const void* a, const void* b, int line) {
  tc_half* halves = static_cast<tc_half*>(d);
  float wide[4];
  for (int i = 0; i < 4; ++i) wide[i] = float(halves[i]);
  tc_matrix<A, B, float, E, AW, BW, 4>(name, wide, a, b, line);
  for (int i = 0; i < 4; ++i) halves[i] = tc_half(wide[i]);
}

#define TC_MMA(NAME, A, B, D, E, AW, BW, CN)                                                          \
  TC_FN void tc_mma_##NAME(void* d, const void* a, const void* b, int line = TC_LINE) {               \
    tc_matrix<A, B, D, E, AW, BW, CN>("tc_mma_" #NAME, static_cast<D*>(d), a, b, line);               \
  }
#define TC_MMA_HALVES(NAME, A, B, E, AW, BW)                                                          \
  TC_FN void tc_mma_##NAME(void* d, const void* a, const void* b, int line = TC_LINE) {               \
    tc_matrix_in_halves<A, B, E, AW, BW>("tc_mma_" #NAME, d, a, b, line);                             \
  }
TC_MMA(m16n8k8_f16_f32, tc_half, tc_half, float, 2, 2, 1, 4)
TC_MMA(m16n8k16_f16_f32, tc_half, tc_half, float, 2, 4, 2, 4)
TC_MMA_HALVES(m16n8k8_f16_f16, tc_half, tc_half, 2, 2, 1)
TC_MMA_HALVES(m16n8k16_f16_f16, tc_half, tc_half, 2, 4, 2)
TC_MMA(m16n8k8_bf16_f32, tc_bfloat16, tc_bfloat16, float, 2, 2, 1, 4)
TC_MMA(m16n8k16_bf16_f32, tc_bfloat16, tc_bfloat16, float, 2, 4, 2, 4)
TC_MMA(m16n8k4_tf32_f32, tc_tf32, tc_tf32, float, 1, 2, 1, 4)
TC_MMA(m16n8k8_tf32_f32, tc_tf32, tc_tf32, float, 1, 4, 2, 4)
#define TC_MMA_INTEGER(NAME, A, B)                                    \
  TC_MMA(m8n8k16_##NAME##_s32, A, B, int, 4, 1, 1, 2)                 \
  TC_MMA(m16n8k16_##NAME##_s32, A, B, int, 4, 2, 1, 4)                \
  TC_MMA(m16n8k32_##NAME##_s32, A, B, int, 4, 4, 2, 4)
TC_MMA_INTEGER(s8, signed char, signed char)
TC_MMA_INTEGER(s8_u8, signed char, unsigned char)
TC_MMA_INTEGER(u8_s8, unsigned char, signed char)
TC_MMA_INTEGER(u8, unsigned char, unsigned char)
#define TC_MMA_FP8(NAME, A, B)                                        \
  TC_MMA(m16n8k16_##NAME##_f32, A, B, float, 4, 2, 1, 4)              \
  TC_MMA(m16n8k32_##NAME##_f32, A, B, float, 4, 4, 2, 4)              \
  TC_MMA_HALVES(m16n8k16_##NAME##_f16, A, B, 4, 2, 1)                 \
  TC_MMA_HALVES(m16n8k32_##NAME##_f16, A, B, 4, 4, 2)
TC_MMA_FP8(e4m3, tc_fp8_e4m3, tc_fp8_e4m3)
TC_MMA_FP8(e4m3_e5m2, tc_fp8_e4m3, tc_fp8_e5m2)
TC_MMA_FP8(e5m2_e4m3, tc_fp8_e5m2, tc_fp8_e4m3)
TC_MMA_FP8(e5m2, tc_fp8_e5m2, tc_fp8_e5m2)
TC_MMA(m8n8k4_f64_f64, double, double, double, 1, 1, 1, 2)
TC_MMA(m16n8k4_f64_f64, double, double, double, 1, 2, 1, 4)
TC_MMA(m16n8k8_f64_f64, double, double, double, 1, 4, 2, 4)
TC_MMA(m16n8k16_f64_f64, double, double, double, 1, 8, 4, 4)
#undef TC_MMA_FP8
#undef TC_MMA_INTEGER
#undef TC_MMA_HALVES
#undef TC_MMA

// Four products by the quads q and q + 4 of the warp. Lane t of the low (high) quad has row t (t + 4) of a and column
// t (t + 4) of b. Of d it has: in halves, that row; in floats, at i, row (t & 1) + (i & 2), in the high quad 4 more,
// column (i & 4) + (t & 2) + (i & 1).
template <class D>
inline void tc_matrix_by_quads(const char* name, D* d, const void* a, const void* b, int line) {
  struct Operands {
    tc_half a[4], b[4];
    float d[8];
  } mine;
  __builtin_memcpy(mine.a, a, sizeof mine.a);
  __builtin_memcpy(mine.b, b, sizeof mine.b);
  for (int i = 0; i < 8; ++i) mine.d[i] = float(d[i]);
  tc_collective(
      name, mine,
      [](Operands* const* lanes, unsigned) {
        for (int lane = 0; lane < 32; ++lane) {
          const int high = lane / 16 * 4, t = lane % 4, quad = lane % 16 - t;
          for (int i = 0; i < 8; ++i) {
            const bool halves = sizeof(D) == 2;
            const int row = high + (halves ? t : (t & 1) + (i & 2)), column = halves ? i : (i & 4) + (t & 2) + (i & 1);
            const Operands& first = *lanes[quad + row % 4 + row / 4 * 16];
            const Operands& second = *lanes[quad + column % 4 + column / 4 * 16];
            for (int k = 0; k < 4; ++k) lanes[lane]->d[i] += float(first.a[k]) * float(second.b[k]);
          }
        }
      },
      32, 0, line);
  for (int i = 0; i < 8; ++i) d[i] = D(mine.d[i]);
}
TC_FN void tc_mma_m8n8k4_f16_f32(float* d, const void* a, const void* b, int line = TC_LINE) {
  tc_matrix_by_quads("tc_mma_m8n8k4_f16_f32", d, a, b, line);
}
TC_FN void tc_mma_m8n8k4_f16_f16(void* d, const void* a, const void* b, int line = TC_LINE) {
  tc_matrix_by_quads("tc_mma_m8n8k4_f16_f16", static_cast<tc_half*>(d), a, b, line);
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
            const void* rows[8];
            for (int r = 0; r < 8; ++r) rows[r] = lanes[8 * tile + r]->row;
            tc_sim_matrix_rows(rows, line);
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
