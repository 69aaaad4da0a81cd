#pragma once

// The bits of a value as another type of the same size. Structures of one byte and bools have none for as_type.
template <typename To, typename From>
struct tc_bit_cast {
  static To of(From from) { return as_type<To>(from); }
};
template <typename To>
struct tc_bit_cast<To, bool> {
  static To of(bool from) { return To(from); }
};
template <typename From>
struct tc_bit_cast<bool, From> {
  static bool of(From from) { return from != From(0); }
};
template <typename To, typename From>
TC_FN To tc_bits(From from) {
  return tc_bit_cast<To, From>::of(from);
}

TC_FN int tc_popcount(uint x) { return (int)metal::popcount(x); }
TC_FN int tc_popcount(ulong x) { return (int)metal::popcount(x); }
TC_FN int tc_clz(uint x) { return (int)metal::clz(x); }
TC_FN int tc_clz(ulong x) { return (int)metal::clz(x); }
