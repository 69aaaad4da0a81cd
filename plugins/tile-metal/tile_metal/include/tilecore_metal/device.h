// The header for Metal: its parts, in the order in which they need one another. tile_metal/header.py puts those of their
// definitions that a program uses in front of its kernels.
//
// How parts are written: paragraphs of definitions, with blank lines between them. A comment at the head of a paragraph is
// for all of it, and one that is a paragraph is for the part. A function of one line, a macro, a call of a macro at the
// outermost level, and what is between #if and #endif are each one definition. What header.py cannot see in the text is
// said in a comment: `provides:` has the names that a macro defines, `for:` a word without which no program needs the
// definition, such as that of a type for which it overloads a function.
#pragma once
#include "tilecore_metal/language.h"
#include "tilecore_metal/values.h"
#include "tilecore_metal/bits.h"
#include "tilecore_metal/special_floats.h"
#include "tilecore_metal/extremes.h"
#include "tilecore_metal/integer_division.h"
#include "tilecore_metal/truncation.h"
#include "tilecore_metal/rounding.h"
#include "tilecore_metal/float_functions.h"
#include "tilecore_metal/fma.h"
#include "tilecore_metal/further_functions.h"
#include "tilecore_metal/half_value.h"
#include "tilecore_float_conversions.h"
#include "tilecore_metal/small_floats.h"
#include "tilecore_metal/neighbours.h"
#include "tilecore_metal/barriers.h"
#include "tilecore_metal/fences.h"
#include "tilecore_metal/lane_values.h"
#include "tilecore_metal/shuffles.h"
#include "tilecore_metal/reductions.h"
#include "tilecore_metal/votes.h"
#include "tilecore_metal/moves.h"
#include "tilecore_metal/atomic_words.h"
#include "tilecore_metal/atomic_updates.h"
#include "tilecore_metal/atomics.h"
#include "tilecore_metal/messages.h"
#include "tilecore_metal/matrix.h"
#include "tilecore_metal/matmul2d.h"
