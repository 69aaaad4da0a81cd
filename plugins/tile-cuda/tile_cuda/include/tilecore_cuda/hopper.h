// What sm_90a has beside: tensor copies by maps that the launch makes, and matrix products of a warpgroup of 128
// threads on tiles in shared memory. PTX ISA 8.7, sections "cp.async.bulk.tensor" and "wgmma".
#pragma once

// -- tensor copies ---------------------------------------------------------------------------------------------------

// A CUtensorMap; a kernel takes it as `const __grid_constant__ tc_tensor_map`.
struct alignas(64) tc_tensor_map {
  unsigned long long words[16];
};

#if TC_ARCH >= 900
TC_FN void tc_tensor_prefetch(const tc_tensor_map* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// A box from global to shared memory (at a multiple of 128 bytes, of the swizzle's period where there is one): its
// bytes complete on a barrier. x, y, z: the box's first element along the map's axes, the innermost first; what lies
// outside of the tensor is filled.
TC_FN void tc_tensor_load(void* to, const tc_tensor_map* map, void* barrier, int x) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(
          tc_shared_address(to)),
      "l"(map), "r"(tc_shared_address(barrier)), "r"(x)
      : "memory");
}
TC_FN void tc_tensor_load(void* to, const tc_tensor_map* map, void* barrier, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
      "[%2];" ::"r"(tc_shared_address(to)),
      "l"(map), "r"(tc_shared_address(barrier)), "r"(x), "r"(y)
      : "memory");
}
TC_FN void tc_tensor_load(void* to, const tc_tensor_map* map, void* barrier, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(tc_shared_address(to)),
      "l"(map), "r"(tc_shared_address(barrier)), "r"(x), "r"(y), "r"(z)
      : "memory");
}
// A box from shared to global memory, in this thread's current group of stores; what lies outside is left out.
TC_FN void tc_tensor_store(const tc_tensor_map* map, const void* from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(tc_shared_address(from)), "r"(x), "r"(y)
               : "memory");
}
TC_FN void tc_commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// This thread's groups of stores but the last N have read shared memory, which may be written again.
template <int N>
TC_FN void tc_wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
// This thread's groups of stores but the last N are done.
template <int N>
TC_FN void tc_wait_stores() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}
#endif

