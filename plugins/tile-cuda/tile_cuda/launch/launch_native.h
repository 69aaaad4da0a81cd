// Launch attributes and tensor maps: what the driver API needs, declared here so that no CUDA header is needed to build.
#pragma once
#include <stdint.h>
#include <stddef.h>
#include <string.h>

#include "tensor_map_native.h"

#define TCU_MAX_MAPS 16  // of one kernel
#define TCU_ATTRIBUTES 4
// results above all of the driver's (which are below 1000) and beside those of tilecore's launch; failures.py has the same
#define TCU_BAD_CLUSTER 1101
#define TCU_BAD_MAP 1200  // + the number of the map

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

typedef int (*tcu_launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                          void **);
typedef int (*tcu_launch_ex)(const tcu_config *, void *, void **, void **);
typedef struct {
  tcu_launch launch;
  tcu_launch_ex launch_ex;
  tcu_encode_function encode;
} tcu_functions;
typedef struct {
  const tcu_functions *driver;
  unsigned threads[3];
  unsigned cluster[3];
  int32_t number, n_parameters;
  int32_t is_plain;
  int32_t window_slot;  // -1: none
  tcu_size window_bytes;
  float window_ratio;
  int32_t programmatic, cooperative;
  int32_t n_maps;
  const tcu_map *maps;
} tcu_entry;
typedef struct {
  size_t window_limit;  // most bytes of an L2 window
  uint64_t nothing;     // address of a few zeros, for tensors without elements; 0: not needed
  int32_t cluster_at_launch[];  // by entry: whether the launch says the cluster, as the kernel's code does not
} tcu_device;

// The attributes of a launch; their number.
static inline unsigned tcu_attributes(const tcu_entry *entry, const tcu_device *device, const int64_t *slots,
                                      tcu_attribute *out) {
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
  if (device->cluster_at_launch[entry->number]) {
    out[count].id = 4;  // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    memcpy(out[count++].value.three, entry->cluster, sizeof entry->cluster);
  }
  if (entry->programmatic) {
    out[count].id = 6;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    out[count++].value.number = 1;
  }
  return count;
}

// The launch of a kernel that has launch attributes or tensor maps: a tcd_start of tilecore's _device_launch.h.
// parameters: room for TCU_MAX_MAPS behind the slots.
static int tcu_start(const void *its_entry, const void *its_device, void *function, const int64_t *slots,
                     const int64_t *grid, void *stream, void **parameters) {
  const tcu_entry *entry = its_entry;
  const tcu_device *device = its_device;
  _Alignas(64) char maps[TCU_MAX_MAPS][TCU_MAP_BYTES];
  for (int32_t i = 0; i < entry->n_maps; ++i) {
    if (tcu_map_of(&entry->maps[i], entry->driver->encode, slots, device->nothing, maps[i])) return TCU_BAD_MAP + i;
    parameters[entry->n_parameters + i] = maps[i];
  }
  if (entry->is_plain)
    return entry->driver->launch(function, (unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2], entry->threads[0],
                                 entry->threads[1], entry->threads[2], (unsigned)grid[3], stream, parameters, NULL);
  for (int axis = 0; axis < 3; ++axis)
    if (grid[axis] % entry->cluster[axis]) return TCU_BAD_CLUSTER;
  tcu_attribute attributes[TCU_ATTRIBUTES];
  const unsigned count = tcu_attributes(entry, device, slots, attributes);
  tcu_config config = {{(unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2]},
                       {entry->threads[0], entry->threads[1], entry->threads[2]},
                       (unsigned)grid[3], stream, attributes, count};
  return entry->driver->launch_ex(&config, function, parameters, NULL);
}
