/* What emitted kernels call beside the vendor's functions: conversions and arithmetic of the control core. GNU C11. */
#ifndef TILECORE_TPU_H
#define TILECORE_TPU_H

#include <math.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tpu_kernel.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-strict-aliasing") /* local memory is looked at as several types */
#endif

#define TC_FN static inline __attribute__((unused))

#include "tilecore_tpu/control_core.h"
#include "tilecore_tpu/floats.h"
#include "tilecore_tpu/numbers.h"
#include "tilecore_tpu/memory.h"
#include "tilecore_tpu/commands.h"

#endif
