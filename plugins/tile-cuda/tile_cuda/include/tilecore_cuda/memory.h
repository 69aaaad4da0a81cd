// Shared memory, vector moves, fences and hints.
#pragma once

TC_FN unsigned tc_shared_address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

// The dynamic shared memory of the block: a pointer to bytes.
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1302
#define TC_SHARED(NAME) extern __shared__ __align__(1024) unsigned char NAME[]
#else
// NVRTC 12.4 to 13.1 confuses two pointers that lie a constant apart where it unrolls a loop: in NAME + 2048 and
// NAME + 3072 with one index, some stores go 1024 bytes too far (docs/notes/compilers.md). The empty statement hides the
// constant from it; ptxas sees it again.
struct tc_arena {
  unsigned char* start;
  TC_FN unsigned char* operator+(int offset) const {
    unsigned address = tc_shared_address(start) + offset;
    asm("" : "+r"(address));
    return static_cast<unsigned char*>(__cvta_shared_to_generic(address));
  }
  TC_FN operator unsigned char*() const { return start; }
  template <class T>
  TC_FN explicit operator T*() const {
    return reinterpret_cast<T*>(start);
  }
};
#define TC_SHARED(NAME)                                            \
  extern __shared__ __align__(1024) unsigned char NAME##_bytes[]; \
  const tc_arena NAME{NAME##_bytes}
#endif

template <int Bytes>
struct tc_vector;
template <>
struct tc_vector<1> {
  using type = unsigned char;
};
template <>
struct tc_vector<2> {
  using type = unsigned short;
};
template <>
struct tc_vector<4> {
  using type = unsigned;
};
template <>
struct tc_vector<8> {
  using type = uint2;
};
template <>
struct tc_vector<16> {
  using type = uint4;
};

// Moves contiguous elements by one instruction: both addresses are multiples of the size.
template <int Bytes>
TC_FN void tc_move(void* to, const void* from) {
  using vector = typename tc_vector<Bytes>::type;
  *static_cast<vector*>(to) = *static_cast<const vector*>(from);
}

TC_FN void tc_fence_block() { __threadfence_block(); }
TC_FN void tc_fence_device() { __threadfence(); }

TC_FN void tc_prefetch_l2(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }
#if TC_ARCH >= 900
// Loads bytes of global memory into L2. The instruction takes whole pieces of 16 bytes: those that have one of the bytes.
TC_FN void tc_prefetch_bulk_l2(const void* p, unsigned bytes) {
  const unsigned long long first = reinterpret_cast<unsigned long long>(p), start = first & ~15ull;
  const unsigned size = (static_cast<unsigned>(first - start) + bytes + 15u) & ~15u;
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(start), "r"(size));
}
#endif

// -- L2 eviction policies (sm_80) ----------------------------------------------------------------------------------

#if TC_ARCH >= 800
TC_FN unsigned long long tc_evict_first() {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
  return policy;
}
TC_FN unsigned long long tc_evict_last() {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy));
  return policy;
}
// 16 bytes from global memory, with an L2 eviction policy.
TC_FN void tc_load_with_policy(void* to, const void* from, unsigned long long policy) {
  uint4 value;
  asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from), "l"(policy)
               : "memory");
  *static_cast<uint4*>(to) = value;
}
TC_FN void tc_store_with_policy(void* to, const void* from, unsigned long long policy) {
  const uint4 value = *static_cast<const uint4*>(from);
  asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to), "r"(value.x), "r"(value.y),
               "r"(value.z), "r"(value.w), "l"(policy)
               : "memory");
}
#endif
