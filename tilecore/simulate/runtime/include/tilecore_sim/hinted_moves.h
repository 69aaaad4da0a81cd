// Loads and stores with a cache hint, which has no effect on the simulated device. For a backend's header to include
// after tilecore_sim.h.
#pragma once

#define TC_HINTED_MOVES(HINT)                                                        \
  template <unsigned Bytes>                                                          \
  TC_FN void tc_load_##HINT(void* to, const void* from, int line = TC_LINE) {        \
    tc_move<Bytes>(to, from, line);                                                  \
  }                                                                                  \
  template <unsigned Bytes>                                                          \
  TC_FN void tc_store_##HINT(void* to, const void* from, int line = TC_LINE) {       \
    tc_move<Bytes>(to, from, line);                                                  \
  }
TC_HINTED_MOVES(streaming)
TC_HINTED_MOVES(evict_first)
TC_HINTED_MOVES(evict_last)
#undef TC_HINTED_MOVES
