// A driver library without a GPU: it keeps a journal of what is asked of it, and fails when told to.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define API __attribute__((visibility("default")))
static char journal[1 << 16];
static size_t written;
static int devices = 1, failing_code, launches;
static char failing_call[64];
static __thread void *stack[16];
static __thread int depth;
static int retained[16];
int64_t fake_slots[64];
int fake_slot_count = 3;
char fake_maps[4][128];  // the tensor maps of the last launch
int fake_map_count, fake_encodings, fake_cluster_width;

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
// Whole lines: threads write between one another's.
static void note_six(const char *format, long a, long b, long c, long d, long e, long f) {
  pthread_mutex_lock(&one_at_a_time);
  if (written < sizeof journal - 256) written += (size_t)snprintf(journal + written, 256, format, a, b, c, d, e, f);
  pthread_mutex_unlock(&one_at_a_time);
}
static void note(const char *format, long a, long b, long c, long d) { note_six(format, a, b, c, d, 0, 0); }
#define FAIL(name) if (!strcmp(failing_call, name)) return failing_code

API void fake_reset(int count) {
  devices = count; written = 0; journal[0] = 0; failing_call[0] = 0; launches = 0; depth = 0; fake_slot_count = 3;
  fake_map_count = fake_encodings = fake_cluster_width = 0;
}
API void fake_fail(const char *name, int code) { strncpy(failing_call, name, sizeof failing_call - 1); failing_code = code; }
API const char *fake_journal(void) { return journal; }
API int fake_launches(void) { return launches; }
API void fake_slots_of(int count) { fake_slot_count = count; }
API void fake_maps_of(int count) { fake_map_count = count; }
API const char *fake_map(int number) { return fake_maps[number]; }
API int fake_encoded(void) { return fake_encodings; }
API void fake_cluster(int width) { fake_cluster_width = width; }
API int64_t *fake_seen(void) { return fake_slots; }
API int fake_retained(int device) { return retained[device]; }

