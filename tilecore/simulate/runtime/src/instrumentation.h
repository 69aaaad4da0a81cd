// The functions that the compiler calls before every load and store, under -fsanitize=thread and -fsanitize=bounds.
#pragma once
#include "atomics.h"

#define TC_SIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace tcsim {

inline uint32_t site_of_return(const Worker& worker, const void* address) {
  if (worker.meeting) return site_of_line(worker.meeting->line);  // the body belongs to a header
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(address) - worker.launch->module_begin - 1) & ~kLineSite;
}

template <unsigned Size, bool Write, bool Aligned>
inline __attribute__((always_inline)) void instrumented(void* pointer, void* caller) {
  Worker* worker = current_worker;
  if (!worker || !worker->running) return;
  if (reinterpret_cast<uintptr_t>(pointer) - worker->stacks_begin < worker->stacks_bytes) {
    if (!worker->running->guards.empty() && !worker->meeting)
      touch_registers(*worker, pointer, Size, Write, site_of_return(*worker, caller));
    return;
  }
  const uint32_t site = site_of_return(*worker, caller);
  constexpr unsigned alignment = Size < 8 ? Size : 8;  // compilers promise no more of wider ones
  if (Aligned && alignment > 1 && (reinterpret_cast<uintptr_t>(pointer) & (alignment - 1)))
    require_aligned(*worker, pointer, alignment, Write ? "write" : "read", site);
  touch(*worker, pointer, Size, Write, false, site);
}

inline void instrumented_range(const void* pointer, size_t size, bool write, void* caller) {
  Worker* worker = current_worker;
  if (!worker || !worker->running || size == 0) return;
  touch(*worker, pointer, static_cast<unsigned>(size), write, false, site_of_return(*worker, caller));
}

}  // namespace tcsim

#define TC_SIM_ACCESSES(SIZE)                                                \
  TC_SIM_EXPORT void __tsan_read##SIZE(void* p) {                            \
    tcsim::instrumented<SIZE, false, true>(p, __builtin_return_address(0));  \
  }                                                                          \
  TC_SIM_EXPORT void __tsan_write##SIZE(void* p) {                           \
    tcsim::instrumented<SIZE, true, true>(p, __builtin_return_address(0));   \
  }                                                                          \
  TC_SIM_EXPORT void __tsan_read##SIZE##_pc(void* p, void*) {                \
    tcsim::instrumented<SIZE, false, true>(p, __builtin_return_address(0));  \
  }                                                                          \
  TC_SIM_EXPORT void __tsan_write##SIZE##_pc(void* p, void*) {               \
    tcsim::instrumented<SIZE, true, true>(p, __builtin_return_address(0));   \
  }                                                                          \
  TC_SIM_EXPORT void __tsan_volatile_read##SIZE(void* p) {                   \
    tcsim::instrumented<SIZE, false, true>(p, __builtin_return_address(0));  \
  }                                                                          \
  TC_SIM_EXPORT void __tsan_volatile_write##SIZE(void* p) {                  \
    tcsim::instrumented<SIZE, true, true>(p, __builtin_return_address(0));   \
  }                                                                          \
  TC_SIM_EXPORT void __tsan_read_write##SIZE(void* p) {                      \
    tcsim::instrumented<SIZE, false, true>(p, __builtin_return_address(0));  \
    tcsim::instrumented<SIZE, true, true>(p, __builtin_return_address(0));   \
  }                                                                          \
  TC_SIM_EXPORT void __tsan_unaligned_read##SIZE(void* p) {                  \
    tcsim::instrumented<SIZE, false, false>(p, __builtin_return_address(0)); \
  }                                                                          \
  TC_SIM_EXPORT void __tsan_unaligned_write##SIZE(void* p) {                 \
    tcsim::instrumented<SIZE, true, false>(p, __builtin_return_address(0));  \
  }                                                                          \
  TC_SIM_EXPORT void __tsan_unaligned_read_write##SIZE(void* p) {            \
    tcsim::instrumented<SIZE, false, false>(p, __builtin_return_address(0)); \
    tcsim::instrumented<SIZE, true, false>(p, __builtin_return_address(0));  \
  }

