// T.print and T.device_assert. There is no printf without ROCm's libraries and a helper thread of the runtime: threads write
// records into a global variable of the code object, and the host reads them after the launch (tile_hip/launch/messages.py,
// which has the same layout). The toolchain defines TC_MESSAGES for sources that call either; others have no such variable.
#pragma once
#ifdef TC_MESSAGES

#define TC_MESSAGE_WORDS 131072
#define TC_MESSAGE_NAME 72
struct tc_message_buffer {
  unsigned long long used;      // words that records asked for; those beyond the end were not written
  unsigned long long dropped;   // records that did not fit
  unsigned long long failures;  // failed assertions; what follows describes the first one
  int number, block[3], thread[3], unused;
  char kernel[TC_MESSAGE_NAME];
  unsigned long long words[TC_MESSAGE_WORDS];
};
static_assert(__builtin_offsetof(tc_message_buffer, words) == 128, "the host's layout");
// The host finds it by its name. An inline variable would be a weak symbol, which loaders may not look up.
extern "C" __device__ tc_message_buffer tc_messages;
__device__ tc_message_buffer tc_messages;

TC_FN unsigned long long tc_message_word(long long value) { return (unsigned long long)value; }
TC_FN unsigned long long tc_message_word(unsigned long long value) { return value; }
TC_FN unsigned long long tc_message_word(double value) { return __builtin_bit_cast(unsigned long long, value); }

// A record: its words in bits 0 to 15, its values in bits 16 to 31, the bytes of its format from bit 32 on; then the values;
// then the format, up to a word's end.
template <unsigned Bytes, class... T>
TC_FN void tc_print(const char (&format)[Bytes], T... values) {
  constexpr unsigned text_words = (Bytes + 7) / 8, words = 1 + sizeof...(T) + text_words;
  static_assert(words < 65536, "the text of a print is too long");
  const unsigned long long at =
      __scoped_atomic_fetch_add(&tc_messages.used, (unsigned long long)words, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  if (at + words > TC_MESSAGE_WORDS) {
    __scoped_atomic_fetch_add(&tc_messages.dropped, 1ull, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    return;
  }
  unsigned long long* record = tc_messages.words + at;
  const unsigned long long in_words[] = {tc_message_word(values)..., 0};
  for (unsigned i = 0; i < sizeof...(T); ++i) record[1 + i] = in_words[i];
#pragma unroll
  for (unsigned i = 0; i < text_words; ++i) {
    unsigned long long word = 0;
#pragma unroll
    for (unsigned byte = 0; byte < 8; ++byte)
      if (8 * i + byte < Bytes) word |= (unsigned long long)(unsigned char)format[8 * i + byte] << (8 * byte);
    record[1 + sizeof...(T) + i] = word;
  }
  // last, so that a host that reads while this kernel runs sees a whole record or none
  __scoped_atomic_store_n(&record[0], words | (unsigned long long)sizeof...(T) << 16 | (unsigned long long)Bytes << 32,
                          __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
}

// Describes the first failure of all, and ends the wave: its block's other waves do not wait for it at barriers.
template <unsigned Bytes>
TC_FN void tc_assertion_failed(int number, const char (&kernel)[Bytes]) {
  if (__scoped_atomic_fetch_add(&tc_messages.failures, 1ull, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) == 0) {
    tc_messages.number = number;
    tc_messages.block[0] = blockIdx.x, tc_messages.block[1] = blockIdx.y, tc_messages.block[2] = blockIdx.z;
    tc_messages.thread[0] = threadIdx.x, tc_messages.thread[1] = threadIdx.y, tc_messages.thread[2] = threadIdx.z;
    for (unsigned i = 0; i < Bytes && i < TC_MESSAGE_NAME - 1; ++i) tc_messages.kernel[i] = kernel[i];
  }
  __builtin_amdgcn_endpgm();
}
#define tc_assert(CONDITION, NUMBER, MESSAGE) ((CONDITION) ? (void)0 : tc_assertion_failed((NUMBER), __func__))
#endif
