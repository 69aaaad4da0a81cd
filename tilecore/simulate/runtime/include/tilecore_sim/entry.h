// How the runtime calls a kernel: arguments come as 8-byte slots, in the order of its parameters.
#pragma once
#include "calls.h"

namespace tc_sim_entry {
template <unsigned long... I>
struct numbers {};
template <unsigned long N, unsigned long... I>
struct count : count<N - 1, N - 1, I...> {};
template <unsigned long... I>
struct count<0, I...> {
  using type = numbers<I...>;
};
template <class T>
struct plain {
  using type = T;
};
template <class T>
struct plain<const T> {
  using type = T;
};

template <class T>
inline typename plain<T>::type argument(unsigned number) {
  static_assert(sizeof(T) <= 8, "a kernel parameter has at most 8 bytes");
  const int64_t slot = tc_sim_slot(number);
  typename plain<T>::type value;
  __builtin_memcpy(&value, &slot, sizeof(T));
  return value;
}
template <class... Parameters, unsigned long... I>
inline void call(void (*kernel)(Parameters...), numbers<I...>) {
  kernel(argument<Parameters>(I)...);
}
template <class... Parameters>
inline void call(void (*kernel)(Parameters...)) {
  call(kernel, typename count<sizeof...(Parameters)>::type());
}
}  // namespace tc_sim_entry

#define TC_SIM_ENTRY(SYMBOL) \
  extern "C" __attribute__((visibility("default"))) void tc_sim_entry_##SYMBOL() { tc_sim_entry::call(&SYMBOL); }
