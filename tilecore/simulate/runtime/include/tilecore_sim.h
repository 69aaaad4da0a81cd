// The simulated form of a kernel header: a backend's own header includes it under TC_SIMULATE and adds its built-ins.
#pragma once
#include "tilecore_sim/asynchronous.h"
#include "tilecore_sim/atomics.h"
#include "tilecore_sim/calls.h"
#include "tilecore_sim/entry.h"
#include "tilecore_sim/floats.h"
#include "tilecore_sim/mathematics.h"
#include "tilecore_sim/memory.h"
#include "tilecore_sim/threads.h"
