// Atomics on an element of device or threadgroup memory. Each returns the old value; the default order is relaxed.
#pragma once

enum tc_order { tc_relaxed, tc_acquire, tc_release, tc_acq_rel, tc_seq_cst };

TC_FN void tc_fence_before(tc_order order) {
#if __METAL_VERSION__ >= 320
  if (order == tc_release || order == tc_acq_rel || order == tc_seq_cst)
    metal::atomic_thread_fence(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device,
                               metal::memory_order_seq_cst, metal::thread_scope_device);
#endif
}
TC_FN void tc_fence_after(tc_order order) {
#if __METAL_VERSION__ >= 320
  if (order == tc_acquire || order == tc_acq_rel || order == tc_seq_cst)
    metal::atomic_thread_fence(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device,
                               metal::memory_order_seq_cst, metal::thread_scope_device);
#endif
}

template <typename T>
struct tc_same {
  typedef T type;
};
#define TC_ORDERED(SPACE, NAME, PLAIN)                                                                \
  template <typename T>                                                                               \
  TC_FN T NAME(SPACE T* p, typename tc_same<T>::type v, tc_order order = tc_relaxed) {                \
    tc_fence_before(order);                                                                           \
    const T old = PLAIN(p, v);                                                                        \
    tc_fence_after(order);                                                                            \
    return old;                                                                                       \
  }
#define TC_ADD_SEVERAL(SPACE, NAME, COUNT)                                                            \
  template <typename T>                                                                               \
  TC_FN void NAME(SPACE T* p, const thread T* v, tc_order order = tc_relaxed) {                       \
    tc_fence_before(order);                                                                           \
    for (int i = 0; i < COUNT; ++i) tc_plain_add(p + i, v[i]);                                        \
    tc_fence_after(order);                                                                            \
  }
#define TC_CAS(SPACE)                                                                                 \
  template <typename T>                                                                               \
  TC_FN T tc_atomic_cas(SPACE T* p, typename tc_same<T>::type expected, typename tc_same<T>::type v,  \
                        tc_order order = tc_relaxed) {                                                \
    tc_fence_before(order);                                                                           \
    const uint old = tc_exchange_bits(p, tc_to_word<T>(expected), tc_to_word<T>(v));                  \
    tc_fence_after(order);                                                                            \
    return tc_of_word<T>(old);                                                                        \
  }
#define TC_LOAD(SPACE)                                                                                \
  template <typename T>                                                                               \
  TC_FN T tc_atomic_load(SPACE T* p, tc_order order = tc_relaxed) {                                   \
    if (order == tc_seq_cst) tc_fence_before(order);                                                  \
    const uint word = tc_load_bits(p);                                                                \
    tc_fence_after(order == tc_release || order == tc_acq_rel ? tc_acquire : order);                  \
    return tc_of_word<T>(word);                                                                       \
  }
#define TC_STORE(SPACE)                                                                               \
  template <typename T>                                                                               \
  TC_FN void tc_atomic_store(SPACE T* p, typename tc_same<T>::type v, tc_order order = tc_relaxed) {  \
    tc_fence_before(order == tc_acquire || order == tc_acq_rel ? tc_release : order);                 \
    tc_plain_exchange(p, (T)v);                                                                       \
  }
#define TC_EXTREME(SPACE, NAME, METAL)                                                                \
  TC_FN void NAME(SPACE ulong* p, ulong v, tc_order order = tc_relaxed) {                             \
    tc_fence_before(order);                                                                           \
    metal::METAL((device metal::atomic_ulong*)p, v, metal::memory_order_relaxed);                     \
    tc_fence_after(order);                                                                            \
  }

