#pragma once

#if __METAL_VERSION__ >= 320
TC_FN void tc_fence_block() {
  metal::atomic_thread_fence(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device,
                             metal::memory_order_seq_cst, metal::thread_scope_threadgroup);
}
#endif
#if __METAL_VERSION__ >= 320
TC_FN void tc_fence_device() {
  metal::atomic_thread_fence(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device,
                             metal::memory_order_seq_cst, metal::thread_scope_device);
}
#endif
