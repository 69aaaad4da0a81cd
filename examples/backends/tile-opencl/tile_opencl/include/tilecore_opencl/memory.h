// Moves of neighbouring elements between memories of all kinds, and fences. Addresses are multiples of 4 bytes at most.

// Memory that has elements of other types too.
#define TC_ANY(T) typedef T tc_any_##T __attribute__((may_alias));
TC_ANY(short) TC_ANY(ushort) TC_ANY(int) TC_ANY(uint) TC_ANY(long) TC_ANY(ulong) TC_ANY(float)
#ifdef cl_khr_fp64
TC_ANY(double)
#endif
typedef uchar tc_any_uchar;
#undef TC_ANY

typedef ushort tc_2_bytes __attribute__((may_alias));
typedef uint tc_4_bytes __attribute__((may_alias));
typedef uint2 tc_8_bytes __attribute__((may_alias, aligned(4)));
typedef uint4 tc_16_bytes __attribute__((may_alias, aligned(4)));
#define TC_MOVE(TO, FROM)                                                                                         \
  TC_FN void tc_move_1(TO void* to, const FROM void* from) { *(TO uchar*)to = *(const FROM uchar*)from; }         \
  TC_FN void tc_move_2(TO void* to, const FROM void* from) { *(TO tc_2_bytes*)to = *(const FROM tc_2_bytes*)from; } \
  TC_FN void tc_move_4(TO void* to, const FROM void* from) { *(TO tc_4_bytes*)to = *(const FROM tc_4_bytes*)from; } \
  TC_FN void tc_move_8(TO void* to, const FROM void* from) { *(TO tc_8_bytes*)to = *(const FROM tc_8_bytes*)from; } \
  TC_FN void tc_move_16(TO void* to, const FROM void* from) { *(TO tc_16_bytes*)to = *(const FROM tc_16_bytes*)from; }
#define TC_MOVES_TO(TO) TC_MOVE(TO, global) TC_MOVE(TO, local) TC_MOVE(TO, private)
TC_MOVES_TO(global)
TC_MOVES_TO(local)
TC_MOVES_TO(private)
#undef TC_MOVES_TO
#undef TC_MOVE

// OpenCL knows no hints for caches.
#define tc_load_streaming_1 tc_move_1
#define tc_load_streaming_2 tc_move_2
#define tc_load_streaming_4 tc_move_4
#define tc_load_streaming_8 tc_move_8
#define tc_load_streaming_16 tc_move_16
#define tc_load_evict_first_1 tc_move_1
#define tc_load_evict_first_2 tc_move_2
#define tc_load_evict_first_4 tc_move_4
#define tc_load_evict_first_8 tc_move_8
#define tc_load_evict_first_16 tc_move_16
#define tc_load_evict_last_1 tc_move_1
#define tc_load_evict_last_2 tc_move_2
#define tc_load_evict_last_4 tc_move_4
#define tc_load_evict_last_8 tc_move_8
#define tc_load_evict_last_16 tc_move_16
#define tc_store_streaming_1 tc_move_1
#define tc_store_streaming_2 tc_move_2
#define tc_store_streaming_4 tc_move_4
#define tc_store_streaming_8 tc_move_8
#define tc_store_streaming_16 tc_move_16
#define tc_store_evict_first_1 tc_move_1
#define tc_store_evict_first_2 tc_move_2
#define tc_store_evict_first_4 tc_move_4
#define tc_store_evict_first_8 tc_move_8
#define tc_store_evict_first_16 tc_move_16
#define tc_store_evict_last_1 tc_move_1
#define tc_store_evict_last_2 tc_move_2
#define tc_store_evict_last_4 tc_move_4
#define tc_store_evict_last_8 tc_move_8
#define tc_store_evict_last_16 tc_move_16

#define TC_BOTH (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define tc_fence_block() mem_fence(TC_BOTH)
#define tc_fence_device() mem_fence(TC_BOTH)
