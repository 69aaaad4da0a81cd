// The launch of loaded kernels through a GPU driver's functions, whose addresses the backend gives.
#pragma once
#include <stdint.h>
#include <stddef.h>

#define TCD_MAX_DEVICES 64
#define TCD_STACK_PARAMETERS 144
// results of the launch's own; device_kernels.py defines the same
#define TCD_BAD_DEVICE 1001
#define TCD_BAD_GRID 1002
#define TCD_NO_MEMORY 1003
#define TCD_LOAD_FAILED 1004
#define TCD_ENTRY_STEP 10000  // a code is the result + this * the number of the entry

// A backend's own launch of one kernel. entry, device: what the backend gave for them. parameters: the addresses of the
// slots; behind them is room for as many further ones as the backend asked for.
typedef int (*tcd_start)(const void *entry, const void *device, void *function, const int64_t *slots,
                         const int64_t *grid, void *stream, void **parameters);
typedef int (*tcd_driver_launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                                 void **, void **);

typedef struct {
  unsigned threads[3];
  int64_t most[4];  // blocks along x, y, z; bytes of shared memory
  tcd_start start;  // NULL: the driver's launch
  const void *start_entry;
} tcd_entry;
typedef struct {
  uint64_t handle;  // what is current in a thread that launches on the device
  const void *start_device;
  void *functions[];
} tcd_device;
typedef int (*tcd_of_handle)(uint64_t *);
typedef int (*tcd_set_pointer)(void *);
typedef int (*tcd_set_number)(int);
typedef struct {
  tcd_driver_launch launch;
  tcd_of_handle get_current;
  tcd_set_pointer set_pointer;  // one of the two
  tcd_set_number set_number;
  tcd_of_handle restore;  // NULL: by set_pointer or set_number
  int32_t n_slots, n_further, n_entries;
  tcd_entry *entries;
  tcd_device *devices[TCD_MAX_DEVICES];
  void *owner;
} tcd_state;

static inline int tcd_set_current(const tcd_state *state, uint64_t handle) {
  return state->set_number ? state->set_number((int)handle) : state->set_pointer((void *)(uintptr_t)handle);
}

static inline int tcd_launch_entry(const tcd_state *state, const tcd_entry *entry, const tcd_device *device,
                                   void *function, const int64_t *slots, const int64_t *grid, void *stream,
                                   void **parameters) {
  for (int i = 0; i < 4; ++i)
    if (grid[i] < 0 || grid[i] > entry->most[i]) return TCD_BAD_GRID;
  if (entry->start)
    return entry->start(entry->start_entry, device->start_device, function, slots, grid, stream, parameters);
  return state->launch(function, (unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2], entry->threads[0],
                       entry->threads[1], entry->threads[2], (unsigned)grid[3], stream, parameters, NULL);
}

// All entries on one device, in order; 0, or the code of the first that failed. parameters: room for the slots and the
// further ones.
static inline int tcd_launch_all(const tcd_state *state, const tcd_device *device, const int64_t *slots,
                                 const int64_t *grids, void *stream, void **parameters) {
  for (int32_t i = 0; i < state->n_slots; ++i) parameters[i] = (void *)&slots[i];
  uint64_t before = 0;  // a number of 32 bits fills the lower half
  int result = state->get_current(&before);
  if (result) return result;
  const int is_other = before != device->handle;
  if (is_other && (result = tcd_set_current(state, device->handle))) return result;
  for (int32_t i = 0; i < state->n_entries && !result; ++i) {
    const int64_t *grid = grids + 4 * i;
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) continue;
    result = tcd_launch_entry(state, &state->entries[i], device, device->functions[i], slots, grid, stream, parameters);
    if (result) result += TCD_ENTRY_STEP * i;
  }
  if (is_other) {
    if (state->restore)
      state->restore(&before);
    else
      tcd_set_current(state, before);
  }
  return result;
}