// -- products of a warpgroup -----------------------------------------------------------------------------------------

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// The description of an operand's tile in shared memory at a multiple of 16 bytes. leading, stride: bytes between its
// parts, as the layout of the tile says; swizzle: 0 none, 1 of 128 bytes, 2 of 64, 3 of 32.
TC_FN unsigned long long tc_operand(const void* tile, unsigned leading, unsigned stride, unsigned swizzle) {
  const unsigned long long address = tc_shared_address(tile);
  return (address & 0x3ffff) >> 4 | (unsigned long long)(leading >> 4) << 16 |
         (unsigned long long)(stride >> 4) << 32 | (unsigned long long)swizzle << 62;
}
// Before the first product, and where other code has touched the accumulators or written the tiles.
TC_FN void tc_warpgroup_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
TC_FN void tc_warpgroup_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// The products but the last N groups are done: their accumulators d may be read, and their tiles written.
template <int N, int R>
TC_FN void tc_warpgroup_wait(float (&d)[R]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
#pragma unroll
  for (int i = 0; i < R; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// The numbers of the accumulators' registers, eight at a time.
#define TC_R0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define TC_R1 "%8, %9, %10, %11, %12, %13, %14, %15"
#define TC_R2 "%16, %17, %18, %19, %20, %21, %22, %23"
#define TC_R3 "%24, %25, %26, %27, %28, %29, %30, %31"
#define TC_R4 "%32, %33, %34, %35, %36, %37, %38, %39"
#define TC_R5 "%40, %41, %42, %43, %44, %45, %46, %47"
#define TC_R6 "%48, %49, %50, %51, %52, %53, %54, %55"
#define TC_R7 "%56, %57, %58, %59, %60, %61, %62, %63"
#define TC_R8 "%64, %65, %66, %67, %68, %69, %70, %71"
#define TC_R9 "%72, %73, %74, %75, %76, %77, %78, %79"
#define TC_R10 "%80, %81, %82, %83, %84, %85, %86, %87"
#define TC_R11 "%88, %89, %90, %91, %92, %93, %94, %95"
#define TC_R12 "%96, %97, %98, %99, %100, %101, %102, %103"
#define TC_R13 "%104, %105, %106, %107, %108, %109, %110, %111"
#define TC_R14 "%112, %113, %114, %115, %116, %117, %118, %119"
#define TC_R15 "%120, %121, %122, %123, %124, %125, %126, %127"
#define TC_D8(I) \
  "+f"(d[I]), "+f"(d[I + 1]), "+f"(d[I + 2]), "+f"(d[I + 3]), "+f"(d[I + 4]), "+f"(d[I + 5]), \
      "+f"(d[I + 6]), "+f"(d[I + 7])
#define TC_D32(I) TC_D8(I), TC_D8(I + 8), TC_D8(I + 16), TC_D8(I + 24)
// d (+)= a * b: 64 x N by 16, N = 2 * COUNT. A_BY_M, B_BY_N: whether m (n) is the tile's innermost axis instead of k.
// add: whether to add to d; else it is replaced.
#define TC_WARPGROUP(NAME, SHAPE, TYPES, COUNT, REGISTERS, WORDS, A, B, P, TA, TB)                              \
  template <bool A_BY_M, bool B_BY_N>                                                                           \
  TC_FN void NAME(float (&d)[COUNT], unsigned long long a, unsigned long long b, bool add) {                    \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, " P ", 0; wgmma.mma_async.sync.aligned." SHAPE ".f32." TYPES   \
                 " {" REGISTERS "}, " A ", " B ", p, 1, 1, " TA ", " TB "; }"                                   \
                 : WORDS                                                                                        \
                 : "l"(a), "l"(b), "r"(int(add)), "n"(int(A_BY_M)), "n"(int(B_BY_N)));                          \
  }
#define TC_WARPGROUP_64(NAME, TYPES) \
  TC_WARPGROUP(NAME, "m64n64k16", TYPES, 32, TC_ROW_64, TC_ALL_64, "%32", "%33", "%34", "%35", "%36")
#define TC_ROW_64 TC_R0 ", " TC_R1 ", " TC_R2 ", " TC_R3
#define TC_ALL_64 TC_D32(0)
#define TC_WARPGROUP_128(NAME, TYPES) \
  TC_WARPGROUP(NAME, "m64n128k16", TYPES, 64, TC_ROW_128, TC_ALL_128, "%64", "%65", "%66", "%67", "%68")
#define TC_ROW_128 TC_ROW_64 ", " TC_R4 ", " TC_R5 ", " TC_R6 ", " TC_R7
#define TC_ALL_128 TC_D32(0), TC_D32(32)
#define TC_WARPGROUP_256(NAME, TYPES) \
  TC_WARPGROUP(NAME, "m64n256k16", TYPES, 128, TC_ROW_256, TC_ALL_256, "%128", "%129", "%130", "%131", "%132")
#define TC_ROW_256 \
  TC_ROW_128 ", " TC_R8 ", " TC_R9 ", " TC_R10 ", " TC_R11 ", " TC_R12 ", " TC_R13 ", " TC_R14 ", " TC_R15
#define TC_ALL_256 TC_D32(0), TC_D32(32), TC_D32(64), TC_D32(96)
TC_WARPGROUP_64(tc_wgmma_m64n64k16_f16_f32, "f16.f16")
TC_WARPGROUP_64(tc_wgmma_m64n64k16_bf16_f32, "bf16.bf16")
TC_WARPGROUP_128(tc_wgmma_m64n128k16_f16_f32, "f16.f16")
TC_WARPGROUP_128(tc_wgmma_m64n128k16_bf16_f32, "bf16.bf16")
TC_WARPGROUP_256(tc_wgmma_m64n256k16_f16_f32, "f16.f16")
TC_WARPGROUP_256(tc_wgmma_m64n256k16_bf16_f32, "bf16.bf16")
#undef TC_R0
#undef TC_R1
#undef TC_R2
#undef TC_R3
#undef TC_R4
#undef TC_R5
#undef TC_R6
#undef TC_R7
#undef TC_R8
#undef TC_R9
#undef TC_R10
#undef TC_R11
#undef TC_R12
#undef TC_R13
#undef TC_R14
#undef TC_R15
#undef TC_D8
#undef TC_D32
#undef TC_WARPGROUP
#undef TC_WARPGROUP_64
#undef TC_ROW_64
#undef TC_ALL_64
#undef TC_WARPGROUP_128
#undef TC_ROW_128
#undef TC_ALL_128
#undef TC_WARPGROUP_256
#undef TC_ROW_256
#undef TC_ALL_256
#endif
