#include "tilecore_tpu.h"

typedef struct {
  unsigned long long X, W, Y;
} rms_norm_args;

int rms_norm_kernel(const void* arguments) {
  const rms_norm_args* args = arguments;
  tpu_initialize();
  const system_addr_t X_addr = args->X;
  const system_addr_t W_addr = args->W;
  const system_addr_t Y_addr = args->Y;
  const int core = tpu_workitem_index();
  const int bx = core;
  const local_addr_t row = 0x0;  // 256 float32 in a lane  // rms_norm.py:49
  const local_addr_t squares = 0x4000;  // 256 float32 in a lane  // rms_norm.py:50
  const local_addr_t scale = 0x4000;  // 16 float32 in a lane  // rms_norm.py:51
  const local_addr_t X_1 = 0x4000;  // 256 float16 in a lane
  tpu_gdma_cpy_S2L(X_1, X_addr + 2ull * (bx * 2048), DIM4(1, 8, 1, 256), NULL, NULL, DT_FP16);  // rms_norm.py:52
  tpu_bdc_cast(row, X_1, DIM4(1, 8, 1, 256), NULL, NULL, DT_FP32, DT_FP16, RM_HALF_TO_EVEN);
  tpu_bdc_fp_mul(squares, row, row, DIM4(1, 8, 1, 256), NULL, NULL, NULL, DT_FP32);  // rms_norm.py:54
  const local_addr_t parts = 0x400;  // 16 float32 in a lane
  tpu_bdc_fp_avg_pool2d(parts, squares, DIM4(1, 8, 16, 16), DIM2(16, 1), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(1.0f));  // rms_norm.py:55
  tpu_bdc_fp_avg_pool2d(scale, parts, DIM4(1, 8, 1, 16), DIM2(1, 16), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(1.0f));
  const local_addr_t t_2 = 0x8000;  // 16 float32 in a lane
  tpu_bdc_fp_div_C(t_2, scale, SCALAR_F32(256.0f), DIM4(1, 8, 1, 1), NULL, NULL, DT_FP32);  // rms_norm.py:57
  const local_addr_t t_3 = 0x400;  // 16 float32 in a lane
  tpu_bdc_fp_add_C(t_3, t_2, SCALAR_F32(1e-06f), DIM4(1, 8, 1, 1), NULL, NULL, DT_FP32);
  const local_addr_t t_4 = 0x4040;  // 16 float32 in a lane
  tpu_bdc_fp_mul_C(t_4, t_3, SCALAR_F32(0x1p+24f), DIM4(1, 8, 1, 1), NULL, NULL, DT_FP32);
  const local_addr_t t_5 = 0x8000;  // 16 float32 in a lane
  tpu_bdc_greater_select(t_5, A_NUMBER(SCALAR_F32(0x1p-100f)), IN_MEMORY(t_3), IN_MEMORY(t_4), IN_MEMORY(t_3), DIM4(1, 8, 1, 1), DT_FP32, DT_FP32);
  const local_addr_t t_6 = 0x4040;  // 16 float32 in a lane
  tpu_bdc_fp_rsqrt(t_6, t_5, DIM4(1, 8, 1, 1), DT_FP32);
  const local_addr_t t_7 = 0xc000;  // 16 float32 in a lane
  tpu_bdc_fp_mul_C(t_7, t_6, SCALAR_F32(4096.0f), DIM4(1, 8, 1, 1), NULL, NULL, DT_FP32);
  const local_addr_t t_8 = 0x8000;  // 16 float32 in a lane
  tpu_bdc_greater_select(t_8, A_NUMBER(SCALAR_F32(0x1p-100f)), IN_MEMORY(t_3), IN_MEMORY(t_7), IN_MEMORY(t_6), DIM4(1, 8, 1, 1), DT_FP32, DT_FP32);
  tpu_bdc_less_select(scale, IN_MEMORY(t_3), A_NUMBER(SCALAR_F32(-TC_INFINITY)), IN_MEMORY(t_3), IN_MEMORY(t_8), DIM4(1, 8, 1, 1), DT_FP32, DT_FP32);
  const local_addr_t t_10 = 0x8000;  // 256 float32 in a lane
  tpu_bdc_fp_mul(t_10, row, scale, DIM4(1, 8, 1, 256), NULL, NULL, DIM4(0, 16, 0, 0), DT_FP32);  // rms_norm.py:59
  const local_addr_t W_1 = 0x400;  // 256 float16 in a lane
  tpu_gdma_channel_bcast_S2L(W_1, W_addr, DIM4(1, 64, 1, 256), NULL, NULL, DT_FP16);
  const local_addr_t t_11 = 0x4000;  // 256 float32 in a lane
  tpu_bdc_cast(t_11, W_1, DIM4(1, 64, 1, 256), NULL, NULL, DT_FP32, DT_FP16, RM_HALF_TO_EVEN);
  tpu_bdc_fp_mul(row, t_10, t_11, DIM4(1, 8, 1, 256), NULL, NULL, NULL, DT_FP32);
  const local_addr_t t_13 = 0x8000;  // 256 float16 in a lane
  tpu_bdc_cast(t_13, row, DIM4(1, 8, 1, 256), NULL, NULL, DT_FP16, DT_FP32, RM_HALF_TO_EVEN);  // rms_norm.py:60
  const local_addr_t t_14 = 0x4000;  // 256 float16 in a lane
  tpu_bdc_greater_select(t_14, IN_MEMORY(row), A_NUMBER(SCALAR_F32(0x1.ffdffep+15f)), A_NUMBER(SCALAR_F16(tc_single(tc_half_bits(0x7c00 /* inf */)))), IN_MEMORY(t_13), DIM4(1, 8, 1, 256), DT_FP32, DT_FP16);
  const local_addr_t t_15 = 0x8000;  // 256 float16 in a lane
  tpu_bdc_greater_select(t_15, A_NUMBER(SCALAR_F32(-0x1.ffdffep+15f)), IN_MEMORY(row), A_NUMBER(SCALAR_F16(tc_single(tc_half_bits(0xfc00 /* -inf */)))), IN_MEMORY(t_14), DIM4(1, 8, 1, 256), DT_FP32, DT_FP16);
  tpu_gdma_cpy_L2S(Y_addr + 2ull * (bx * 2048), t_15, DIM4(1, 8, 1, 256), NULL, NULL, DT_FP16);
  tpu_poll();
  return 0;
}
TPUKERNEL_FUNC_REGISTER(rms_norm_kernel)
