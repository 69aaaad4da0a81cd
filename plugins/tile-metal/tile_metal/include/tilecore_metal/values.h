#pragma once

// A narrow float as a float32.
template <typename T>
TC_FN float tc_single(T x) {
  return (float)x;
}

// A value out of memory of any address space: of structures, `?:` takes two of one space.
template <typename T>
TC_FN T tc_value(T x) {
  return x;
}

// An element of memory that has elements of other types, too.
template <typename T>
struct tc_aliased {
  typedef T __attribute__((may_alias)) type;
};
