// Tensor maps of a launch: made by the driver when a tensor is first seen by a thread, and kept for its next launches.
#pragma once
#include <stdint.h>
#include <string.h>

#define TCU_MAX_RANK 5
#define TCU_MAP_BYTES 128
#define TCU_KEPT_SETS 16  // of a thread; a power of two
#define TCU_KEPT_WAYS 4   // maps of one set: as many whose keys meet there are kept beside one another

typedef struct {  // a size of the launch: a constant, or one of the words behind the slots
  int64_t value;
  int32_t slot;  // -1: the constant
} tcu_size;
static inline int64_t tcu_size_of(const tcu_size *size, const int64_t *slots) {
  return size->slot < 0 ? size->value : slots[size->slot];
}

typedef struct {
  int64_t id;  // of all maps of the process, from 1
  int32_t slot, rank;
  int32_t dtype, interleave, swizzle, promotion, fill;
  tcu_size offset, shape[TCU_MAX_RANK], strides[TCU_MAX_RANK];
  uint32_t box[TCU_MAX_RANK], steps[TCU_MAX_RANK];
} tcu_map;

// What a map was made from.
typedef struct {
  int64_t id;
  uint64_t address, shape[TCU_MAX_RANK], strides[TCU_MAX_RANK];
} tcu_map_key;
typedef struct {
  tcu_map_key key;
  uint64_t used;  // when it was last; 0: never, it is empty
  char map[TCU_MAP_BYTES];
} tcu_kept_map;
static __thread tcu_kept_map tcu_kept_maps[TCU_KEPT_SETS][TCU_KEPT_WAYS];
static __thread uint64_t tcu_uses;  // of all kept maps so far
static __thread tcu_map_key tcu_failed_map;  // of the launch that failed with TCU_BAD_MAP
static __thread int tcu_failed_code;

// cuTensorMapEncodeTiled
typedef int (*tcu_encode_function)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,
                                   const uint32_t *, int, int, int, int);

// nothing: address of a few zeros on the device. The driver takes no axis of 0 elements and no null pointer: the map of a
// tensor without elements, or without memory (None was passed, as the launch does not access it), is of one zero, which
// is what copies find outside of a tensor.
static inline tcu_map_key tcu_key_of(const tcu_map *map, const int64_t *slots, uint64_t nothing) {
  tcu_map_key key;
  memset(&key, 0, sizeof key);
  key.id = map->id;
  key.address = (uint64_t)slots[map->slot] + (uint64_t)tcu_size_of(&map->offset, slots);
  for (int32_t i = 0; i < map->rank; ++i) key.shape[i] = (uint64_t)tcu_size_of(&map->shape[i], slots);
  for (int32_t i = 0; i + 1 < map->rank; ++i) key.strides[i] = (uint64_t)tcu_size_of(&map->strides[i], slots);
  int is_empty = slots[map->slot] == 0;
  for (int32_t i = 0; i < map->rank; ++i) is_empty |= key.shape[i] == 0;
  if (is_empty) {
    key.address = nothing;
    for (int32_t i = 0; i < map->rank; ++i) key.shape[i] = 1;
    for (int32_t i = 0; i + 1 < map->rank; ++i) key.strides[i] = 32;
  }
  return key;
}

// The map for this call into out (64-byte aligned); 0, or what the driver said.
static inline int tcu_map_of(const tcu_map *map, tcu_encode_function encode, const int64_t *slots, uint64_t nothing,
                             char *out) {
  const tcu_map_key key = tcu_key_of(map, slots, nothing);
  const uint64_t mixed = (key.address >> 4 ^ (uint64_t)key.id * 7) * 0x9E3779B97F4A7C15u;
  tcu_kept_map *const set = tcu_kept_maps[mixed >> 60], *oldest = set;
  for (tcu_kept_map *kept = set; kept < set + TCU_KEPT_WAYS; ++kept) {
    if (kept->used < oldest->used) oldest = kept;
    if (memcmp(&kept->key, &key, sizeof key)) continue;
    kept->used = ++tcu_uses;
    memcpy(out, kept->map, TCU_MAP_BYTES);
    return 0;
  }
  const int code = encode(out, map->dtype, (uint32_t)map->rank, (void *)(uintptr_t)key.address, key.shape, key.strides,
                          map->box, map->steps, map->interleave, map->swizzle, map->promotion, map->fill);
  if (code) {
    tcu_failed_map = key;
    tcu_failed_code = code;
    return code;
  }
  oldest->key = key;
  oldest->used = ++tcu_uses;
  memcpy(oldest->map, out, TCU_MAP_BYTES);
  return 0;
}
_Static_assert(TCU_KEPT_SETS == 16, "the hash takes the top four bits");
