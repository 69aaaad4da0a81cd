#include "tilecore_tpu.h"

typedef struct {
  unsigned long long A, B, C;
} vector_add_args;

int vector_add_kernel(const void* arguments) {
  const vector_add_args* args = arguments;
  tpu_initialize();
  const system_addr_t A_addr = args->A;
  const system_addr_t B_addr = args->B;
  const system_addr_t C_addr = args->C;
  const int core = tpu_workitem_index();
  const int bx = core;
  const local_addr_t A_1 = 0x0;  // 16 float32 in a lane
  tpu_gdma_cpy_S2L(A_1, A_addr + 4ull * (bx * 1024), DIM4(1, 64, 1, 16), NULL, NULL, DT_FP32);  // vector_add.py:21
  const local_addr_t B_1 = 0x4000;  // 16 float32 in a lane
  tpu_gdma_cpy_S2L(B_1, B_addr + 4ull * (bx * 1024), DIM4(1, 64, 1, 16), NULL, NULL, DT_FP32);
  const local_addr_t t = 0x8000;  // 16 float32 in a lane
  tpu_bdc_fp_add(t, A_1, B_1, DIM4(1, 64, 1, 16), NULL, NULL, NULL, DT_FP32);
  tpu_gdma_cpy_L2S(C_addr + 4ull * (bx * 1024), t, DIM4(1, 64, 1, 16), NULL, NULL, DT_FP32);
  tpu_poll();
  return 0;
}
TPUKERNEL_FUNC_REGISTER(vector_add_kernel)
