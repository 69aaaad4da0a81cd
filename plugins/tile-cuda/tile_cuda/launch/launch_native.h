// The launch of a loaded kernel: what the driver API needs, declared here so that no CUDA header is needed to build.
#pragma once
#include <stdint.h>
#include <stddef.h>
#include <string.h>

#include "tensor_map_native.h"

#define TCU_MAX_DEVICES 64
#define TCU_MAX_ENTRIES 64
#define TCU_MAX_MAPS 16  // of one kernel
#define TCU_STACK_SLOTS 128
#define TCU_ATTRIBUTES 4
// results of our own, above all of the driver's (which are below 1000); failures.py has the same
#define TCU_BAD_DEVICE 1001
#define TCU_BAD_GRID 1002
#define TCU_NO_MEMORY 1003
#define TCU_LOAD_FAILED 1004
#define TCU_BAD_CLUSTER 1005
#define TCU_BAD_MAP 1100      // + the number of the map
#define TCU_ENTRY_STEP 10000  // a code is the result + this * the number of the entry

typedef struct {  // CUaccessPolicyWindow
  void *base;
  size_t bytes;
  float hit_ratio;
  int hit, miss;
} tcu_window;
typedef struct {  // CUlaunchAttribute
  int id;
  char pad[4];
  union {
    char bytes[64];
    tcu_window window;
    unsigned three[3];
    int number;
  } value;
} tcu_attribute;
typedef struct {  // CUlaunchConfig
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  tcu_attribute *attributes;
  unsigned count;
} tcu_config;
_Static_assert(sizeof(tcu_attribute) == 72 && sizeof(tcu_config) == 56, "the driver's layout");

typedef struct {
  unsigned threads[3];
  unsigned cluster[3];
  int32_t is_plain;
  int32_t window_slot;  // -1: none
  tcu_size window_bytes;
  float window_ratio;
  int32_t programmatic, cooperative;
  int32_t n_maps;
  const tcu_map *maps;
} tcu_entry;
typedef struct {
  void *context;
  void *functions[TCU_MAX_ENTRIES];
  int32_t cluster_at_launch[TCU_MAX_ENTRIES];  // whether the launch says the cluster, as the kernel's code does not
  size_t window_limit;                         // most bytes of an L2 window
  uint64_t nothing;                            // address of a few zeros, for tensors without elements; 0: not needed
} tcu_device;
typedef struct {
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
  int (*launch_ex)(const tcu_config *, void *, void **, void **);
  int (*get_current)(void **);
  int (*push)(void *);
  int (*pop)(void **);
  tcu_encode_function encode;
  int32_t n_slots, n_entries;
  tcu_entry entries[TCU_MAX_ENTRIES];
  tcu_device *devices[TCU_MAX_DEVICES];
  void *owner;
} tcu_state;

// The attributes of a launch; their number.
static inline unsigned tcu_attributes(const tcu_entry *entry, const tcu_device *device, int32_t number,
                                      const int64_t *slots, tcu_attribute *out) {
  unsigned count = 0;
  memset(out, 0, TCU_ATTRIBUTES * sizeof *out);
  if (entry->window_slot >= 0) {
    size_t bytes = (size_t)tcu_size_of(&entry->window_bytes, slots);
    if (bytes > device->window_limit) bytes = device->window_limit;
    if (bytes) {
      out[count].id = 1;  // CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: hits persist, misses stream
      tcu_window window = {(void *)(uintptr_t)slots[entry->window_slot], bytes, entry->window_ratio, 2, 1};
      out[count++].value.window = window;
    }
  }
  if (entry->cooperative) {
    out[count].id = 2;  // CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    out[count++].value.number = 1;
  }
  if (device->cluster_at_launch[number]) {
    out[count].id = 4;  // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    memcpy(out[count++].value.three, entry->cluster, sizeof entry->cluster);
  }
  if (entry->programmatic) {
    out[count].id = 6;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    out[count++].value.number = 1;
  }
  return count;
}

static inline int tcu_one(const tcu_state *state, const tcu_device *device, int32_t number, const int64_t *slots,
                          const int64_t *grid, void *stream, void **parameters) {
  const tcu_entry *entry = &state->entries[number];
  void *function = device->functions[number];
  _Alignas(64) char maps[TCU_MAX_MAPS][TCU_MAP_BYTES];
  if (grid[0] > 0x7fffffff || grid[1] > 65535 || grid[2] > 65535 || grid[3] < 0 || grid[3] > 0x7fffffff)
    return TCU_BAD_GRID;
  for (int32_t i = 0; i < entry->n_maps; ++i) {
    if (tcu_map_of(&entry->maps[i], state->encode, slots, device->nothing, maps[i])) return TCU_BAD_MAP + i;
    parameters[state->n_slots + i] = maps[i];
  }
  if (entry->is_plain)
    return state->launch(function, (unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2], entry->threads[0],
                         entry->threads[1], entry->threads[2], (unsigned)grid[3], stream, parameters, NULL);
  for (int axis = 0; axis < 3; ++axis)
    if (grid[axis] % entry->cluster[axis]) return TCU_BAD_CLUSTER;
  tcu_attribute attributes[TCU_ATTRIBUTES];
  const unsigned count = tcu_attributes(entry, device, number, slots, attributes);
  tcu_config config = {{(unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2]},
                       {entry->threads[0], entry->threads[1], entry->threads[2]},
                       (unsigned)grid[3], stream, attributes, count};
  return state->launch_ex(&config, function, parameters, NULL);
}

// All entries on one device, in order; 0, or the code of the first that failed. parameters: room for the slots and
// TCU_MAX_MAPS more.
static inline int tcu_all(const tcu_state *state, const tcu_device *device, const int64_t *slots, const int64_t *grids,
                          void *stream, void **parameters) {
  for (int32_t i = 0; i < state->n_slots; ++i) parameters[i] = (void *)&slots[i];
  void *current = NULL;
  int result = state->get_current(&current);
  if (result) return result;
  const int other = current != device->context;
  if (other && (result = state->push(device->context))) return result;
  for (int32_t i = 0; i < state->n_entries && !result; ++i) {
    const int64_t *grid = grids + 4 * i;
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) continue;
    result = tcu_one(state, device, i, slots, grid, stream, parameters);
    if (result) result += TCU_ENTRY_STEP * i;
  }
  if (other) state->pop(&current);
  return result;
}
