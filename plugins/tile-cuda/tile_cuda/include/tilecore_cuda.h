// The functions that emitted kernels call: element types, mathematics, operations of threads, atomics, asynchronous
// copies and matrix instructions. It needs no header of the vendor; TC_SIMULATE selects the form that runs on a host.
#pragma once
#ifdef TC_SIMULATE
#include "tilecore_cuda/simulated.h"
#else
#define TC_FN __device__ __forceinline__
#define TC_MEMCPY memcpy
#define TC_ARCH __CUDA_ARCH__
#include "tilecore_c.h"
#include "tilecore_integer_names.h"
#include "tilecore_cuda/mathematics.h"
#include "tilecore_cuda/floats.h"
#include "tilecore_cuda/threads.h"
#include "tilecore_cuda/memory.h"
#include "tilecore_cuda/halves.h"
#include "tilecore_cuda/signs.h"
#include "tilecore_cuda/pairs.h"
#include "tilecore_cuda/quotients.h"
#include "tilecore_cuda/hints.h"
#include "tilecore_cuda/atomics.h"
#include "tilecore_cuda/asynchronous.h"
#include "tilecore_cuda/matrix.h"
#if TC_ARCH >= 900
#include "tilecore_cuda/clusters.h"
#include "tilecore_cuda/warpgroups.h"
#include "tilecore_cuda/wgmma_registers.h"
#include "tilecore_cuda/wgmma.h"
#endif
#include "tilecore_cuda/tensor_copies.h"
#endif
