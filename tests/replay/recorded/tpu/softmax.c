#include "tilecore_tpu.h"

typedef struct {
  unsigned long long X, Y;
} softmax_args;

int softmax_kernel(const void* arguments) {
  const softmax_args* args = arguments;
  tpu_initialize();
  const system_addr_t X_addr = args->X;
  const system_addr_t Y_addr = args->Y;
  const local_addr_t exp_table = 0x10000;  // 32 float32 in a lane
  tpu_bdc_load_fp_exp_coeff(exp_table, DT_FP32);
  const int core = tpu_workitem_index();
  const int bx = core;
  const local_addr_t row = 0x4000;  // 256 float32 in a lane  // softmax.py:64
  const local_addr_t largest = 0x8000;  // 16 float32 in a lane  // softmax.py:65
  const local_addr_t scale = 0x8000;  // 16 float32 in a lane  // softmax.py:66
  tpu_gdma_cpy_S2L(row, X_addr + 4ull * (bx * 2048), DIM4(1, 8, 1, 256), NULL, NULL, DT_FP32);  // softmax.py:67
  const local_addr_t prepared = 0x0;  // 256 float32 in a lane
  tpu_bdc_max_C(prepared, row, SCALAR_F32(-TC_INFINITY), DIM4(1, 8, 1, 256), NULL, NULL, DT_FP32);  // softmax.py:68
  const local_addr_t parts = 0x4400;  // 16 float32 in a lane
  tpu_bdc_fp_max_pool2d(parts, prepared, DIM4(1, 8, 16, 16), DIM2(16, 1), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(0.0f));
  tpu_bdc_fp_max_pool2d(largest, parts, DIM4(1, 8, 1, 16), DIM2(1, 16), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(0.0f));
  const local_addr_t t = 0x0;  // 256 float32 in a lane
  tpu_bdc_fp_sub(t, row, largest, DIM4(1, 8, 1, 256), NULL, NULL, DIM4(0, 16, 0, 0), DT_FP32);  // softmax.py:70
  const local_addr_t t_1 = 0x4400;  // 256 float32 in a lane
  tpu_bdc_fp_mul_C(t_1, t, SCALAR_F32(0x1.715476p+0f), DIM4(1, 8, 1, 256), NULL, NULL, DT_FP32);
  const local_addr_t t_2 = 0x0;  // 256 float32 in a lane
  tpu_bdc_fp_mul_C(t_2, t_1, SCALAR_F32(0x1.62e43p-1f), DIM4(1, 8, 1, 256), NULL, NULL, DT_FP32);
  const local_addr_t work = 0x4400;  // 256 float32 in a lane
  const local_addr_t work_1 = 0xc000;  // 256 float32 in a lane
  const local_addr_t t_3 = 0x8000;  // 256 float32 in a lane
  tpu_bdc_fp_exp(t_3, t_2, work, work_1, exp_table, DIM4(1, 8, 1, 256), DT_FP32);
  const local_addr_t t_4 = 0xc000;  // 256 float32 in a lane
  tpu_bdc_fp_mul_C(t_4, t_2, SCALAR_F32(0x1.fffffep+127f), DIM4(1, 8, 1, 256), NULL, NULL, DT_FP32);
  tpu_bdc_less_select(row, A_NUMBER(SCALAR_F32(89.0f)), IN_MEMORY(t_2), IN_MEMORY(t_4), IN_MEMORY(t_3), DIM4(1, 8, 1, 256), DT_FP32, DT_FP32);
  const local_addr_t parts_1 = 0x0;  // 16 float32 in a lane
  tpu_bdc_fp_avg_pool2d(parts_1, row, DIM4(1, 8, 16, 16), DIM2(16, 1), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(1.0f));  // softmax.py:71
  tpu_bdc_fp_avg_pool2d(scale, parts_1, DIM4(1, 8, 1, 16), DIM2(1, 16), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(1.0f));
  tpu_bdc_fp_C_div(scale, scale, SCALAR_F32(1.0f), DIM4(1, 8, 1, 1), NULL, NULL, DT_FP32);  // softmax.py:73
  tpu_bdc_fp_mul(row, row, scale, DIM4(1, 8, 1, 256), NULL, NULL, DIM4(0, 16, 0, 0), DT_FP32);  // softmax.py:75
  tpu_gdma_cpy_L2S(Y_addr + 4ull * (bx * 2048), row, DIM4(1, 8, 1, 256), NULL, NULL, DT_FP32);  // softmax.py:76
  tpu_poll();
  return 0;
}
TPUKERNEL_FUNC_REGISTER(softmax_kernel)
