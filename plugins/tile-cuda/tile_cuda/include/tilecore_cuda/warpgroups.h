// Operations of a warpgroup, four warps of which the first is a multiple of four (sm_90a): register reallocation, and
// the fences, groups and waits of wgmma. PTX ISA 8.7, sections "wgmma" and "setmaxnreg".
#pragma once

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// Each thread of the warpgroup has N registers from here on: fewer (release), or more (acquire) after a release.
template <int N>
TC_FN void tc_registers_release() {
  static_assert(N >= 24 && N <= 256 && N % 8 == 0, "a thread has 24 to 256 registers, a multiple of 8");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N>
TC_FN void tc_registers_acquire() {
  static_assert(N >= 24 && N <= 256 && N % 8 == 0, "a thread has 24 to 256 registers, a multiple of 8");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

using tc_operand_t = unsigned long long;
// The matrix descriptor of a tile in shared memory at a multiple of 16 bytes. leading, stride: bytes between its
// parts, as the layout of the tile defines ("Matrix Descriptor Format"); swizzle: 0 none, 1 of 128 bytes, 2 of 64, 3 of
// 32.
TC_FN tc_operand_t tc_operand(const void* tile, unsigned leading, unsigned stride, unsigned swizzle) {
  const tc_operand_t address = tc_shared_address(tile);
  tc_operand_t made = (address & 0x3ffff) >> 4 | tc_operand_t((leading & 0x3ffff) >> 4) << 16 |
                      tc_operand_t((stride & 0x3ffff) >> 4) << 32 | tc_operand_t(swizzle) << 62;
  asm("" : "+l"(made));  // else the compiler recomputes its parts for every instruction
  return made;
}
// The matrix descriptor of a tile that begins some pieces of 16 bytes further on.
TC_FN tc_operand_t tc_operand_at(tc_operand_t tile, unsigned pieces) {
  return tile + pieces;
}
// Before the first wgmma, and after other code has accessed accumulators or operand registers.
TC_FN void tc_warpgroup_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// The wgmma instructions since the last commit become one group.
TC_FN void tc_warpgroup_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until all groups but the last N have ended: then tc_warpgroup_settle, and reads and writes of their operands.
template <int N>
TC_FN void tc_warpgroup_wait() {
  static_assert(N >= 0 && N <= 7, "a wait leaves at most seven groups");
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// A fence after the wait, for each array of accumulators: the compiler moves no use of d[0] to d[Count - 1] before it.
template <int Count>
TC_FN void tc_warpgroup_settle(float* d) {
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(d[i]));
}
template <int Count>
TC_FN void tc_warpgroup_settle(int* d) {
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+r"(d[i]));
}
template <int Count, class T>
TC_FN void tc_warpgroup_settle(T* d) {  // elements of less than a word
  static_assert(Count * sizeof(T) % 4 == 0, "operands of wgmma are whole words");
#pragma unroll
  for (int i = 0; i < Count * int(sizeof(T)) / 4; ++i) asm volatile("" : "+r"(reinterpret_cast<unsigned*>(d)[i]));
}
// Reads registers, so that ptxas keeps them until here: the words 4 i to 4 i + 3 of Count elements, for a comparison whose
// result only an event of a profiler ("pmevent") depends on. ptxas ends the live range of a wgmma's A too early otherwise.
template <int Count, class T>
TC_FN void tc_keep_registers(const T* held) {
  static_assert(Count * sizeof(T) % 16 == 0, "operands of wgmma are multiples of four words");
  const unsigned* words = reinterpret_cast<const unsigned*>(held);
#pragma unroll
  for (int i = 0; i < Count * int(sizeof(T)) / 4; i += 4)
    asm volatile(
        "{\n.reg .pred p;\n.reg .b32 t;\nxor.b32 t, %0, %1;\nxor.b32 t, t, %2;\nxor.b32 t, t, %3;\n"
        "setp.eq.u32 p, t, 0xffffffff;\n@p pmevent 0;\n}" ::"r"(words[i]), "r"(words[i + 1]), "r"(words[i + 2]),
        "r"(words[i + 3]));
}
// ptxas moves no instruction across this, which follows the computation of the value: it assumes that an event is
// counted here ("pmevent" of the PTX ISA, which a profiler may see and a program cannot), if the value is one of the NaNs.
TC_FN void tc_scheduling_fence(float value) {
  asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, %0, 0xffffffff;\n@p pmevent 0;\n}" ::"r"(__float_as_uint(value)) : "memory");
}
#endif
