// Atomic operations on every element type. Each returns the value before.
#pragma once
#include "calls.h"
#include "mathematics.h"

enum tc_order { tc_relaxed = 0, tc_consume = 1, tc_acquire = 2, tc_release = 3, tc_acq_rel = 4, tc_seq_cst = 5 };

template <class T>
TC_INLINE T tc_atomic_load(const T* p, int order = tc_seq_cst, int line = TC_LINE) {
  T value;
  tc_sim_atomic_begin(const_cast<T*>(p), sizeof(T), 0, order, line, &value);
  return value;
}
template <class T, class V>
TC_INLINE void tc_atomic_store(T* p, V value, int order = tc_seq_cst, int line = TC_LINE) {
  const T fresh = T(value);
  tc_sim_atomic_begin(p, sizeof(T), 1, order, line, nullptr);
  tc_sim_atomic_finish(p, sizeof(T), 1, order, &fresh);
}
template <class T, class Change>
TC_INLINE T tc_atomic_update(T* p, Change change, int order, int line) {
  T old;
  tc_sim_atomic_begin(p, sizeof(T), 2, order, line, &old);
  const T fresh = change(old);
  tc_sim_atomic_finish(p, sizeof(T), 2, order, &fresh);
  return old;
}

#define TC_ATOMIC(NAME, EXPRESSION)                                                         \
  template <class T, class V>                                                               \
  TC_INLINE T tc_atomic_##NAME(T* p, V given, int order = tc_relaxed, int line = TC_LINE) { \
    const T value = T(given);                                                               \
    return tc_atomic_update(p, [value](T old) { return T(EXPRESSION); }, order, line);      \
  }

TC_ATOMIC(add, old + value)
TC_ATOMIC(sub, old - value)
TC_ATOMIC(max, value > old || old != old ? value : old)
TC_ATOMIC(min, value < old || old != old ? value : old)
TC_ATOMIC(and, old& value)
TC_ATOMIC(or, old | value)
TC_ATOMIC(xor, old ^ value)
TC_ATOMIC(exchange, value)
#undef TC_ATOMIC

template <class T, class E, class V>
TC_INLINE T tc_atomic_cas(T* p, E expected, V desired, int order = tc_relaxed, int line = TC_LINE) {
  const T wanted = T(expected), value = T(desired);
  return tc_atomic_update(p, [=](T old) { return old == wanted ? value : old; }, order, line);
}

// Neighbouring elements, each on its own one step; the first is aligned to all of them.
template <unsigned Lanes, class T>
TC_INLINE void tc_atomic_add_vector(T* p, const T* values, int order = tc_relaxed, int line = TC_LINE) {
  if (reinterpret_cast<uintptr_t>(p) % (Lanes * sizeof(T)))
    tc_sim_fail("misaligned", "a vector atomic at an address that is no multiple of its size", line);
  for (unsigned i = 0; i < Lanes; ++i) tc_atomic_add(p + i, values[i], order, line);
}
template <class T>
TC_INLINE void tc_atomic_add_x2(T* p, const T* values, int order = tc_relaxed, int line = TC_LINE) {
  tc_atomic_add_vector<2>(p, values, order, line);
}
template <class T>
TC_INLINE void tc_atomic_add_x4(T* p, const T* values, int order = tc_relaxed, int line = TC_LINE) {
  tc_atomic_add_vector<4>(p, values, order, line);
}
