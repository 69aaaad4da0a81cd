/* A runtime with tpuRt's functions that runs kernels on the host's own memory: what the worker and the card's adapter are
 * tested on where the vendor's is not there. Its device is one core; a launch calls the kernel once a work item. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int item, items;
int tpu_workitem_index() { return item; }
int tpu_workitem_num() { return items; }
void tpu_initialize() {}
void tpu_poll() {}
void* tpu_global_mem_addr(unsigned long long address) { return (void*)address; }
void tpu_register_kernel_func(const char* name, void* function, int type) { (void)name, (void)function, (void)type; }

int tpuRtInit(void) {
  if (getenv("FAKE_NO_START")) return 10;
  const char* once = getenv("FAKE_HANG_ONCE");  /* the first process makes this file and hangs */
  if (once) {
    int file = open(once, O_CREAT | O_EXCL | O_WRONLY, 0600), is_folder = open(once, O_DIRECTORY) >= 0;
    if (file >= 0 || is_folder) pause();
  }
  printf("device id:0 / 1\n");
  fprintf(stderr, "[ap] memory init ok\n");
  return 0;
}
int tpuRtGetDeviceCount(int* count) { return *count = 2, 0; }
int tpuRtSetDevice(int device) { return device; }
int tpuRtStreamCreate(void** stream) { return *stream = malloc(1), 0; }
int tpuRtStreamSynchronize(void* stream) { return stream == NULL; }
int tpuRtMalloc(void** place, unsigned long long size, int parallel) {
  return (*place = size > 1ull << 33 ? NULL : malloc(size)) ? parallel : 5;
}
int tpuRtFree(void** place, int count) { return free(*place), count; }
int tpuRtMemcpyS2D(void* device, const void* host, unsigned long long size) { return memcpy(device, host, size), 0; }
int tpuRtMemcpyD2S(void* host, const void* device, unsigned long long size) { return memcpy(host, device, size), 0; }
void* tpuRtKernelLoadModuleFile(const char* path, void* stream) { return stream ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : 0; }
int tpuRtKernelLaunch(void* module, const char* name, char* arguments, unsigned size, unsigned long long groups,
                      unsigned long long blocks, void* stream) {
  int (*kernel)(const void*) = dlsym(module, name);
  if (!kernel || !groups || !stream) return 2;
  items = blocks;
  for (item = 0; item < items; ++item) {
    int code = kernel(arguments + item * (size / blocks));
    if (code) fprintf(stderr, "[ap] stream2 node:0x%x has error:%d\n", item, code);
  }
  return 0;
}
