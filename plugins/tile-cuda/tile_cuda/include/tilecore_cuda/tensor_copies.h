// TMA copies: boxes between global and shared memory, by tensor maps that the launch encodes (sm_90). PTX ISA 8.7,
// sections "cp.async.bulk.tensor" and "cp.reduce.async.bulk.tensor".
#pragma once

// A CUtensorMap; a kernel takes it as `const __grid_constant__ tc_tensor_map`.
struct alignas(64) tc_tensor_map {
  unsigned long long words[16];
};

#if TC_ARCH >= 900
TC_FN void tc_tensor_prefetch(const tc_tensor_map* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// The coordinates' parameters, their names in an instruction from the I-th operand on, and their operands.
#define TC_PLACE_1 int x
#define TC_PLACE_2 TC_PLACE_1, int y
#define TC_PLACE_3 TC_PLACE_2, int z
#define TC_PLACE_4 TC_PLACE_3, int u
#define TC_PLACE_5 TC_PLACE_4, int v
#define TC_NAMES_1(A, B, C, D, E) "%" #A
#define TC_NAMES_2(A, B, C, D, E) TC_NAMES_1(A, , , , ) ", %" #B
#define TC_NAMES_3(A, B, C, D, E) TC_NAMES_2(A, B, , , ) ", %" #C
#define TC_NAMES_4(A, B, C, D, E) TC_NAMES_3(A, B, C, , ) ", %" #D
#define TC_NAMES_5(A, B, C, D, E) TC_NAMES_4(A, B, C, D, ) ", %" #E
#define TC_BOUND_1 "r"(x)
#define TC_BOUND_2 TC_BOUND_1, "r"(y)
#define TC_BOUND_3 TC_BOUND_2, "r"(z)
#define TC_BOUND_4 TC_BOUND_3, "r"(u)
#define TC_BOUND_5 TC_BOUND_4, "r"(v)

// tc_tensor_load: a box from global to shared memory (at a multiple of 128 bytes, of the swizzle's period where there
// is one), whose bytes complete on a barrier. The coordinates are the box's first element along the map's axes, the
// innermost first; what lies outside of the tensor is filled.
// tc_tensor_load_multicast: to the same place in every block of the cluster that has a bit in mask, completing on the
// barrier at the same place there.
// ..._hinted: the same, with a policy for the lines that it brings to L2.
// tc_tensor_store: a box from shared to global memory, in this thread's current group of stores; what lies outside is
// left out. tc_tensor_add: the same, added to what is there.
#define TC_TENSOR_COPIES(RANK)                                                                                        \
  TC_FN void tc_tensor_load(void* to, const tc_tensor_map* map, void* barrier, TC_PLACE_##RANK) {                    \
    asm volatile("cp.async.bulk.tensor." #RANK                                                                      \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" TC_NAMES_##RANK(          \
                     3, 4, 5, 6, 7) "}], [%2];" ::"r"(tc_shared_address(to)),                                        \
                 "l"(map), "r"(tc_shared_address(barrier)), TC_BOUND_##RANK                                          \
                 : "memory");                                                                                        \
  }                                                                                                                  \
  TC_FN void tc_tensor_load_hinted(void* to, const tc_tensor_map* map, void* barrier, unsigned long long policy,      \
                                   TC_PLACE_##RANK) {                                                                \
    asm volatile("cp.async.bulk.tensor." #RANK                                                                      \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, "             \
                 "{" TC_NAMES_##RANK(4, 5, 6, 7, 8) "}], [%2], %3;" ::"r"(tc_shared_address(to)),                    \
                 "l"(map), "r"(tc_shared_address(barrier)), "l"(policy), TC_BOUND_##RANK                             \
                 : "memory");                                                                                        \
  }                                                                                                                  \
  TC_FN void tc_tensor_load_multicast(void* to, const tc_tensor_map* map, void* barrier, unsigned short mask,        \
                                      TC_PLACE_##RANK) {                                                             \
    asm volatile("cp.async.bulk.tensor." #RANK                                                                      \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "         \
                 "{" TC_NAMES_##RANK(4, 5, 6, 7, 8) "}], [%2], %3;" ::"r"(tc_shared_address(to)),                    \
                 "l"(map), "r"(tc_shared_address(barrier)), "h"(mask), TC_BOUND_##RANK                               \
                 : "memory");                                                                                        \
  }                                                                                                                  \
  TC_FN void tc_tensor_load_multicast_hinted(void* to, const tc_tensor_map* map, void* barrier, unsigned short mask, \
                                             unsigned long long policy, TC_PLACE_##RANK) {                           \
    asm volatile("cp.async.bulk.tensor." #RANK                                                                      \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "     \
                 "[%0], [%1, {" TC_NAMES_##RANK(5, 6, 7, 8, 9) "}], [%2], %3, %4;" ::"r"(tc_shared_address(to)),     \
                 "l"(map), "r"(tc_shared_address(barrier)), "h"(mask), "l"(policy), TC_BOUND_##RANK                  \
                 : "memory");                                                                                        \
  }                                                                                                                  \
  TC_FN void tc_tensor_store(const tc_tensor_map* map, const void* from, TC_PLACE_##RANK) {                          \
    asm volatile("cp.async.bulk.tensor." #RANK "d.global.shared::cta.tile.bulk_group [%0, {" TC_NAMES_##RANK(        \
                     2, 3, 4, 5, 6) "}], [%1];" ::"l"(map),                                                          \
                 "r"(tc_shared_address(from)), TC_BOUND_##RANK                                                       \
                 : "memory");                                                                                        \
  }                                                                                                                  \
  TC_FN void tc_tensor_add(const tc_tensor_map* map, const void* from, TC_PLACE_##RANK) {                            \
    asm volatile("cp.reduce.async.bulk.tensor." #RANK                                                               \
                 "d.global.shared::cta.add.tile.bulk_group [%0, {" TC_NAMES_##RANK(2, 3, 4, 5, 6) "}], [%1];" ::"l"(  \
                     map),                                                                                           \
                 "r"(tc_shared_address(from)), TC_BOUND_##RANK                                                       \
                 : "memory");                                                                                        \
  }
TC_TENSOR_COPIES(1)
TC_TENSOR_COPIES(2)
TC_TENSOR_COPIES(3)
TC_TENSOR_COPIES(4)
TC_TENSOR_COPIES(5)
#undef TC_TENSOR_COPIES
#undef TC_PLACE_1
#undef TC_PLACE_2
#undef TC_PLACE_3
#undef TC_PLACE_4
#undef TC_PLACE_5
#undef TC_NAMES_1
#undef TC_NAMES_2
#undef TC_NAMES_3
#undef TC_NAMES_4
#undef TC_NAMES_5
#undef TC_BOUND_1
#undef TC_BOUND_2
#undef TC_BOUND_3
#undef TC_BOUND_4
#undef TC_BOUND_5

TC_FN void tc_commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Waits until all groups of stores of this thread but the last N have read shared memory, which may then be written.
template <int N>
TC_FN void tc_wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
// Waits until all groups of stores of this thread but the last N have ended.
template <int N>
TC_FN void tc_wait_stores() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}
#endif
