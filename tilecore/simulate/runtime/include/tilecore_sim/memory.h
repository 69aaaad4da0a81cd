// Shared memory, vector moves and fences.
#pragma once
#include "calls.h"
#include "floats.h"

// The arena of the block that the launch provides.
#define TC_SHARED(NAME) unsigned char* const NAME = static_cast<unsigned char*>(tc_sim_shared())

// An array of a block's own, beside the arena.
#define TC_STATIC_SHARED(TYPE, NAME, COUNT) \
  static const char NAME##_key = 0;         \
  TYPE* const NAME = static_cast<TYPE*>(tc_sim_static_shared(&NAME##_key, sizeof(TYPE) * (COUNT), 16, __LINE__))

// Moves neighbouring elements at once: both addresses are multiples of the bytes.
template <unsigned Bytes>
TC_INLINE void tc_move(void* to, const void* from, int line = TC_LINE) {
  static_assert(Bytes == 1 || Bytes == 2 || Bytes == 4 || Bytes == 8 || Bytes == 16 || Bytes == 32, "");
  tc_sim_move(to, from, Bytes, line);
}

// One value from and to memory, charged to a line that is given; for a backend's own functions.
template <class T>
TC_INLINE T tc_load(const T* from, int line = TC_LINE) {
  T value;
  tc_sim_load(&value, from, sizeof(T), alignof(T), line);
  return value;
}
template <class T>
TC_INLINE void tc_store(T* to, T value, int line = TC_LINE) {
  tc_sim_store(to, &value, sizeof(T), alignof(T), line);
}

TC_INLINE void tc_fence_block() { tc_sim_fence(0); }
TC_INLINE void tc_fence_device() { tc_sim_fence(1); }
