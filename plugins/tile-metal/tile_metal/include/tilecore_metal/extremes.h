#pragma once

// Of floats the one that is a number.
TC_FN int tc_min(int a, int b) { return b < a ? b : a; }
TC_FN uint tc_min(uint a, uint b) { return b < a ? b : a; }
TC_FN long tc_min(long a, long b) { return b < a ? b : a; }
TC_FN ulong tc_min(ulong a, ulong b) { return b < a ? b : a; }
TC_FN float tc_min(float a, float b) { return metal::fmin(a, b); }
TC_FN int tc_max(int a, int b) { return a < b ? b : a; }
TC_FN uint tc_max(uint a, uint b) { return a < b ? b : a; }
TC_FN long tc_max(long a, long b) { return a < b ? b : a; }
TC_FN ulong tc_max(ulong a, ulong b) { return a < b ? b : a; }
TC_FN float tc_max(float a, float b) { return metal::fmax(a, b); }

// The lowest integer is its own absolute value.
TC_FN int tc_abs(int x) { return x < 0 ? (int)(0 - (uint)x) : x; }
TC_FN long tc_abs(long x) { return x < 0 ? (long)(0 - (ulong)x) : x; }
TC_FN float tc_abs(float x) { return metal::fabs(x); }
