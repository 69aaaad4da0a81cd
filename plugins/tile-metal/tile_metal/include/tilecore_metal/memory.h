// Moves of contiguous elements between memories of all address spaces, and fences.
#pragma once

// An element of memory that has elements of other types, too.
template <typename T>
struct tc_aliased {
  typedef T __attribute__((may_alias)) type;
};

// Bytes that are moved at once: a vector, which a compiler does not take apart into the elements that are used later on,
// as it does with structures and integers. Like structures of uchar, vectors may be part of elements of any type.
template <int Bytes>
struct tc_vector;
template <>
struct tc_vector<1> {
  typedef uchar type;
};
template <>
struct tc_vector<2> {
  typedef uchar2 type;
};
template <>
struct tc_vector<4> {
  typedef uchar4 type;
};
template <>
struct tc_vector<8> {
  typedef uint2 type;
};
template <>
struct tc_vector<16> {
  typedef uint4 type;
};
#define TC_MOVE(NAME, TO, FROM)                                       \
  template <int Bytes>                                                \
  TC_FN void NAME(TO void* to, const FROM void* from) {               \
    typedef typename tc_vector<Bytes>::type bytes;                    \
    *(TO bytes*)to = *(const FROM bytes*)from;                        \
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
