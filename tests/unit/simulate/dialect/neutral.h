// A made-up target's header, in its simulated form only: names for its indices, and one matrix instruction.
#pragma once
#include "tilecore_sim.h"

#define KERNEL extern "C" void
#define thread_x int(tc_sim_thread_index().x)
#define thread_y int(tc_sim_thread_index().y)
#define block_x int(tc_sim_block_index().x)
#define block_y int(tc_sim_block_index().y)
#define blocks_x int(tc_sim_grid_size().x)
#define threads_x int(tc_sim_block_size().x)

struct product_operands {
  const tc_half *a, *b;  // this lane's rows of a and b, in shared memory
  float* c;              // its 8 elements of the accumulator
};

// c[16][16] += a[16][16] * b[16][16] transposed: lane l brings row l % 16 of a and of b, and holds half a row of c.
inline void tc_product_16x16x16(float* c, const tc_half* a_row, const tc_half* b_row, int line = TC_LINE) {
  product_operands mine{a_row, b_row, c};
  tc_collective(
      "a matrix product", mine,
      [line](product_operands* const* lanes, unsigned count) {
        float a[16][16], b[16][16];
        for (unsigned row = 0; row < 16; ++row) {
          tc_sim_act_as(row);
          for (int k = 0; k < 16; ++k) a[row][k] = float(tc_load(lanes[row]->a + k, line));
          tc_sim_act_as(16 + row);
          for (int k = 0; k < 16; ++k) b[row][k] = float(tc_load(lanes[16 + row]->b + k, line));
        }
        for (unsigned lane = 0; lane < count; ++lane)
          for (int j = 0; j < 8; ++j)
            for (int k = 0; k < 16; ++k) lanes[lane]->c[j] += a[lane / 2][k] * b[lane % 2 * 8 + j][k];
      },
      0, 0, line);
}