API int cuInit(unsigned flags) { FAIL("cuInit"); return 0; }
API int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
API int cuDeviceGetCount(int *n) { *n = devices; return 0; }
API int cuDeviceGet(int *d, int index) { if (index < 0 || index >= devices) return 101; *d = index; return 0; }
API int cuDeviceGetName(char *name, int size, int d) { snprintf(name, (size_t)size, "Fake GPU %d", d); return 0; }
API int cuDeviceGetAttribute(int *v, int number, int d) {
  *v = number == 75 ? 9 : number == 76 ? 0 : number == 1 ? 1024 : number == 97 ? 232448 : number == 8 ? 49152
       : number == 16 ? 132 : number == 108 ? 1 << 20 : number == 109 ? 1 << 16 : 65535;
  return 0;
}
API int cuDevicePrimaryCtxRetain(void **c, int d) { *c = (void *)(uintptr_t)(0xC000 + d); retained[d]++; return 0; }
API int cuCtxGetCurrent(void **c) { *c = depth ? stack[depth - 1] : 0; return 0; }
API int cuCtxGetDevice(int *d) { *d = (int)((uintptr_t)stack[depth - 1] - 0xC000); return 0; }
API int cuCtxPushCurrent_v2(void *c) { if (depth == 16) return 999; stack[depth++] = c; return 0; }
API int cuCtxPopCurrent_v2(void **c) { if (!depth) return 201; *c = stack[--depth]; return 0; }
API int fake_depth(void) { return depth; }  // contexts of this thread
API int cuCtxSetLimit(int number, size_t value) { note("limit %ld %ld\n", number, (long)value, 0, 0); return 0; }
API int cuCtxGetLimit(size_t *value, int number) { *value = 4096; return 0; }
API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int threads, size_t shared) { *n = 2; return 0; }
API int cuCtxSynchronize(void) { FAIL("cuCtxSynchronize"); note("synchronize\n", 0, 0, 0, 0); return 0; }
/* streams from 0xca0000 on are captured, each by the capture of its number */
API int cuStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void *graph, void *edges, void *count) {
    if (graph || edges || count) return 1;
    *status = (size_t)stream >= 0xca0000;
    *id = *status ? (size_t)stream - 0xca0000 : 0;
    return stream == (void *)2 ? 906 : 0;
}
API int cuThreadExchangeStreamCaptureMode(int *mode) { note("capture mode %ld\n", *mode, 0, 0, 0); *mode = 0; return 0; }
API int cuModuleLoadData(void **m, const void *image) {
  FAIL("cuModuleLoadData");
  note("load on %lx: %ld\n", (long)(uintptr_t)stack[depth - 1], *(const char *)image, 0, 0);
  *m = (void *)((uintptr_t)stack[depth - 1] + 0x10000);
  return 0;
}
API int cuModuleGetFunction(void **f, void *m, const char *name) {
  FAIL("cuModuleGetFunction");
  note("function %ld of %lx\n", name[strlen(name) - 1], (long)(uintptr_t)m, 0, 0);
  *f = (void *)((uintptr_t)m * 256 + (unsigned char)name[strlen(name) - 1]);
  return 0;
}
API int cuFuncGetAttribute(int *v, int number, void *f) { *v = number == 0 ? 512 : number == 4 ? 168 : number == 11 ? fake_cluster_width : 0; return 0; }
API int cuFuncSetAttribute(void *f, int number, int value) { note("attribute %ld = %ld\n", number, value, 0, 0); return 0; }
API int cuGetErrorName(int code, const char **name) {
  *name = code == 1 ? "CUDA_ERROR_INVALID_VALUE" : code == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU" : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : 0;
  return *name ? 0 : 1;
}
API int cuGetErrorString(int code, const char **text) { *text = code == 1 ? "invalid argument" : 0; return *text ? 0 : 1; }
API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned shared, void *stream, void **parameters, void **extra) {
#ifdef NO_JOURNAL
  return 0;
#endif
  FAIL("cuLaunchKernel");
  __sync_fetch_and_add(&launches, 1);
  if (fake_slot_count) note("tensor %lx on %lx stream %lx\n", *(long *)parameters[0], (long)(uintptr_t)stack[depth - 1], (long)(uintptr_t)stream, 0);
  if (fake_map_count) note("map of %lx on %lx\n", *(long *)parameters[fake_slot_count], (long)(uintptr_t)stack[depth - 1], 0, 0);
  note("launch %lx on %lx stream %lx shared %ld\n", (long)(uintptr_t)f, (long)(uintptr_t)stack[depth - 1],
       (long)(uintptr_t)stream, shared);
  note_six("grid %ld %ld %ld block %ld %ld %ld\n", gx, gy, gz, bx, by, bz);
  for (int i = 0; i < fake_slot_count; ++i) memcpy(&fake_slots[i], parameters[i], 8);
  for (int i = 0; i < fake_map_count; ++i) {
    if ((uintptr_t)parameters[fake_slot_count + i] % 64) return 1;
    memcpy(fake_maps[i], parameters[fake_slot_count + i], 128);
  }
  return 0;
}
typedef struct { int id; char pad[4]; struct { void *base; size_t bytes; float ratio; int hit, miss; char rest[32]; } window; } attribute;
typedef struct { unsigned grid[3], block[3], shared; void *stream; attribute *attributes; unsigned count; } config;
API int cuLaunchKernelEx(const config *c, void *f, void **parameters, void **extra) {
  for (unsigned i = 0; i < c->count; ++i)
    if (c->attributes[i].id == 1)
      note("window %lx %ld %ld %ld\n", (long)(uintptr_t)c->attributes[i].window.base, (long)c->attributes[i].window.bytes,
           (long)(100 * c->attributes[i].window.ratio), c->attributes[i].window.hit);
    else if (c->attributes[i].id == 4)
      note("cluster %ld %ld %ld\n", ((unsigned *)&c->attributes[i].window)[0], ((unsigned *)&c->attributes[i].window)[1],
           ((unsigned *)&c->attributes[i].window)[2], 0);
    else note("attribute %ld of the launch\n", c->attributes[i].id, 0, 0, 0);
  return cuLaunchKernel(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared, c->stream,
                        parameters, extra);
}
// The map that it makes holds what it was made from, as 64-bit words.
API int cuTensorMapEncodeTiled(void *map, int dtype, unsigned rank, void *address, const uint64_t *shape,
                               const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                               int swizzle, int promotion, int fill) {
  FAIL("cuTensorMapEncodeTiled");
  if ((uintptr_t)map % 64 || (uintptr_t)address % 16 || !address) return 1;
  for (unsigned i = 0; i < rank; ++i)
    if (!shape[i]) return 1;
  __sync_fetch_and_add(&fake_encodings, 1);
  uint64_t *out = map;
  memset(map, 0, 128);
  out[0] = (uint64_t)(uintptr_t)address;
  out[1] = (uint64_t)dtype | (uint64_t)rank << 8 | (uint64_t)interleave << 16 | (uint64_t)swizzle << 24 |
           (uint64_t)promotion << 32 | (uint64_t)fill << 40;
  for (unsigned i = 0; i < rank && i < 3; ++i) out[2 + i] = shape[i];
  for (unsigned i = 0; i + 1 < rank && i < 2; ++i) out[5 + i] = strides[i];
  for (unsigned i = 0; i < rank && i < 3; ++i) out[7 + i] = (uint64_t)box[i] << 32 | steps[i];
  return 0;
}
static uint64_t fake_memory[64] __attribute__((aligned(256)));
API int cuMemAlloc_v2(uint64_t *address, size_t size) {
  note("allocated %ld bytes\n", (long)size, 0, 0, 0);
  memset(fake_memory, 0xFF, sizeof fake_memory);
  *address = (uint64_t)(uintptr_t)fake_memory;
  return size > sizeof fake_memory;
}
API int cuMemAllocAsync(uint64_t *address, size_t size, void *stream) {
  note("allocated %ld bytes on %lx\n", (long)size, (long)(uintptr_t)stream, 0, 0);
  *address = (uint64_t)(uintptr_t)fake_memory;
  return 0;
}
API int cuMemFree_v2(uint64_t address) { note("freed\n", 0, 0, 0, 0); return 0; }
API int cuMemFreeAsync(uint64_t address, void *stream) { note("freed on %lx\n", (long)(uintptr_t)stream, 0, 0, 0); return 0; }
API int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t size) {
  memset((void *)(uintptr_t)address, value, size);
  return 0;
}
API int cuEventCreate(void **e, unsigned flags) { static long next; *e = (void *)(uintptr_t)(0xE000 + ++next); return 0; }
API int cuEventRecord(void *e, void *stream) { note("record on %lx\n", (long)(uintptr_t)stream, 0, 0, 0); return 0; }
// Addresses from 0x7D00000000 on are those of device 1
API int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
  FAIL("cuPointerGetAttribute");
  *(int *)value = address >= 0x7D00000000;
  return attribute == 9 ? 0 : 1;
}
API int cuStreamWaitEvent(void *stream, void *e, unsigned flags) {
  note("wait on %lx\n", (long)(uintptr_t)stream, 0, 0, 0);
  return 0;
}
API int cuEventSynchronize(void *e) { return 0; }
API int cuEventElapsedTime(float *ms, void *a, void *b) { *ms = 1.5f; return 0; }
API int cuEventDestroy_v2(void *e) { note("destroyed\n", 0, 0, 0, 0); return 0; }
