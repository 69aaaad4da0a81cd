// The launch of the kernels in a shared library, by the driver alone. Included as text by host_code.py, behind
// launch_native.h and the tables of the kernels:
//   TILECORE_DRIVER: the name of the driver's library
//   TILECORE_KERNELS, TILECORE_SLOTS: the numbers of kernels and of slots
//   TILECORE_EMPTY_MAPS, TILECORE_WINDOW: whether a tensor with a tensor map may be empty; whether an L2 window is set
//   tilecore_cubin, tilecore_kernels[], tilecore_entries[], tilecore_functions (filled here)
//   tilecore_stream(device): the stream of the call
#include <dlfcn.h>

#define TILECORE_DEVICES 64
#define TILECORE_PLAIN_SHARED (48 << 10)  // bytes of shared memory that a block may have without an opt-in
#define TILECORE_ZEROS 256                // bytes of the zeros that tensor maps of empty tensors describe
#define TILECORE_NO_DEVICE 100            // CUDA_ERROR_NO_DEVICE
#define TILECORE_BAD_DEVICE 101           // CUDA_ERROR_INVALID_DEVICE
#define TILECORE_OLD_DRIVER 500           // CUDA_ERROR_NOT_FOUND

static struct {
  int (*initialize)(unsigned), (*device)(int *, int), (*attribute)(int *, int, int), (*retain)(void **, int);
  int (*current)(void **), (*current_device)(int *), (*push)(void *), (*pop)(void **);
  int (*get_limit)(size_t *, int), (*set_limit)(int, size_t);
  int (*load)(void **, const void *), (*find)(void **, void *, const char *);
  int (*get)(int *, int, void *), (*set)(void *, int, int);
  int (*take)(uint64_t *, size_t), (*zero)(uint64_t, unsigned char, size_t);
  int (*take_on)(uint64_t *, size_t, void *), (*free_on)(uint64_t, void *);
} tilecore_cu;

static const struct {
  const char *name;
  void *place;
} tilecore_names[] = {
    {"cuInit", &tilecore_cu.initialize},
    {"cuDeviceGet", &tilecore_cu.device},
    {"cuDeviceGetAttribute", &tilecore_cu.attribute},
    {"cuDevicePrimaryCtxRetain", &tilecore_cu.retain},
    {"cuCtxGetCurrent", &tilecore_cu.current},
    {"cuCtxGetDevice", &tilecore_cu.current_device},
    {"cuCtxPushCurrent_v2", &tilecore_cu.push},
    {"cuCtxPopCurrent_v2", &tilecore_cu.pop},
    {"cuCtxGetLimit", &tilecore_cu.get_limit},
    {"cuCtxSetLimit", &tilecore_cu.set_limit},
    {"cuModuleLoadData", &tilecore_cu.load},
    {"cuModuleGetFunction", &tilecore_cu.find},
    {"cuFuncGetAttribute", &tilecore_cu.get},
    {"cuFuncSetAttribute", &tilecore_cu.set},
    {"cuMemAlloc_v2", &tilecore_cu.take},
    {"cuMemsetD8_v2", &tilecore_cu.zero},
    {"cuMemAllocAsync", &tilecore_cu.take_on},
    {"cuMemFreeAsync", &tilecore_cu.free_on},
    {"cuLaunchKernel", &tilecore_functions.launch},
    {"cuLaunchKernelEx", &tilecore_functions.launch_ex},
    {"cuTensorMapEncodeTiled", &tilecore_functions.encode},
};

typedef struct {
  void *context;
  tcu_device *limits;
  void *functions[TILECORE_KERNELS];
} tilecore_device;
static tilecore_device *tilecore_devices[TILECORE_DEVICES];

