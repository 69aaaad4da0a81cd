// wgmma on the simulated device: operands by their matrix descriptors, in the layouts that PTX ISA 8.7 defines in
// "Asynchronous Warpgroup Level Matrix Shared Memory Layout".
#pragma once

using tc_operand_t = unsigned long long;

// The address counts from the start of the block's shared memory, which lies at a multiple of a page.
TC_FN tc_operand_t tc_operand(const void* tile, unsigned leading, unsigned stride, unsigned swizzle,
                              int line = TC_LINE) {
  const auto* start = static_cast<const unsigned char*>(tc_sim_shared());
  const tc_operand_t address = static_cast<const unsigned char*>(tile) - start;
  if (address % 16) tc_sim_fail("misaligned", "an operand's tile must lie at a multiple of 16 bytes", line);
  return (address & 0x3ffff) >> 4 | tc_operand_t((leading & 0x3ffff) >> 4) << 16 |
         tc_operand_t((stride & 0x3ffff) >> 4) << 32 | tc_operand_t(swizzle) << 62;
}
TC_FN tc_operand_t tc_operand_at(tc_operand_t tile, unsigned pieces) {
  return (tile & 0xffffffff00000000ull) | (unsigned(tile) + pieces);
}

// -- layouts ----------------------------------------------------------------------------------------------------------

// A tile of rows (of m or n) by 32 bytes of k, or, turned, of 16 k by rows of 16-bit elements.
struct tc_operand_tile {
  unsigned char* shared;
  unsigned start, leading, stride, span;  // span: bytes of the swizzle's rows, 16: none
  bool turned;

  TC_FN tc_operand_tile(tc_operand_t description, bool turned)
      : shared(static_cast<unsigned char*>(tc_sim_shared())),
        start(unsigned(description & 0x3fff) << 4),
        leading(unsigned(description >> 16 & 0x3fff) << 4),
        stride(unsigned(description >> 32 & 0x3fff) << 4),
        span(description >> 62 == 0 ? 16 : 256 >> (description >> 62)),
        turned(turned) {}
  TC_FN unsigned pieces(unsigned rows) const { return 2 * rows; }  // of 16 bytes
  // Piece `part` of the row `line`: of a row of the tile, or, turned, the 8 rows from 8 * part on of the k `line`.
  TC_FN unsigned char* piece(unsigned line, unsigned part) const {
    unsigned at = start;
    if (!turned) {
      at += line % 8 * span + line / 8 * stride + part * (span == 16 ? leading : 16);
    } else if (span == 16) {
      at += part * stride + line % 8 * 16 + line / 8 * leading;
    } else {
      at += part % (span / 16) * 16 + part / (span / 16) * leading + line % 8 * span + line / 8 * stride;
    }
    return shared + (at ^ (at >> 3 & (span - 16)));
  }
  TC_FN unsigned arrangement() const { return span == 16 ? 1 : span == 32 ? 2 : span == 64 ? 3 : 4; }
};

// Warp `warp` of the warpgroup reads the rows from first to last of the tile.
inline void tc_read_rows(void* work, unsigned warp, const tc_operand_tile& tile, unsigned first, unsigned last) {
  if (tile.turned) {
    for (unsigned k = 0; k < 16; ++k)
      for (unsigned part = first / 8; part < last / 8; ++part) tc_sim_team_reads(work, warp, tile.piece(k, part), 16);
  } else {
    for (unsigned row = first; row < last; ++row)
      for (unsigned part = 0; part < 2; ++part) tc_sim_team_reads(work, warp, tile.piece(row, part), 16);
  }
}
inline void tc_check_arrangement(const tc_operand_tile& tile, unsigned rows, int line) {
  const unsigned lines = tile.turned ? 16 : rows, parts = tile.turned ? rows / 8 : 2;
  for (unsigned i = 0; i < lines; ++i) {
    for (unsigned part = 0; part < parts; ++part) {
      const unsigned known = tc_sim_arrangement(tile.piece(i, part));
      if (known && known != tile.arrangement())
        tc_sim_mismatched_swizzle(tile.piece(i, part), "read of an operand",
                                  "the tile was copied here by a tensor map of another swizzle than the operand has",
                                  line);
    }
  }
}

// -- matrix products --------------------------------------------------------------------------------------------------

constexpr unsigned tc_team = 128;  // threads of a warpgroup
struct tc_team_operands {
  void* d;
  const void* held;
  tc_operand_t a, b;
  bool add;
};
// What is left of them when the work lands.
struct tc_team_product {
  tc_operand_t a, b;
  bool add;
  void* d[tc_team];
  const void* held[tc_team];
};