TC_SIM_ACCESSES(1)
TC_SIM_ACCESSES(2)
TC_SIM_ACCESSES(4)
TC_SIM_ACCESSES(8)
TC_SIM_ACCESSES(16)

TC_SIM_EXPORT void __tsan_init() {}
TC_SIM_EXPORT void __tsan_func_entry(void*) {}
TC_SIM_EXPORT void __tsan_func_exit() {}
TC_SIM_EXPORT void __tsan_ignore_thread_begin() {}
TC_SIM_EXPORT void __tsan_ignore_thread_end() {}
TC_SIM_EXPORT void __tsan_vptr_update(void**, void*) {}
TC_SIM_EXPORT void __tsan_vptr_read(void**) {}
TC_SIM_EXPORT void __tsan_read_range(void* p, size_t n) {
  tcsim::instrumented_range(p, n, false, __builtin_return_address(0));
}
TC_SIM_EXPORT void __tsan_write_range(void* p, size_t n) {
  tcsim::instrumented_range(p, n, true, __builtin_return_address(0));
}

TC_SIM_EXPORT void* __tsan_memcpy(void* to, const void* from, size_t n) {
  tcsim::instrumented_range(from, n, false, __builtin_return_address(0));
  tcsim::instrumented_range(to, n, true, __builtin_return_address(0));
  return memcpy(to, from, n);
}
TC_SIM_EXPORT void* __tsan_memmove(void* to, const void* from, size_t n) {
  tcsim::instrumented_range(from, n, false, __builtin_return_address(0));
  tcsim::instrumented_range(to, n, true, __builtin_return_address(0));
  return memmove(to, from, n);
}
TC_SIM_EXPORT void* __tsan_memset(void* to, int value, size_t n) {
  tcsim::instrumented_range(to, n, true, __builtin_return_address(0));
  return memset(to, value, n);
}

// An index past the end of an array of the thread's own.
namespace tcsim {
struct BoundsPlace {
  const char* file;
  uint32_t line, column;
};
struct BoundsType {
  uint16_t kind, info;
  char name[1];
};
struct BoundsFacts {
  BoundsPlace place;
  const BoundsType* array;
  const BoundsType* index;
};
inline void array_bounds(const BoundsFacts* facts, uintptr_t index, uint32_t site) {
  Worker* worker = current_worker;
  if (!worker || !worker->running) return;
  fail(*worker, "out_of_bounds", site, "index %lld of an array of the thread's own, %s", static_cast<long long>(index),
       facts->array->name);
}
}  // namespace tcsim

TC_SIM_EXPORT void __ubsan_handle_out_of_bounds(void* facts, uintptr_t index) {
  tcsim::Worker* worker = tcsim::current_worker;
  tcsim::array_bounds(static_cast<tcsim::BoundsFacts*>(facts), index,
                      worker && worker->running ? tcsim::site_of_return(*worker, __builtin_return_address(0)) : 0);
}
TC_SIM_EXPORT void __ubsan_handle_out_of_bounds_abort(void* facts, uintptr_t index) {
  __ubsan_handle_out_of_bounds(facts, index);
  abort();
}

// The compilers' own atomics. Their line is not known; the place is found from the return address at the next access.
#define TC_SIM_UPDATE(NAME, BITS, TYPE, EXPRESSION)                                                         \
  TC_SIM_EXPORT TYPE __tsan_atomic##BITS##_##NAME(volatile TYPE* p, TYPE value, int order) {                \
    tcsim::Worker& worker = *tcsim::current_worker;                                                         \
    TYPE old;                                                                                               \
    tcsim::begin_atomic(worker, const_cast<TYPE*>(p), sizeof(TYPE), tcsim::Atomic::update, order, 0, &old); \
    const TYPE fresh = static_cast<TYPE>(EXPRESSION);                                                       \
    tcsim::finish_atomic(worker, const_cast<TYPE*>(p), sizeof(TYPE), tcsim::Atomic::update, order, &fresh); \
    return old;                                                                                             \
  }
