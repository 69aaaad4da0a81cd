// Moves of contiguous elements between memories of all address spaces.
#pragma once

// Bytes that are moved at once: a vector, which a compiler does not take apart into the elements that are used later on,
// as it does with structures and integers. Like structures of uchar, vectors may be part of elements of any type.
template <int Bytes> struct tc_vector;
template <> struct tc_vector<1> { typedef uchar type; };
template <> struct tc_vector<2> { typedef uchar2 type; };
template <> struct tc_vector<4> { typedef uchar4 type; };
template <> struct tc_vector<8> { typedef uint2 type; };
template <> struct tc_vector<16> { typedef uint4 type; };

#define TC_MOVE(NAME, TO, FROM)                          \
  template <int Bytes>                                   \
  TC_FN void NAME(TO void* to, const FROM void* from) {  \
    typedef typename tc_vector<Bytes>::type bytes;       \
    *(TO bytes*)to = *(const FROM bytes*)from;           \
  }
#define TC_MOVES_TO(NAME, TO) TC_MOVE(NAME, TO, device) TC_MOVE(NAME, TO, threadgroup) TC_MOVE(NAME, TO, thread)
#define TC_MOVES(NAME) TC_MOVES_TO(NAME, device) TC_MOVES_TO(NAME, threadgroup) TC_MOVES_TO(NAME, thread)
#ifdef TC_COHERENT
#define TC_COHERENT_MOVES(NAME)                                   \
  TC_MOVES_TO(NAME, TC_COHERENT)                                  \
  TC_MOVE(NAME, TC_COHERENT, TC_COHERENT)                         \
  TC_MOVE(NAME, device, TC_COHERENT)                              \
  TC_MOVE(NAME, threadgroup, TC_COHERENT)                         \
  TC_MOVE(NAME, thread, TC_COHERENT)
#else
#define TC_COHERENT_MOVES(NAME)
#endif
TC_MOVES(tc_move)  // provides: tc_move
TC_COHERENT_MOVES(tc_move)  // provides: tc_move; for: coherent

// Metal has no hints for caches.
TC_MOVES(tc_load_streaming)  // provides: tc_load_streaming
TC_COHERENT_MOVES(tc_load_streaming)  // provides: tc_load_streaming; for: coherent
TC_MOVES(tc_load_evict_first)  // provides: tc_load_evict_first
TC_COHERENT_MOVES(tc_load_evict_first)  // provides: tc_load_evict_first; for: coherent
TC_MOVES(tc_load_evict_last)  // provides: tc_load_evict_last
TC_COHERENT_MOVES(tc_load_evict_last)  // provides: tc_load_evict_last; for: coherent
TC_MOVES(tc_store_streaming)  // provides: tc_store_streaming
TC_COHERENT_MOVES(tc_store_streaming)  // provides: tc_store_streaming; for: coherent
TC_MOVES(tc_store_evict_first)  // provides: tc_store_evict_first
TC_COHERENT_MOVES(tc_store_evict_first)  // provides: tc_store_evict_first; for: coherent
TC_MOVES(tc_store_evict_last)  // provides: tc_store_evict_last
TC_COHERENT_MOVES(tc_store_evict_last)  // provides: tc_store_evict_last; for: coherent