static int tilecore_open(void) {
  static int is_open;
  if (is_open) return 0;
  void *driver = dlopen(TILECORE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (driver == NULL) return TILECORE_NO_DEVICE;
  for (size_t i = 0; i < sizeof tilecore_names / sizeof *tilecore_names; ++i) {
    void *function = dlsym(driver, tilecore_names[i].name);
    if (function == NULL) return TILECORE_OLD_DRIVER;
    memcpy(tilecore_names[i].place, &function, sizeof function);
  }
  const int code = tilecore_cu.initialize(0);
  is_open = code == 0;
  return code;
}

static int tilecore_allow_shared(void *function, int bytes, int handle) {
  int fixed = 0, most = 0, code = tilecore_cu.get(&fixed, 1, function);  // CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
  if (code || (code = tilecore_cu.attribute(&most, 97, handle))) return code;  // shared memory per block, opt-in
  if (bytes >= 0 && bytes + fixed <= TILECORE_PLAIN_SHARED) return 0;
  return tilecore_cu.set(function, 8, bytes < 0 ? most - fixed : bytes);  // the most dynamic shared memory
}

static int tilecore_enlarge_window(const tcu_entry *entry, int handle) {
  int most = 0, code = tilecore_cu.attribute(&most, 108, handle);  // the most L2 for persisting accesses
  size_t now = 0, wanted = (size_t)most;
  if (entry->window_bytes.slot < 0 && (size_t)entry->window_bytes.value < wanted) wanted = (size_t)entry->window_bytes.value;
  if (code || (code = tilecore_cu.get_limit(&now, 6))) return code;  // CU_LIMIT_PERSISTING_L2_CACHE_SIZE
  return wanted > now ? tilecore_cu.set_limit(6, wanted) : 0;
}

// What the launch of one kernel needs on a device, and whether it has to say the size of the clusters.
static int tilecore_prepare(int number, void *function, int handle, int32_t *cluster_at_launch) {
  const tcu_entry *entry = &tilecore_entries[number];
  int width = 0, code = tilecore_allow_shared(function, tilecore_kernels[number].shared, handle);
  if (!code && tilecore_kernels[number].carveout >= 0) code = tilecore_cu.set(function, 9, tilecore_kernels[number].carveout);
  if (!code && entry->window_slot >= 0) code = tilecore_enlarge_window(entry, handle);
  const unsigned blocks = entry->cluster[0] * entry->cluster[1] * entry->cluster[2];
  if (code || blocks == 1) return code;
  if (blocks > 8 && (code = tilecore_cu.set(function, 14, 1))) return code;  // clusters that are not portable
  if ((code = tilecore_cu.get(&width, 11, function))) return code;           // the width that the code demands
  *cluster_at_launch = width == 0;
  return 0;
}

static int tilecore_fill(tilecore_device *out, int handle) {
  void *module = NULL;
  int code = tilecore_cu.load(&module, tilecore_cubin), window = 0;
  for (int number = 0; !code && number < TILECORE_KERNELS; ++number) {
    code = tilecore_cu.find(&out->functions[number], module, tilecore_kernels[number].symbol);
    if (!code) code = tilecore_prepare(number, out->functions[number], handle, &out->limits->cluster_at_launch[number]);
  }
  if (!code && TILECORE_WINDOW && !(code = tilecore_cu.attribute(&window, 109, handle)))
    out->limits->window_limit = (size_t)window;
  if (!code && TILECORE_EMPTY_MAPS && !(code = tilecore_cu.take(&out->limits->nothing, TILECORE_ZEROS)))
    code = tilecore_cu.zero(out->limits->nothing, 0, TILECORE_ZEROS);
  return code;
}

// Two threads may load at once: then one record is not used, which does no harm.
static int tilecore_load(int device) {
  if (device < 0 || device >= TILECORE_DEVICES) return TILECORE_BAD_DEVICE;
  if (tilecore_devices[device] != NULL) return 0;
  int handle = 0, code = tilecore_open();
  void *popped;
  if (code || (code = tilecore_cu.device(&handle, device))) return code;
  tilecore_device *out = calloc(1, sizeof *out);
  if (out == NULL) return 2;  // CUDA_ERROR_OUT_OF_MEMORY
  out->limits = calloc(1, sizeof(tcu_device) + TILECORE_KERNELS * sizeof(int32_t));
  if (out->limits == NULL) code = 2;
  if (!code) code = tilecore_cu.retain(&out->context, handle);
  if (!code && !(code = tilecore_cu.push(out->context))) {
    code = tilecore_fill(out, handle);
    tilecore_cu.pop(&popped);
  }
  if (code) {
    free(out->limits);
    free(out);
    return code;
  }
  __atomic_store_n(&tilecore_devices[device], out, __ATOMIC_RELEASE);
  return 0;
}

static int tilecore_current_device(int *device) {
  void *context = NULL;
  const int code = tilecore_open();
  if (code) return code;
  *device = 0;  // where no context is current
  if (tilecore_cu.current(&context) || context == NULL) return 0;
  return tilecore_cu.current_device(device);
}

static void *tilecore_allocate(int64_t bytes, int device) {
  uint64_t address = 0;
  void *popped;
  if (tilecore_load(device) || tilecore_cu.push(tilecore_devices[device]->context)) return NULL;
  if (tilecore_cu.take_on(&address, (size_t)(bytes > 0 ? bytes : 1), tilecore_stream(device))) address = 0;
  tilecore_cu.pop(&popped);
  return (void *)(uintptr_t)address;
}

// The memory is free for what follows on the stream, behind the kernels that use it.
static void tilecore_free(void *memory, int device) {
  void *popped;
  if (tilecore_cu.push(tilecore_devices[device]->context)) return;
  tilecore_cu.free_on((uint64_t)(uintptr_t)memory, tilecore_stream(device));
  tilecore_cu.pop(&popped);
}

static int tilecore_launch(const int64_t *slots, const int64_t *grids, int device) {
  void *parameters[TILECORE_SLOTS + TCU_MAX_MAPS + 1], *popped;
  int code = tilecore_load(device);
  if (code) return code;
  const tilecore_device *on = tilecore_devices[device];
  for (int number = 0; number < TILECORE_SLOTS; ++number) parameters[number] = (void *)&slots[number];
  if ((code = tilecore_cu.push(on->context))) return code;
  for (int number = 0; !code && number < TILECORE_KERNELS; ++number) {
    const int64_t *grid = grids + 4 * number;
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) continue;
    if (grid[0] > 2147483647 || grid[1] > 65535 || grid[2] > 65535) code = 1;  // CUDA_ERROR_INVALID_VALUE
    if (!code)
      code = tcu_start(&tilecore_entries[number], on->limits, on->functions[number], slots, grid, tilecore_stream(device),
                       parameters);
  }
  tilecore_cu.pop(&popped);
  return code;
}