// To rows by depth (or, ACROSS, depth by rows) of factors, whose type is float or int.
template <class T, bool ACROSS, class Factor>
inline __attribute__((no_sanitize_thread)) void tc_unpack_tile(Factor* to, const tc_operand_tile& tile, unsigned rows) {
  constexpr unsigned per = 16 / sizeof(T), depth = 2 * per;
  const unsigned lines = tile.turned ? depth : rows, parts = tile.turned ? rows / per : 2;
  for (unsigned i = 0; i < lines; ++i) {
    for (unsigned part = 0; part < parts; ++part) {
      T elements[per];
      __builtin_memcpy(elements, tile.piece(i, part), 16);
      for (unsigned j = 0; j < per; ++j) {
        const unsigned row = tile.turned ? part * per + j : i, k = tile.turned ? i : part * per + j;
        to[ACROSS ? k * rows + row : row * depth + k] = tc_factor(elements[j]);
      }
    }
  }
}
// Of 64 rows that the threads hold: as tc_wgmma_held_* says.
template <class T, class Factor>
inline __attribute__((no_sanitize_thread)) void tc_unpack_held(Factor* to, const void* const* held) {
  constexpr unsigned E = 4 / sizeof(T), depth = 8 * E;
  for (unsigned thread = 0; thread < tc_team; ++thread) {
    T elements[4 * E];
    __builtin_memcpy(elements, held[thread], 16);
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8;
      for (unsigned j = 0; j < E; ++j)
        to[row * depth + i / 2 * 4 * E + thread % 4 * E + j] = tc_factor(elements[i * E + j]);
    }
  }
}
TC_FN unsigned tc_sum_place(unsigned thread, unsigned i, unsigned n) {
  return (thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8) * n + i / 4 * 8 + thread % 4 * 2 + i % 2;
}

TC_FN void tc_multiply(float* d, const float* a, const float* b, unsigned n, unsigned depth) {
  tc_sim_multiply_floats(d, a, b, 64, n, depth);
}
TC_FN void tc_multiply(int* d, const int* a, const int* b, unsigned n, unsigned depth) {
  tc_sim_multiply_ints(d, a, b, 64, n, depth);
}

template <unsigned N, class A, class B, class D, bool A_BY_M, bool B_BY_N, bool HELD>
inline __attribute__((no_sanitize_thread)) void tc_land_product(const tc_team_product& product) {
  using factor = decltype(tc_factor(A()));
  constexpr unsigned depth = 32 / sizeof(A);
  factor* d = static_cast<factor*>(tc_sim_scratch((64 * N + 64 * depth + depth * N) * sizeof(factor)));
  factor *a = d + 64 * N, *b = a + 64 * depth;
  if (HELD) {
    tc_unpack_held<A>(a, product.held);
  } else {
    tc_unpack_tile<A, false>(a, tc_operand_tile(product.a, A_BY_M), 64);
  }
  tc_unpack_tile<B, true>(b, tc_operand_tile(product.b, B_BY_N), N);
  for (unsigned thread = 0; thread < tc_team; ++thread)
    for (unsigned i = 0; i < N / 2; ++i)
      d[tc_sum_place(thread, i, N)] = product.add ? factor(static_cast<D*>(product.d[thread])[i]) : factor(0);
  tc_multiply(d, a, b, N, depth);
  for (unsigned thread = 0; thread < tc_team; ++thread)
    for (unsigned i = 0; i < N / 2; ++i) static_cast<D*>(product.d[thread])[i] = D(d[tc_sum_place(thread, i, N)]);
}

// The operands that the threads have brought: one product, or an error.
inline void tc_gather_product(const char* name, tc_team_operands* const* lanes, tc_team_product& product, bool held,
                              int line) {
  for (unsigned thread = 0; thread < tc_team; ++thread) {
    const tc_team_operands* lane = lanes[thread];
    if (!lane)
      return tc_sim_fail("mismatched_collective", "a product of a warpgroup by fewer than its four warps", line);
    const bool same = lane->b == lanes[0]->b && lane->add == lanes[0]->add && (held || lane->a == lanes[0]->a);
    if (!same)
      return tc_sim_fail("mismatched_collective", "the threads of a warpgroup give its product different operands",
                         line);
    product.d[thread] = lane->d;
    product.held[thread] = lane->held;
  }
  product.a = lanes[0]->a;
  product.b = lanes[0]->b;
  product.add = lanes[0]->add;
  if ((product.b >> 49 & 7) || (!held && (product.a >> 49 & 7)))
    tc_sim_fail("invalid_operation", "an operand with a base offset, which the simulated device has not", line);
}