// provides: tc_atomic_add
TC_ORDERED(device, tc_atomic_add, tc_plain_add) TC_ORDERED(threadgroup, tc_atomic_add, tc_plain_add)
#ifdef TC_COHERENT  // provides: tc_atomic_add; for: coherent
TC_ORDERED(TC_COHERENT, tc_atomic_add, tc_plain_add)
#endif
// provides: tc_atomic_max
TC_ORDERED(device, tc_atomic_max, tc_plain_max) TC_ORDERED(threadgroup, tc_atomic_max, tc_plain_max)
#ifdef TC_COHERENT  // provides: tc_atomic_max; for: coherent
TC_ORDERED(TC_COHERENT, tc_atomic_max, tc_plain_max)
#endif
// provides: tc_atomic_min
TC_ORDERED(device, tc_atomic_min, tc_plain_min) TC_ORDERED(threadgroup, tc_atomic_min, tc_plain_min)
#ifdef TC_COHERENT  // provides: tc_atomic_min; for: coherent
TC_ORDERED(TC_COHERENT, tc_atomic_min, tc_plain_min)
#endif
// provides: tc_atomic_and
TC_ORDERED(device, tc_atomic_and, tc_plain_and) TC_ORDERED(threadgroup, tc_atomic_and, tc_plain_and)
#ifdef TC_COHERENT  // provides: tc_atomic_and; for: coherent
TC_ORDERED(TC_COHERENT, tc_atomic_and, tc_plain_and)
#endif
// provides: tc_atomic_or
TC_ORDERED(device, tc_atomic_or, tc_plain_or) TC_ORDERED(threadgroup, tc_atomic_or, tc_plain_or)
#ifdef TC_COHERENT  // provides: tc_atomic_or; for: coherent
TC_ORDERED(TC_COHERENT, tc_atomic_or, tc_plain_or)
#endif
// provides: tc_atomic_xor
TC_ORDERED(device, tc_atomic_xor, tc_plain_xor) TC_ORDERED(threadgroup, tc_atomic_xor, tc_plain_xor)
#ifdef TC_COHERENT  // provides: tc_atomic_xor; for: coherent
TC_ORDERED(TC_COHERENT, tc_atomic_xor, tc_plain_xor)
#endif
// provides: tc_atomic_exchange
TC_ORDERED(device, tc_atomic_exchange, tc_plain_exchange) TC_ORDERED(threadgroup, tc_atomic_exchange, tc_plain_exchange)
#ifdef TC_COHERENT  // provides: tc_atomic_exchange; for: coherent
TC_ORDERED(TC_COHERENT, tc_atomic_exchange, tc_plain_exchange)
#endif
// provides: tc_atomic_add_x2
TC_ADD_SEVERAL(device, tc_atomic_add_x2, 2) TC_ADD_SEVERAL(threadgroup, tc_atomic_add_x2, 2)
#ifdef TC_COHERENT  // provides: tc_atomic_add_x2; for: coherent
TC_ADD_SEVERAL(TC_COHERENT, tc_atomic_add_x2, 2)
#endif
// provides: tc_atomic_add_x4
TC_ADD_SEVERAL(device, tc_atomic_add_x4, 4) TC_ADD_SEVERAL(threadgroup, tc_atomic_add_x4, 4)
#ifdef TC_COHERENT  // provides: tc_atomic_add_x4; for: coherent
TC_ADD_SEVERAL(TC_COHERENT, tc_atomic_add_x4, 4)
#endif
// provides: tc_atomic_cas
TC_CAS(device) TC_CAS(threadgroup)
#ifdef TC_COHERENT  // provides: tc_atomic_cas; for: coherent
TC_CAS(TC_COHERENT)
#endif
// provides: tc_atomic_load
TC_LOAD(device) TC_LOAD(threadgroup)
#ifdef TC_COHERENT  // provides: tc_atomic_load; for: coherent
TC_LOAD(TC_COHERENT)
#endif
// provides: tc_atomic_store
TC_STORE(device) TC_STORE(threadgroup)
#ifdef TC_COHERENT  // provides: tc_atomic_store; for: coherent
TC_STORE(TC_COHERENT)
#endif

// Of 64 bits there is the smaller and the larger one alone, without the old value (Apple9 and later).
TC_EXTREME(device, tc_atomic_ulong_max, atomic_max_explicit)  // provides: tc_atomic_ulong_max
#ifdef TC_COHERENT  // provides: tc_atomic_ulong_max; for: coherent
TC_EXTREME(TC_COHERENT, tc_atomic_ulong_max, atomic_max_explicit)
#endif
TC_EXTREME(device, tc_atomic_ulong_min, atomic_min_explicit)  // provides: tc_atomic_ulong_min
#ifdef TC_COHERENT  // provides: tc_atomic_ulong_min; for: coherent
TC_EXTREME(TC_COHERENT, tc_atomic_ulong_min, atomic_min_explicit)
#endif
