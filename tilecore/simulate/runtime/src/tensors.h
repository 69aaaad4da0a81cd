// Tensors move into an arena with guard zones between them, and back when the run went well.
#pragma once
#include "scheduler.h"

namespace tcsim {

constexpr size_t kGuard = size_t(1) << 20;

inline size_t pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

inline void own_pages(Launch& launch, uintptr_t begin, uintptr_t end, uint16_t tensor) {
  for (uintptr_t page = begin >> 12; page < end >> 12; ++page) launch.page_owner[page] = tensor;
}

inline unsigned shift_for(uint32_t item) { return item >= 8 ? 3 : item >= 4 ? 2 : item >= 2 ? 1 : 0; }

inline bool place_tensors(Launch& launch) {
  const TcSimLaunch& request = *launch.request;
  size_t total = kGuard;
  for (uint32_t i = 0; i < request.tensor_count; ++i) total += pages(request.tensors[i].bytes) + kGuard;
  if (!launch.arena.reserve(total) || request.tensor_count > 0xffff) return false;
  launch.arena_begin = reinterpret_cast<uintptr_t>(launch.arena.data());
  launch.page_owner.assign(total / kPage, 0);
  launch.tensors.resize(request.tensor_count ? request.tensor_count : 1);
  size_t at = 0;
  for (uint32_t i = 0; i < request.tensor_count; ++i) {
    const TcSimTensor& tensor = request.tensors[i];
    const size_t begin = at + kGuard, room = pages(tensor.bytes);
    own_pages(launch, i ? at + kGuard / 2 : 0, i + 1 < request.tensor_count ? begin + room + kGuard / 2 : total,
              uint16_t(i));
    mprotect(launch.arena.data() + at, kGuard, PROT_NONE);
    Space& space = launch.tensors[i];
    space.number = static_cast<int>(i);
    space.item = tensor.item;
    space.writable = (tensor.access & 2) != 0;
    space.poison = tensor.access == 2;
    space.begin = launch.arena_begin + begin;
    space.end = space.begin + tensor.bytes;
    if (tensor.bytes) memcpy(launch.arena.data() + begin, tensor.host, tensor.bytes);
    at = begin + room;
  }
  return true;
}

inline bool cover_tensors(Worker& worker, Launch& launch) {
  if (!checks_global(launch)) return true;
  for (Space& space : launch.tensors) {
    if (!space.writable || space.begin == space.end) continue;
    launch.shadows.push_back(std::make_unique<Shadow>());
    if (!launch.shadows.back()->cover(space, space.begin, space.end - space.begin, shift_for(space.item),
                                      &worker.global_readers))
      return false;
  }
  return true;
}

inline void point_slots(Launch& launch) {
  const TcSimLaunch& request = *launch.request;
  for (uint32_t i = 0; i < request.pointer_count; ++i) {
    const TcSimPointer& pointer = request.pointers[i];
    request.slots[pointer.slot] = static_cast<int64_t>(launch.tensors[pointer.tensor].begin + pointer.offset);
  }
}

inline void point_words(Launch& launch) {
  const TcSimLaunch& request = *launch.request;
  for (uint64_t i = 0; i < request.word_count; ++i) {
    const TcSimWord& word = request.words[i];
    const uint64_t address = launch.tensors[word.target].begin + word.offset;
    memcpy(reinterpret_cast<void*>(launch.tensors[word.tensor].begin + word.at), &address, sizeof address);
  }
}

// The host's addresses again, before the tensors that hold them are copied back.
inline void restore_words(const Launch& launch) {
  const TcSimLaunch& request = *launch.request;
  for (uint64_t i = 0; i < request.word_count; ++i) {
    const TcSimWord& word = request.words[i];
    memcpy(reinterpret_cast<void*>(launch.tensors[word.tensor].begin + word.at),
           static_cast<const char*>(request.tensors[word.tensor].host) + word.at, sizeof(uint64_t));
  }
}

inline void fetch_tensors(const Launch& launch) {
  restore_words(launch);
  for (uint32_t i = 0; i < launch.request->tensor_count; ++i) {
    const TcSimTensor& tensor = launch.request->tensors[i];
    if ((tensor.access & 2) && tensor.bytes)
      memcpy(tensor.host, reinterpret_cast<void*>(launch.tensors[i].begin), tensor.bytes);
  }
}

}  // namespace tcsim