template <unsigned N, class A, class B, class D, bool A_BY_M, bool B_BY_N, bool HELD>
inline void tc_start_product(const char* name, D* d, const void* held, tc_operand_t a, tc_operand_t b, bool add,
                             int line) {
  tc_team_operands mine{d, held, a, b, add};
  tc_collective(
      name, mine,
      [name, line](tc_team_operands* const* lanes, unsigned) {
        tc_team_product product;
        tc_gather_product(name, lanes, product, HELD, line);
        const tc_operand_tile a(product.a, A_BY_M), b(product.b, B_BY_N);
        if (!HELD) tc_check_arrangement(a, 64, line);
        tc_check_arrangement(b, N, line);
        void* work = tc_sim_team_begin(name, line);
        for (unsigned warp = 0; warp < 4; ++warp) {
          if (!HELD) tc_read_rows(work, warp, a, 16 * warp, 16 * warp + 16);
          tc_read_rows(work, warp, b, 0, N);
        }
        for (unsigned thread = 0; thread < tc_team; ++thread) {
          if (HELD) tc_sim_team_registers(work, thread, product.held[thread], 16, 0);
          tc_sim_team_registers(work, thread, product.d[thread], N / 2 * sizeof(D), 1);
        }
        tc_sim_team_start(
            work,
            [](void* state) {
              tc_land_product<N, A, B, D, A_BY_M, B_BY_N, HELD>(*static_cast<const tc_team_product*>(state));
            },
            &product, sizeof product);
      },
      tc_team, 0, line);
}

using tc_element_f16 = tc_half;
using tc_element_bf16 = tc_bfloat16;
using tc_element_tf32 = tc_tf32;
using tc_element_e4m3 = tc_fp8_e4m3;
using tc_element_e5m2 = tc_fp8_e5m2;
using tc_element_s8 = signed char;
using tc_element_u8 = unsigned char;
using tc_element_f32 = float;
using tc_element_s32 = int;
#define TC_WGMMA(N, K, A, B, C)                                                                                    \
  template <bool A_BY_M, bool B_BY_N>                                                                              \
  TC_FN void tc_wgmma_n##N##k##K##_##A##_##B##_##C(tc_element_##C* d, tc_operand_t a, tc_operand_t b, bool add,     \
                                                   int line = TC_LINE) {                                           \
    static_assert(sizeof(tc_element_##A) * K == 32, "a product has a depth of 32 bytes");                          \
    static_assert(sizeof(tc_element_##A) == 2 || (!A_BY_M && !B_BY_N), "only 16-bit tiles may have m or n innermost"); \
    tc_start_product<N, tc_element_##A, tc_element_##B, tc_element_##C, A_BY_M, B_BY_N, false>(                    \
        "tc_wgmma_n" #N "k" #K, d, nullptr, a, b, add, line);                                                      \
  }                                                                                                                \
  template <bool B_BY_N, class Held>                                                                               \
  TC_FN void tc_wgmma_held_n##N##k##K##_##A##_##B##_##C(tc_element_##C* d, const Held* a, tc_operand_t b, bool add, \
                                                        int line = TC_LINE) {                                      \
    static_assert(sizeof(Held) == sizeof(tc_element_##A), "the thread's elements have the operand's type");        \
    static_assert(sizeof(tc_element_##A) == 2 || !B_BY_N, "only 16-bit tiles may have n innermost");               \
    tc_start_product<N, tc_element_##A, tc_element_##B, tc_element_##C, false, B_BY_N, true>(                      \
        "tc_wgmma_n" #N "k" #K, d, a, 0, b, add, line);                                                            \
  }

template <int N>
TC_FN void tc_registers_release(int line = TC_LINE) {
  static_assert(N >= 24 && N <= 256 && N % 8 == 0, "a thread has 24 to 256 registers, a multiple of 8");
  tc_sim_team_limit(tc_team, N, 0, line);
}
template <int N>
TC_FN void tc_registers_acquire(int line = TC_LINE) {
  static_assert(N >= 24 && N <= 256 && N % 8 == 0, "a thread has 24 to 256 registers, a multiple of 8");
  tc_sim_team_limit(tc_team, N, 1, line);
}

TC_FN void tc_warpgroup_begin(int line = TC_LINE) { tc_sim_team_fence(line); }
TC_FN void tc_warpgroup_commit(int line = TC_LINE) { tc_sim_team_commit(line); }
template <int N>
TC_FN void tc_warpgroup_wait(int line = TC_LINE) {
  static_assert(N >= 0 && N <= 7, "a wait leaves at most seven groups");
  tc_sim_team_wait(N, line);
}
template <int Count, class D>
TC_FN void tc_warpgroup_settle(D*) {}
template <int Count, class T>
TC_FN void tc_keep_registers(const T*) {}
TC_FN void tc_scheduling_fence(float) {}
