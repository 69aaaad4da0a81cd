// How the runtime calls a kernel: arguments come as 8-byte slots, in the order of its parameters; a record takes as
// many as it has words.
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
constexpr unsigned words_of() {
  return (sizeof(T) + 7) / 8;
}
// The slots in front of a parameter.
constexpr unsigned first_slot(const unsigned* words, unsigned long number) {
  return number == 0 ? 0 : words[number - 1] + first_slot(words, number - 1);
}

template <class T>
inline typename plain<T>::type argument(unsigned first) {
  int64_t slots[words_of<T>()];
  for (unsigned i = 0; i < words_of<T>(); ++i) slots[i] = tc_sim_slot(first + i);
  typename plain<T>::type value;
  __builtin_memcpy(&value, slots, sizeof(T));
  return value;
}
template <class... Parameters, unsigned long... I>
inline void call(void (*kernel)(Parameters...), numbers<I...>) {
  constexpr unsigned words[] = {words_of<Parameters>()..., 0};
  kernel(argument<Parameters>(first_slot(words, I))...);
}
template <class... Parameters>
inline void call(void (*kernel)(Parameters...)) {
  call(kernel, typename count<sizeof...(Parameters)>::type());
}
}  // namespace tc_sim_entry

#define TC_SIM_ENTRY(SYMBOL) \
  extern "C" __attribute__((visibility("default"))) void tc_sim_entry_##SYMBOL() { tc_sim_entry::call(&SYMBOL); }
