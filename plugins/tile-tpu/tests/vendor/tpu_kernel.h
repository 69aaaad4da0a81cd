/* The little of the vendor's header that the kernels of these tests want. */
void tpu_register_kernel_func(const char* name, void* function, int type);
#define TPUKERNEL_FUNC_REGISTER(f) \
  __attribute__((constructor)) void tpu_kernel_register_##f() { tpu_register_kernel_func(#f, f, 1); }
int tpu_workitem_index();
int tpu_workitem_num();
void tpu_initialize();
void tpu_poll();
void* tpu_global_mem_addr(unsigned long long address);
