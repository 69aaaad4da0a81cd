// The functions that emitted kernels call. TC_SIMULATE selects the form that runs on a host.
#pragma once
#ifdef TC_SIMULATE
#include "tilecore_metal/simulated.h"
#else
#include "tilecore_metal/device.h"
#endif
