#pragma once
#include <metal_stdlib>
// A product and a sum are rounded one after the other: where one rounding is meant, the source says fma.
#if __METAL_VERSION__ >= 320
#pragma METAL fp contract(off)
#else
#pragma STDC FP_CONTRACT OFF
#endif
#define TC_FN inline
#define tc_assume(CONDITION) ((void)0)

// Pointers have address spaces: a function of the user's own takes the type of a pointer as a parameter of a template.
#define TC_SPACES

// Device memory that other threadgroups see while the kernel runs: a space of its own, as Metal's compiler takes it.
#define TC_COHERENT coherent(device) device  // for: coherent
