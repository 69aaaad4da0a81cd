// The header for Metal: its parts, in the order in which they need one another. tile_metal/header.py puts those that a
// kernel uses in front of it.
#pragma once
#include "tilecore_metal/language.h"
#include "tilecore_metal/numbers.h"
#include "tilecore_metal/mathematics.h"
#include "tilecore_metal/half_value.h"
#include "tilecore_float_conversions.h"
#include "tilecore_metal/floats.h"
#include "tilecore_metal/threads.h"
#include "tilecore_metal/reductions.h"
#include "tilecore_metal/memory.h"
#include "tilecore_metal/atomics.h"
#include "tilecore_metal/messages.h"
#include "tilecore_metal/matrix.h"
#include "tilecore_metal/matmul2d.h"
