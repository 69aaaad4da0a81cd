// The launch of a loaded kernel: what the driver API needs, declared here so that no CUDA header is needed to build.
#pragma once
#include <stdint.h>
#include <stddef.h>
#include <string.h>

#define TCU_MAX_DEVICES 64
#define TCU_MAX_ENTRIES 64
#define TCU_STACK_SLOTS 128
// results of our own, above all of the driver's (which are below 1000)
#define TCU_BAD_DEVICE 1001
#define TCU_BAD_GRID 1002
#define TCU_NO_MEMORY 1003
#define TCU_LOAD_FAILED 1004
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
  int32_t window_slot;  // -1: none
  size_t window_bytes;
  float window_ratio;
  int32_t programmatic;
} tcu_entry;
typedef struct {
  void *context;
  void *functions[TCU_MAX_ENTRIES];
} tcu_device;
typedef struct {
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
  int (*launch_ex)(const tcu_config *, void *, void **, void **);
  int (*get_current)(void **);
  int (*push)(void *);
  int (*pop)(void **);
  int32_t n_slots, n_entries;
  tcu_entry entries[TCU_MAX_ENTRIES];
  tcu_device *devices[TCU_MAX_DEVICES];
  void *owner;  // the Python object that loads on further devices
} tcu_state;

static __thread int tcu_device_index;

static inline int tcu_one(const tcu_state *state, int number, void *function, const int64_t *slots, const int64_t *grid,
                          void *stream, void **parameters) {
  const tcu_entry *entry = &state->entries[number];
  if (grid[0] > 0x7fffffff || grid[1] > 65535 || grid[2] > 65535 || grid[3] < 0 || grid[3] > 0x7fffffff)
    return TCU_BAD_GRID;
  if (entry->window_slot < 0 && !entry->programmatic)
    return state->launch(function, (unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2], entry->threads[0],
                         entry->threads[1], entry->threads[2], (unsigned)grid[3], stream, parameters, NULL);
  tcu_attribute attributes[2];
  memset(attributes, 0, sizeof attributes);
  unsigned count = 0;
  if (entry->window_slot >= 0) {
    attributes[count].id = 1;  // CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
    tcu_window window = {(void *)(uintptr_t)slots[entry->window_slot], entry->window_bytes, entry->window_ratio, 2, 1};
    attributes[count++].value.window = window;  // hits persist, misses stream
  }
  if (entry->programmatic) {
    attributes[count].id = 6;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    attributes[count++].value.number = 1;
  }
  tcu_config config = {{(unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2]},
                       {entry->threads[0], entry->threads[1], entry->threads[2]},
                       (unsigned)grid[3], stream, attributes, count};
  return state->launch_ex(&config, function, parameters, NULL);
}

// All entries on one device, in order; 0, or the code of the first that failed.
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
    result = tcu_one(state, i, device->functions[i], slots, grid, stream, parameters);
    if (result) result += TCU_ENTRY_STEP * i;
  }
  if (other) state->pop(&current);
  return result;
}
