// Metal's own header, and how floats are computed.
#pragma once
#include <metal_stdlib>
// A product and a sum are rounded one after the other: where one rounding is meant, the source says fma.
#if __METAL_VERSION__ >= 320
#pragma METAL fp contract(off)
#else
#pragma STDC FP_CONTRACT OFF
#endif
#define TC_FN inline
// Pointers have address spaces: a function of the user's own takes the type of a pointer as a parameter of a template.
#define TC_SPACES
// Device memory that other threadgroups see while the kernel runs: a space of its own, as Metal's compiler takes it. Only
// programs that have such memory get functions for it, so that no other one depends on that.
#ifdef TC_USES_COHERENT
#define TC_COHERENT coherent(device) device
#endif
