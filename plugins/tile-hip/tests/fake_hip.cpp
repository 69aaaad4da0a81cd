// A HIP runtime without a GPU: it keeps a journal of what is asked of it, and fails when told to. Its "kernels" print and
// assert by the real header, compiled for the host; so the test reads records that this header wrote.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct index3 {
  int x, y, z;
};
static thread_local index3 block_index, thread_index;
#define blockIdx block_index
#define threadIdx thread_index
#define __device__
#define TC_FN static inline
#define __MEMORY_SCOPE_DEVICE 0
#define __MEMORY_SCOPE_SYSTEM 0
#define __scoped_atomic_store_n(P, V, ORDER, SCOPE) __atomic_store_n(P, V, ORDER)
#define __scoped_atomic_fetch_add(P, V, ORDER, SCOPE) __atomic_fetch_add(P, V, ORDER)
struct wave_ended {};
#define __builtin_amdgcn_endpgm() throw wave_ended()
#include "tilecore_hip/messages.h"

#define API extern "C" __attribute__((visibility("default")))
static char journal[1 << 16];
static size_t written;
static int devices = 1, failing_code, launches, behaviour, version = 60342134;
static char failing_call[64], archs[256] = "gfx942:sramecc+:xnack-";
static thread_local int current;
static int64_t slots[64];
static int slot_count = 3, function_threads = 1024, static_shared = 64;

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
template <class... T>
static void note(const char *format, T... values) {
  pthread_mutex_lock(&one_at_a_time);
  if (written < sizeof journal - 256) written += (size_t)snprintf(journal + written, 256, format, values...);
  pthread_mutex_unlock(&one_at_a_time);
}
#define FAIL(NAME) \
  if (!strcmp(failing_call, NAME)) return failing_code

__attribute__((constructor)) static void from_environment() {
  if (getenv("FAKE_HIP_DEVICES")) devices = atoi(getenv("FAKE_HIP_DEVICES"));
  if (getenv("FAKE_HIP_ARCH")) snprintf(archs, sizeof archs, "%s", getenv("FAKE_HIP_ARCH"));
}

API void fake_reset(int count) {
  devices = count, written = 0, journal[0] = 0, failing_call[0] = 0, launches = 0, current = 0, behaviour = 0;
  slot_count = 3, version = 60342134, function_threads = 1024;
  snprintf(archs, sizeof archs, "gfx942:sramecc+:xnack-");
  memset(&tc_messages, 0, sizeof tc_messages);
}
API void fake_fail(const char *name, int code) {
  snprintf(failing_call, sizeof failing_call, "%s", name);
  failing_code = code;
}
API const char *fake_journal() { return journal; }
API int fake_launches() { return launches; }
API void fake_slots_of(int count) { slot_count = count; }
API int64_t *fake_seen() { return slots; }
API void fake_arch(const char *arch) { snprintf(archs, sizeof archs, "%s", arch); }
API void fake_version(int number) { version = number; }
API void fake_threads(int most) { function_threads = most; }
API void fake_behaviour(int number) { behaviour = number; }
API int fake_current() { return current; }

// "gfx942,gfx1100": of each device; the last one for all that follow
static void arch_of(int device, char *out) {
  const char *at = archs;
  for (int i = 0; i < device && strchr(at, ','); ++i) at = strchr(at, ',') + 1;
  const size_t length = strcspn(at, ",");
  memcpy(out, at, length);
  out[length] = 0;
}

