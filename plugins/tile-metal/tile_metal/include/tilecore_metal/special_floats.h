#pragma once
#define TC_INFINITY INFINITY
#define TC_NAN NAN

// By the bits: with fast mathematics compilers take these for false.
TC_FN bool tc_isnan(float x) { return (as_type<uint>(x) & 0x7fffffffu) > 0x7f800000u; }
TC_FN bool tc_isinf(float x) { return (as_type<uint>(x) & 0x7fffffffu) == 0x7f800000u; }
TC_FN bool tc_isfinite(float x) { return (as_type<uint>(x) & 0x7fffffffu) < 0x7f800000u; }
