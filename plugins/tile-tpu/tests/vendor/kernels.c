// kernels that run on the vendor's CModel and on the runtime that the tests make
#include <stdio.h>
#include <stdlib.h>
#include "tpu_kernel.h"

typedef struct {
  unsigned long long x, out;
  int n;
  float scale;
} scale_args;

int scale_kernel(const void* arguments) {
  const scale_args* args = arguments;
  tpu_initialize();
  int items = tpu_workitem_num() > 1 ? tpu_workitem_num() : 1;
  const float* x = (const float*)tpu_global_mem_addr(args->x);
  float* out = (float*)tpu_global_mem_addr(args->out);
  for (int i = tpu_workitem_index(); i < args->n; i += items) out[i] = x[i] * args->scale;
  tpu_poll();
  return 0;
}
TPUKERNEL_FUNC_REGISTER(scale_kernel)

int print_kernel(const void* arguments) {
  (void)arguments;
  printf("a line of kernel %d\n", tpu_workitem_index());
  return 0;
}
TPUKERNEL_FUNC_REGISTER(print_kernel)

int returns_kernel(const void* arguments) { return ((const scale_args*)arguments)->n; }
TPUKERNEL_FUNC_REGISTER(returns_kernel)

int crash_kernel(const void* arguments) {
  printf("before the crash\n");
  *(volatile int*)0 = ((const scale_args*)arguments)->n;  // model.py:21
  return 0;
}
TPUKERNEL_FUNC_REGISTER(crash_kernel)

static int inner(int n) {
  return 100 / n;  // model.py:29
}
int divide_kernel(const void* arguments) {
  int volatile found = inner(((const scale_args*)arguments)->n);
  return found * 0;
}
TPUKERNEL_FUNC_REGISTER(divide_kernel)

int abort_kernel(const void* arguments) {
  (void)arguments;
  fprintf(stderr, "it gives up\n");
  abort();
}
TPUKERNEL_FUNC_REGISTER(abort_kernel)

int exit_kernel(const void* arguments) {
  (void)arguments;
  exit(233);
}
TPUKERNEL_FUNC_REGISTER(exit_kernel)

int hang_kernel(const void* arguments) {
  for (volatile long i = 0;; i++) (void)arguments;
}
TPUKERNEL_FUNC_REGISTER(hang_kernel)

int flood_kernel(const void* arguments) {
  for (;;) printf("%p and much more than anybody would want to read of it, over and over again\n", arguments);
}
TPUKERNEL_FUNC_REGISTER(flood_kernel)