#define TC_SIM_EXCHANGE(NAME, BITS, TYPE)                                                                       \
  TC_SIM_EXPORT int __tsan_atomic##BITS##_compare_exchange_##NAME(volatile TYPE* p, TYPE* expected, TYPE value, \
                                                                  int order, int) {                             \
    tcsim::Worker& worker = *tcsim::current_worker;                                                             \
    TYPE old;                                                                                                   \
    tcsim::begin_atomic(worker, const_cast<TYPE*>(p), sizeof(TYPE), tcsim::Atomic::update, order, 0, &old);     \
    const bool equal = old == *expected;                                                                        \
    const TYPE fresh = equal ? value : old;                                                                     \
    tcsim::finish_atomic(worker, const_cast<TYPE*>(p), sizeof(TYPE), tcsim::Atomic::update, order, &fresh);     \
    *expected = old;                                                                                            \
    return equal;                                                                                               \
  }
#define TC_SIM_EXCHANGE_VALUE(BITS, TYPE)                                                                    \
  TC_SIM_EXPORT TYPE __tsan_atomic##BITS##_compare_exchange_val(volatile TYPE* p, TYPE expected, TYPE value, \
                                                                int order, int weak_order) {                 \
    __tsan_atomic##BITS##_compare_exchange_strong(p, &expected, value, order, weak_order);                   \
    return expected;                                                                                         \
  }
#define TC_SIM_ATOMICS(BITS, TYPE)                                                                                 \
  TC_SIM_EXPORT TYPE __tsan_atomic##BITS##_load(const volatile TYPE* p, int order) {                               \
    TYPE old;                                                                                                      \
    tcsim::begin_atomic(*tcsim::current_worker, const_cast<TYPE*>(p), sizeof(TYPE), tcsim::Atomic::load, order, 0, \
                        &old);                                                                                     \
    return old;                                                                                                    \
  }                                                                                                                \
  TC_SIM_EXPORT void __tsan_atomic##BITS##_store(volatile TYPE* p, TYPE value, int order) {                        \
    tcsim::Worker& worker = *tcsim::current_worker;                                                                \
    tcsim::begin_atomic(worker, const_cast<TYPE*>(p), sizeof(TYPE), tcsim::Atomic::store, order, 0, nullptr);      \
    tcsim::finish_atomic(worker, const_cast<TYPE*>(p), sizeof(TYPE), tcsim::Atomic::store, order, &value);         \
  }                                                                                                                \
  TC_SIM_UPDATE(exchange, BITS, TYPE, value)                                                                       \
  TC_SIM_UPDATE(fetch_add, BITS, TYPE, old + value)                                                                \
  TC_SIM_UPDATE(fetch_sub, BITS, TYPE, old - value)                                                                \
  TC_SIM_UPDATE(fetch_and, BITS, TYPE, old& value)                                                                 \
  TC_SIM_UPDATE(fetch_or, BITS, TYPE, old | value)                                                                 \
  TC_SIM_UPDATE(fetch_xor, BITS, TYPE, old ^ value)                                                                \
  TC_SIM_UPDATE(fetch_nand, BITS, TYPE, ~(old & value))                                                            \
  TC_SIM_EXCHANGE(strong, BITS, TYPE)                                                                              \
  TC_SIM_EXCHANGE(weak, BITS, TYPE)                                                                                \
  TC_SIM_EXCHANGE_VALUE(BITS, TYPE)

TC_SIM_ATOMICS(8, uint8_t)
TC_SIM_ATOMICS(16, uint16_t)
TC_SIM_ATOMICS(32, uint32_t)
TC_SIM_ATOMICS(64, uint64_t)

TC_SIM_EXPORT void __tsan_atomic_thread_fence(int) { tcsim::fence(*tcsim::current_worker, true); }
TC_SIM_EXPORT void __tsan_atomic_signal_fence(int) {}
