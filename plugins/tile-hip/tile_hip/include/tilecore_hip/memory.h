// Shared memory (LDS), vector moves, fences.
#pragma once

// The dynamic LDS of the block: a pointer to bytes. It lies behind the static LDS (the word of block votes), so that its
// alignment is no more than moves of 16 bytes need: with 1024, a kernel with both could use 1024 bytes less. Where it
// begins makes no difference to bank conflicts: all addresses move by the same bytes.
#define TC_SHARED(NAME) extern __shared__ __attribute__((aligned(16))) unsigned char NAME[]

template <int Bytes>
struct tc_vector : tc_word<Bytes> {};
template <>
struct tc_vector<8> {
  typedef unsigned type __attribute__((ext_vector_type(2), may_alias));
};
template <>
struct tc_vector<16> {
  typedef unsigned type __attribute__((ext_vector_type(4), may_alias));
};

// Moves contiguous elements by one instruction: both addresses are multiples of the size.
template <int Bytes>
TC_FN void tc_move(void* to, const void* from) {
  using vector = typename tc_vector<Bytes>::type;
  typedef vector aliased __attribute__((may_alias));
  *static_cast<aliased*>(to) = *static_cast<const aliased*>(from);
}

// Copies from global memory straight to LDS. `to` is the place of this lane: 16 bytes for each, in the order of lanes, from
// where the first one has its place. Where `valid` is false, zeros are copied: every copy is a load, so that waits by the
// number of loads are right.
#ifdef __gfx950__
static __device__ const unsigned tc_zeros[4] = {0, 0, 0, 0};
template <int Bytes>
TC_FN void tc_copy_to_lds(void* to, const void* from, bool valid = true) {
  static_assert(Bytes == 16, "a lane copies 16 bytes");
  const void* source = valid ? from : (const void*)tc_zeros;
  const auto first = (__attribute__((address_space(3))) unsigned char*)to - tc_lane() * 16;
  __builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) void*)source,
                                   (__attribute__((address_space(3))) void*)first, 16, 0, 0);
}
// Waits until all copies of this wave but the last `Remaining` have landed; a barrier shows them to other waves.
template <int Remaining>
TC_FN void tc_wait_copies() {
  constexpr int most = Remaining < 63 ? Remaining : 63;
  asm volatile("s_waitcnt vmcnt(%0)" ::"n"(most) : "memory");
}
#endif

TC_FN void tc_fence_block() {
  tc_keep_order();
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
TC_FN void tc_fence_device() {
  tc_keep_order();
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}

// Loads and stores with a cache hint: data that is used once does not stay in the caches.
#define TC_HINTED(HINT, LOAD, STORE)                                                       \
  template <int Bytes>                                                                     \
  TC_FN void tc_load_##HINT(void* to, const void* from) {                                  \
    typedef typename tc_vector<Bytes>::type aliased __attribute__((may_alias));            \
    *static_cast<aliased*>(to) = LOAD(static_cast<const aliased*>(from));                  \
  }                                                                                        \
  template <int Bytes>                                                                     \
  TC_FN void tc_store_##HINT(void* to, const void* from) {                                 \
    typedef typename tc_vector<Bytes>::type aliased __attribute__((may_alias));            \
    STORE(*static_cast<const aliased*>(from), static_cast<aliased*>(to));                  \
  }
#define TC_PLAIN_LOAD(FROM) (*(FROM))
#define TC_PLAIN_STORE(VALUE, TO) (*(TO) = (VALUE))
TC_HINTED(streaming, __builtin_nontemporal_load, __builtin_nontemporal_store)
TC_HINTED(evict_first, __builtin_nontemporal_load, __builtin_nontemporal_store)
TC_HINTED(evict_last, TC_PLAIN_LOAD, TC_PLAIN_STORE)
#undef TC_PLAIN_LOAD
#undef TC_PLAIN_STORE
#undef TC_HINTED
