// Moves of contiguous elements between memories of all address spaces, and fences.
#pragma once

// An element of memory that has elements of other types, too.
template <typename T>
struct tc_aliased {
  typedef T __attribute__((may_alias)) type;
};

// Bytes that are moved at once. As they are of type uchar, the compiler takes them to be part of elements of any type.
template <int Bytes>
struct alignas(Bytes) tc_bytes {
  uchar at[Bytes];
};
#define TC_MOVE(NAME, TO, FROM)                                       \
  template <int Bytes>                                                \
  TC_FN void NAME(TO void* to, const FROM void* from) {               \
    *(TO tc_bytes<Bytes>*)to = *(const FROM tc_bytes<Bytes>*)from;    \
  }
// Metal has no hints for caches.
#define TC_MOVES(TO, FROM)                \
  TC_MOVE(tc_move, TO, FROM)              \
  TC_MOVE(tc_load_streaming, TO, FROM)    \
  TC_MOVE(tc_load_evict_first, TO, FROM)  \
  TC_MOVE(tc_load_evict_last, TO, FROM)   \
  TC_MOVE(tc_store_streaming, TO, FROM)   \
  TC_MOVE(tc_store_evict_first, TO, FROM) \
  TC_MOVE(tc_store_evict_last, TO, FROM)
#define TC_MOVES_TO(TO) TC_MOVES(TO, device) TC_MOVES(TO, threadgroup) TC_MOVES(TO, thread)
TC_MOVES_TO(device)
TC_MOVES_TO(threadgroup)
TC_MOVES_TO(thread)
#ifdef TC_COHERENT
TC_MOVES_TO(TC_COHERENT)
TC_MOVES(TC_COHERENT, TC_COHERENT)
TC_MOVES(device, TC_COHERENT)
TC_MOVES(threadgroup, TC_COHERENT)
TC_MOVES(thread, TC_COHERENT)
#endif
#undef TC_MOVES_TO
#undef TC_MOVES
#undef TC_MOVE

#if __METAL_VERSION__ >= 320
TC_FN void tc_fence_block() {
  metal::atomic_thread_fence(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device,
                             metal::memory_order_seq_cst, metal::thread_scope_threadgroup);
}
TC_FN void tc_fence_device() {
  metal::atomic_thread_fence(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device,
                             metal::memory_order_seq_cst, metal::thread_scope_device);
}
#endif
