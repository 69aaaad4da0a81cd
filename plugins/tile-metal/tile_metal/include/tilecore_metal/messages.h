// T.print and T.device_assert. MSL has neither printf nor traps: threads write records into a buffer that is the kernel's
// last argument, and the host reads it after the launch (tile_metal/runtime/messages.py, which has the same layout).
//
// Words of 4 bytes: 0: pairs of words that records asked for; 1: records that found no room; 2: failed assertions; of the
// first one 3: its number, 4 to 6: its threadgroup, 7 to 9: its thread; from 16 on the records. A record has a pair for its
// head: the count of its pairs (bits 0 to 15) and of its values (bits 16 to 31), then the number of its text, which
// the host has; and a pair for each value: a long, a ulong, or a float and 0.
#pragma once

#define TC_MESSAGE_HEAD 16u
#define TC_MESSAGE_PAIRS 131072u

TC_FN uint tc_message_count(device uint* word, uint amount) {
  return metal::atomic_fetch_add_explicit((device metal::atomic_uint*)word, amount, metal::memory_order_relaxed);
}
TC_FN uint tc_message_load(device uint* word) {
  return metal::atomic_load_explicit((device metal::atomic_uint*)word, metal::memory_order_relaxed);
}
TC_FN uint2 tc_message_bits(long value) { return as_type<uint2>(value); }
TC_FN uint2 tc_message_bits(ulong value) { return as_type<uint2>(value); }
TC_FN uint2 tc_message_bits(float value) { return as_type<uint2>((ulong)as_type<uint>(value)); }

// number: of the text, from 1.
template <typename... T>
TC_FN void tc_print_values(device uint* messages, uint number, T... values) {
  const uint count = sizeof...(T), pairs = 1u + count;
  // when it is full the count stays: it must not begin again at 0
  const uint at = tc_message_load(messages) < TC_MESSAGE_PAIRS ? tc_message_count(messages, pairs) : TC_MESSAGE_PAIRS;
  if (at + pairs > TC_MESSAGE_PAIRS) {
    tc_message_count(messages + 1, 1u);
    return;
  }
  device uint* record = messages + TC_MESSAGE_HEAD + 2u * at;
  const uint2 bits[] = {tc_message_bits(values)..., as_type<uint2>(0ul)};
  for (uint i = 0u; i < count; ++i) {
    record[2u * i + 2u] = bits[i].x;
    record[2u * i + 3u] = bits[i].y;
  }
  record[0] = pairs | count << 16;
  record[1] = number;
}
// The text of a print is the host's; here it says what is printed.
#define tc_print(MESSAGES, NUMBER, TEXT, ...) tc_print_values(MESSAGES, NUMBER, ##__VA_ARGS__)

// Notes the first failure of all. The thread goes on: the others of its threadgroup wait for it at barriers.
TC_FN void tc_assertion_failed(device uint* messages, uint number, uint3 block, uint3 thread_index) {
  if (tc_message_count(messages + 2, 1u) != 0u) return;
  messages[3] = number;
  messages[4] = block.x;
  messages[5] = block.y;
  messages[6] = block.z;
  messages[7] = thread_index.x;
  messages[8] = thread_index.y;
  messages[9] = thread_index.z;
}
#define tc_assert(MESSAGES, CONDITION, NUMBER, TEXT) \
  ((CONDITION) ? (void)0 : tc_assertion_failed(MESSAGES, NUMBER, tc_block, tc_thread))
