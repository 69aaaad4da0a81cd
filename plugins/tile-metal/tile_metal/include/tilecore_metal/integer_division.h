#pragma once

// What is divided by in place of b: by 0 the result means nothing.
template <typename T>
TC_FN T tc_divisor(T b) {
  return b == 0 ? T(1) : b;
}

// Division towards zero. The lowest number by -1 wraps to itself.
TC_FN int tc_div(int a, int b) { return b == -1 ? (int)(0 - (uint)a) : a / tc_divisor(b); }
TC_FN long tc_div(long a, long b) { return b == -1 ? (long)(0 - (ulong)a) : a / tc_divisor(b); }

// Its remainder. MSL specifies % for numbers that are not negative (6.1), so it is what the product leaves.
TC_FN int tc_mod(int a, int b) { return (int)((uint)a - (uint)tc_div(a, b) * (uint)b); }
TC_FN long tc_mod(long a, long b) { return (long)((ulong)a - (ulong)tc_div(a, b) * (ulong)b); }

// Division rounded down.
TC_FN int tc_floor_div(int a, int b) {
  const int quotient = tc_div(a, b), rest = tc_mod(a, b);
  return rest != 0 && (rest ^ b) < 0 ? quotient - 1 : quotient;
}
TC_FN long tc_floor_div(long a, long b) {
  const long quotient = tc_div(a, b), rest = tc_mod(a, b);
  return rest != 0 && (rest ^ b) < 0 ? quotient - 1 : quotient;
}

// Its remainder, which has the sign of the divisor.
TC_FN int tc_floor_mod(int a, int b) {
  const int rest = tc_mod(a, b);
  return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
}
TC_FN long tc_floor_mod(long a, long b) {
  const long rest = tc_mod(a, b);
  return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
}