API int hipInit(unsigned) {
  FAIL("hipInit");
  return devices ? 0 : 100;
}
API int hipGetLastError() {
  note("forgotten\n");
  return 0;
}
API int hipRuntimeGetVersion(int *v) {
  *v = version;
  return 0;
}
API int hipGetDeviceCount(int *n) {
  FAIL("hipGetDeviceCount");
  *n = devices;
  return devices ? 0 : 100;
}
API int hipDeviceGetName(char *name, int size, int d) {
  if (d < 0 || d >= devices) return 101;
  snprintf(name, (size_t)size, "Fake GPU %d", d);
  return 0;
}
API int hipGetDevicePropertiesR0600(char *properties, int d) {
  FAIL("hipGetDevicePropertiesR0600");
  if (d < 0 || d >= devices) return 101;
  memset(properties, 0, 1472);
  strcpy(properties, "Fake GPU, not gfx000");
  memset(properties + 256, 0x67, 64);  // other fields
  arch_of(d, properties + 1160);       // gcnArchName in ROCm 6's hip_runtime_api.h
  return 0;
}
API int hipDeviceGetAttribute(int *v, int number, int d) {
  if (d < 0 || d >= devices) return 101;
  *v = number == 56 ? 1024 : number == 74 ? 65536 : number == 63 ? 304 : number == 29 ? 2147483647 : 65536;
  return 0;
}
API int hipGetDevice(int *d) {
  *d = current;
  return 0;
}
API int hipSetDevice(int d) {
  if (d < 0 || d >= devices) return 101;
  note("set device %d\n", d);
  current = d;
  return 0;
}
API int hipDeviceSynchronize() {
  FAIL("hipDeviceSynchronize");
  note("synchronize %d\n", current);
  return 0;
}
// streams from 0xca0000 on are captured, each by the capture of its number
API int hipStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id) {
  *status = (size_t)stream >= 0xca0000;
  *id = *status ? (size_t)stream - 0xca0000 : 0;
  return stream == (void *)2 ? 906 : 0;
}
API int hipThreadExchangeStreamCaptureMode(int *mode) {
  note("capture mode %d\n", *mode);
  *mode = 0;
  return 0;
}
API int hipModuleLoadData(void **m, const void *image) {
  FAIL("hipModuleLoadData");
  note("load on %d: %d\n", current, *(const char *)image);
  *m = (void *)(uintptr_t)(0x10000 + current);
  return 0;
}
// AMD's runtime ends the process where another device than the module's is current
static bool is_elsewhere(uintptr_t module) { return module - 0x10000 != (uintptr_t)current; }
API int hipModuleGetFunction(void **f, void *m, const char *name) {
  FAIL("hipModuleGetFunction");
  if (is_elsewhere((uintptr_t)m)) abort();
  note("function %s of %lx\n", name, (long)(uintptr_t)m);
  *f = (void *)((uintptr_t)m * 256 + (unsigned char)name[strlen(name) - 1]);
  return 0;
}
API int hipModuleGetGlobal(void **address, size_t *size, void *m, const char *name) {
  FAIL("hipModuleGetGlobal");
  if (m && is_elsewhere((uintptr_t)m)) abort();
  if (strcmp(name, "tc_messages")) return 500;
  *address = &tc_messages;
  *size = sizeof tc_messages;
  return 0;
}
API int hipStreamSynchronize(void *stream) {
  FAIL("hipStreamSynchronize");
  note("synchronize stream %lx\n", (long)(uintptr_t)stream);
  return 0;
}
API int hipMemcpyAsync(void *to, void *from, size_t size, int kind, void *) {
  FAIL("hipMemcpyAsync");
  if (kind != 2) return 1;
  memcpy(to, from, size);
  return 0;
}
API int hipMemsetAsync(void *to, int value, size_t size, void *) {
  memset(to, value, size);
  return 0;
}
API int hipFuncGetAttribute(int *v, int number, void *f) {
  if (is_elsewhere((uintptr_t)f / 256)) abort();
  *v = number == 0 ? function_threads : number == 1 ? static_shared : number == 4 ? 168 : 0;
  return 0;
}
API const char *hipGetErrorName(int code) {
  switch (code) {
    case 1: return "hipErrorInvalidValue";
    case 2: return "hipErrorOutOfMemory";
    case 9: return "hipErrorInvalidConfiguration";
    case 100: return "hipErrorNoDevice";
    case 101: return "hipErrorInvalidDevice";
    case 209: return "hipErrorNoBinaryForGpu";
    case 701: return "hipErrorLaunchOutOfResources";
    case 719: return "hipErrorLaunchFailure";
    default: return nullptr;
  }
}
API const char *hipGetErrorString(int code) { return code == 1 ? "invalid argument" : nullptr; }

// `scale_k` is what an assertion calls its kernel by __func__
static void scale_k() {
  switch (behaviour) {
    case 1:
      tc_print("block %lld: %llu, %g, 100%%\n", (long long)block_index.x - 1, ~0ull, 0.1);
      tc_print("none\n");
      break;
    case 2: tc_assert(block_index.x < 2, 2, "not read on a device"); break;
    case 3:
      for (int i = 0; i < 40000; ++i) tc_print("a line of some length: %lld\n", (long long)i);
      break;
  }
}
static void run_blocks(unsigned blocks) {
  for (unsigned x = 0; x < blocks; ++x) {
    block_index = {(int)x, 0, 0};
    thread_index = {5, 0, 0};
    try {
      scale_k();
    } catch (wave_ended) {
    }
  }
}
API int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                              unsigned shared, void *stream, void **parameters, void **) {
#ifdef NO_JOURNAL
  return 0;
#endif
  FAIL("hipModuleLaunchKernel");
  if (is_elsewhere((uintptr_t)f / 256)) abort();
  __sync_fetch_and_add(&launches, 1);
  note("launch %lx on %d stream %lx shared %u\n", (long)(uintptr_t)f, current, (long)(uintptr_t)stream, shared);
  note("grid %u %u %u block %u %u %u\n", gx, gy, gz, bx, by, bz);
  for (int i = 0; i < slot_count; ++i) memcpy(&slots[i], parameters[i], 8);
  if ((size_t)stream < 0xca0000) run_blocks(gx);  // a captured launch runs when its graph does
  return 0;
}
API void fake_replay(unsigned blocks) { run_blocks(blocks); }
API int hipEventCreate(void **e) {
  static long next;
  *e = (void *)(uintptr_t)(0xE000 + ++next);
  return 0;
}
API int hipEventRecord(void *, void *stream) {
  note("record on %lx\n", (long)(uintptr_t)stream);
  return 0;
}
API int hipEventSynchronize(void *) { return 0; }
API int hipEventElapsedTime(float *ms, void *, void *) {
  *ms = 1.5f;
  return 0;
}
API int hipEventDestroy(void *) {
  note("destroyed\n");
  return 0;
}
