// What emitted kernels call, in OpenCL C 1.2 with clang's overloadable functions, which the drivers' compilers have.
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF // fused multiply-adds stand in the source: the language has one rule for them
#define TC_FN static inline __attribute__((overloadable))
#define alignas(BYTES) __attribute__((aligned(BYTES)))
#include "tilecore_opencl/floats.h"
#include "tilecore_opencl/numbers.h"
#include "tilecore_opencl/memory.h"
#include "tilecore_opencl/threads.h"
#include "tilecore_opencl/atomics.h"
