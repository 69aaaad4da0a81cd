// Switching between stacks: a fiber is a stack and a saved stack pointer.
#pragma once
#include <stddef.h>
#include <stdint.h>

#if !defined(TC_SIM_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define TC_SIM_UCONTEXT 1
#endif

#ifdef TC_SIM_UCONTEXT
#include <ucontext.h>
#endif

namespace tcsim {

#ifdef TC_SIM_UCONTEXT

struct Context {
  ucontext_t state;
};

inline void switch_context(Context& from, Context& to) { swapcontext(&from.state, &to.state); }

inline void prepare_context(Context& context, unsigned char* stack, size_t bytes, void (*start)()) {
  getcontext(&context.state);
  context.state.uc_stack.ss_sp = stack;
  context.state.uc_stack.ss_size = bytes;
  context.state.uc_link = nullptr;
  makecontext(&context.state, start, 0);
}

#else

struct Context {
  void* stack_pointer = nullptr;
};

extern "C" void tc_sim_switch(void** save, void* restore) __attribute__((visibility("hidden")));

#if defined(__x86_64__)
// Saved, from the top: the return address, rbp, rbx, r12 to r15.
asm(R"(
.text
.hidden tc_sim_switch
.globl tc_sim_switch
.type tc_sim_switch, @function
tc_sim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tc_sim_switch, .-tc_sim_switch
)");
constexpr size_t kSavedWords = 7, kReturnWord = 6, kWordsAbove = 1;
#else
// Saved, from the bottom: x19 to x30 (x30 returns), d8 to d15.
asm(R"(
.text
.hidden tc_sim_switch
.globl tc_sim_switch
.type tc_sim_switch, %function
tc_sim_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size tc_sim_switch, .-tc_sim_switch
)");
constexpr size_t kSavedWords = 20, kReturnWord = 11, kWordsAbove = 0;
#endif

inline void switch_context(Context& from, Context& to) { tc_sim_switch(&from.stack_pointer, to.stack_pointer); }

// The first switch to the context calls start, which must not return.
inline void prepare_context(Context& context, unsigned char* stack, size_t bytes, void (*start)()) {
  auto top = (reinterpret_cast<uintptr_t>(stack) + bytes) & ~uintptr_t(15);
  auto* words = reinterpret_cast<uintptr_t*>(top) - kWordsAbove - kSavedWords;
  for (size_t i = 0; i < kSavedWords; ++i) words[i] = 0;
  words[kReturnWord] = reinterpret_cast<uintptr_t>(start);
  context.stack_pointer = words;
}

#endif

}  // namespace tcsim
