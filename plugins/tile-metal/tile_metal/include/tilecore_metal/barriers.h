#pragma once

TC_FN void tc_barrier() { metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device); }

// Orders accesses of threadgroup memory alone.
TC_FN void tc_shared_barrier() { metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup); }

TC_FN void tc_warp_barrier() { metal::simdgroup_barrier(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device); }
