// The functions that emitted kernels call: element types, mathematics, operations of threads, atomics, moves and products of matrices. It needs
// no header of ROCm: everything is clang's built-ins. TC_SIMULATE selects the form that runs on a host.
#pragma once
#ifdef TC_SIMULATE
#include "tilecore_hip/simulated.h"
#else
#include "tilecore_hip/keywords.h"
#include "tilecore_c.h"
#include "tilecore_integer_names.h"
#include "tilecore_hip/mathematics.h"
#include "tilecore_hip/floats.h"
#include "tilecore_hip/threads.h"
#include "tilecore_hip/memory.h"
#include "tilecore_hip/atomics.h"
#include "tilecore_hip/messages.h"
#include "tilecore_hip/matrix_instructions.h"
#include "tilecore_hip/matrix.h"
#endif
