#include "tilecore_tpu.h"

typedef struct {
  unsigned long long Q, K, V, Out;
} attention_args;

int attention_kernel(const void* arguments) {
  const attention_args* args = arguments;
  tpu_initialize();
  const system_addr_t Q_addr = args->Q;
  const system_addr_t K_addr = args->K;
  const system_addr_t V_addr = args->V;
  const system_addr_t Out_addr = args->Out;
  const local_addr_t exp_table = 0x8000;  // 32 float32 in a lane
  tpu_bdc_load_fp_exp_coeff(exp_table, DT_FP32);
  const int core = tpu_workitem_index();
  const int head = core % 4;
  const int bx = core / 4;
  const local_addr_t out = 0x980;  // 128 float32 in a lane  // attention.py:111
  const local_addr_t largest = 0x480;  // 32 float32 in a lane  // attention.py:112
  const local_addr_t total = 0x500;  // 32 float32 in a lane  // attention.py:113
  const local_addr_t share = 0x4000;  // 32 float32 in a lane  // attention.py:114
  const local_addr_t Q_shared = 0x0;  // 128 float16 in a lane  // attention.py:65
  const local_addr_t Q_local = 0x4400;  // 128 float16 in a lane  // attention.py:67
  const local_addr_t K_shared = 0x8500;  // 128 float16 in a lane  // attention.py:68
  const local_addr_t V_shared = 0x4500;  // 128 float16 in a lane  // attention.py:69
  const local_addr_t scores = 0x0;  // 256 float32 in a lane  // attention.py:70
  const local_addr_t weights = 0x8080;  // 256 float16 in a lane  // attention.py:71
  const local_addr_t largest_before = 0x4600;  // 32 float32 in a lane  // attention.py:72
  const local_addr_t rescale = 0x8080;  // 32 float32 in a lane  // attention.py:73
  const local_addr_t tile_total = 0x8100;  // 32 float32 in a lane  // attention.py:74
  tpu_gdma_cpy_S2L(Q_shared, Q_addr + 2ull * (head * 64 + 32768 - bx * 32768), DIM4(1, 128, 1, 64), NULL, DIM4(0, 256, 0, 1), DT_FP16);  // attention.py:76
  tpu_bdc_cpy(Q_local, Q_shared, DIM4(1, 128, 1, 64), NULL, NULL, DT_FP16);  // attention.py:78
  tpu_bdc_set_C(out, SCALAR_F32(0.0f), DIM4(1, 128, 1, 64), NULL, DT_FP32);  // attention.py:79
  tpu_bdc_set_C(total, SCALAR_F32(0.0f), DIM4(1, 128, 1, 1), NULL, DT_FP32);  // attention.py:80
  tpu_bdc_set_C(largest, SCALAR_F32(-0x1.fffffep+127f), DIM4(1, 128, 1, 1), NULL, DT_FP32);  // attention.py:81
  for (int k = 0; k < ((1 - bx) * 128 + 128 - 1) / 128 + 1; ++k) {  // attention.py:82
    if (128 - tc_max(bx + k - 1, 0) * 128 < 128) {  // attention.py:84
      tpu_bdc_set_C(K_shared, SCALAR_F16(tc_single(tc_half_bits(0x0000 /* 0 */))), DIM4(1, 128, 1, 64), NULL, DT_FP16);
    }
    if (128 - tc_max(bx + k - 1, 0) * 128 > 0) {
      tpu_gdma_cpy_S2L(K_shared + LANE(tc_max(bx + k - 1, 0) * 128 % 64) + 2 * (tc_max(bx + k - 1, 0) * 128 / 64 * 64), K_addr + 2ull * (head / 2 * 64 + 16384 - bx * 16384 - k * 16384 + tc_max(bx + k - 1, 0) * 128 * 128), DIM4(1, 128 - tc_max(bx + k - 1, 0) * 128, 1, 64), NULL, DIM4(0, 128, 0, 1), DT_FP16);
    }
    tpu_bdc_fp_mm_R_trans(scores, Q_local, K_shared, 128, 64, 128, DT_FP32, DT_FP16);  // attention.py:86
    if (k < 1) {  // attention.py:87
      const local_addr_t ramp = 0xb80;  // 128 int32 in a lane
      tpu_bdc_arithmetic_sequence_bcast(ramp, 64, 128 - bx * 128 - k * 128, 1, 128);  // attention.py:89
      const local_addr_t ramp_1 = 0x4000;  // 32 int32 in a lane
      tpu_bdc_arithmetic_sequence_distribute(ramp_1, 128 - bx * 128, 1, 64);
      tpu_bdc_arithmetic_sequence_distribute(ramp_1 + 64, 128 - bx * 128 + 64, 1, 64);
      const local_addr_t t = 0x580;  // 256 int32 in a lane
      tpu_bdc_cpy(t, ramp_1, DIM4(1, 128, 1, 128), NULL, DIM4(0, 16, 0, 0), DT_INT32);
      const local_addr_t t_1 = 0x4000;  // 256 int32 in a lane
      tpu_bdc_cpy(t_1, ramp, DIM4(1, 128, 1, 128), NULL, DIM4(0, 0, 0, 1), DT_INT32);
      const local_addr_t t_2 = 0x8080;  // 256 uint8 in a lane
      tpu_bdc_less_select(t_2, IN_MEMORY(t), IN_MEMORY(t_1), A_NUMBER(SCALAR_U8(0)), A_NUMBER(SCALAR_U8(1)), DIM4(1, 128, 1, 128), DT_INT32, DT_UINT8);
      tpu_bdc_equal_select(scores, IN_MEMORY(t_2), A_NUMBER(SCALAR_U8(0)), A_NUMBER(SCALAR_F32(-TC_INFINITY)), IN_MEMORY(scores), DIM4(1, 128, 1, 128), DT_UINT8, DT_FP32);  // attention.py:90
    }
    tpu_bdc_cpy(largest_before, largest, DIM4(1, 128, 1, 1), NULL, NULL, DT_FP32);  // attention.py:92
    const local_addr_t prepared = 0x4000;  // 256 float32 in a lane
    tpu_bdc_max_C(prepared, scores, SCALAR_F32(-TC_INFINITY), DIM4(1, 128, 1, 128), NULL, NULL, DT_FP32);  // attention.py:93
    const local_addr_t parts = 0x400;  // 32 float32 in a lane
    tpu_bdc_fp_max_pool2d(parts, prepared, DIM4(1, 128, 8, 16), DIM2(8, 1), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(0.0f));
    const local_addr_t total_1 = 0x4000;  // 32 float32 in a lane
    tpu_bdc_fp_max_pool2d(total_1, parts, DIM4(1, 128, 1, 16), DIM2(1, 16), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(0.0f));
    tpu_bdc_max(total_1, largest, total_1, DIM4(1, 128, 1, 1), NULL, NULL, NULL, DT_FP32);
    tpu_bdc_cpy(largest, total_1, DIM4(1, 128, 1, 1), NULL, NULL, DT_FP32);
    const local_addr_t t_4 = 0x400;  // 32 float32 in a lane
    tpu_bdc_fp_mul_C(t_4, largest_before, SCALAR_F32(0x1.715476p-3f), DIM4(1, 128, 1, 1), NULL, NULL, DT_FP32);  // attention.py:95
    const local_addr_t t_5 = 0x4000;  // 32 float32 in a lane
    tpu_bdc_fp_mul_C(t_5, largest, SCALAR_F32(0x1.715476p-3f), DIM4(1, 128, 1, 1), NULL, NULL, DT_FP32);
    const local_addr_t t_6 = 0x8080;  // 32 float32 in a lane
    tpu_bdc_fp_sub(t_6, t_4, t_5, DIM4(1, 128, 1, 1), NULL, NULL, NULL, DT_FP32);
    const local_addr_t t_7 = 0x400;  // 32 float32 in a lane
    tpu_bdc_fp_mul_C(t_7, t_6, SCALAR_F32(0x1.62e43p-1f), DIM4(1, 128, 1, 1), NULL, NULL, DT_FP32);
    const local_addr_t work = 0xc000;  // 32 float32 in a lane
    const local_addr_t work_1 = 0x10000;  // 32 float32 in a lane
    const local_addr_t t_8 = 0x4000;  // 32 float32 in a lane
    tpu_bdc_fp_exp(t_8, t_7, work, work_1, exp_table, DIM4(1, 128, 1, 1), DT_FP32);
    const local_addr_t t_9 = 0xc000;  // 32 float32 in a lane
    tpu_bdc_fp_mul_C(t_9, t_7, SCALAR_F32(0x1.fffffep+127f), DIM4(1, 128, 1, 1), NULL, NULL, DT_FP32);
    tpu_bdc_less_select(rescale, A_NUMBER(SCALAR_F32(89.0f)), IN_MEMORY(t_7), IN_MEMORY(t_9), IN_MEMORY(t_8), DIM4(1, 128, 1, 1), DT_FP32, DT_FP32);
    const local_addr_t t_11 = 0x8100;  // 32 float32 in a lane
    tpu_bdc_fp_mul_C(t_11, largest, SCALAR_F32(0x1.715476p-3f), DIM4(1, 128, 1, 1), NULL, NULL, DT_FP32);  // attention.py:97
    const local_addr_t t_12 = 0x4000;  // 256 float32 in a lane
    tpu_bdc_fp_mul_C(t_12, scores, SCALAR_F32(0x1.715476p-3f), DIM4(1, 128, 1, 128), NULL, NULL, DT_FP32);  // attention.py:98
    const local_addr_t t_13 = 0x580;  // 256 float32 in a lane
    tpu_bdc_fp_sub(t_13, t_12, t_11, DIM4(1, 128, 1, 128), NULL, NULL, DIM4(0, 16, 0, 0), DT_FP32);
    const local_addr_t t_14 = 0x4000;  // 256 float32 in a lane
    tpu_bdc_fp_mul_C(t_14, t_13, SCALAR_F32(0x1.62e43p-1f), DIM4(1, 128, 1, 128), NULL, NULL, DT_FP32);
    const local_addr_t work_2 = 0x580;  // 256 float32 in a lane
    const local_addr_t work_3 = 0x10000;  // 256 float32 in a lane
    const local_addr_t t_15 = 0xc000;  // 256 float32 in a lane
    tpu_bdc_fp_exp(t_15, t_14, work_2, work_3, exp_table, DIM4(1, 128, 1, 128), DT_FP32);
    const local_addr_t t_16 = 0x8100;  // 256 float32 in a lane
    tpu_bdc_fp_mul_C(t_16, t_14, SCALAR_F32(0x1.fffffep+127f), DIM4(1, 128, 1, 128), NULL, NULL, DT_FP32);
    tpu_bdc_less_select(scores, A_NUMBER(SCALAR_F32(89.0f)), IN_MEMORY(t_14), IN_MEMORY(t_16), IN_MEMORY(t_15), DIM4(1, 128, 1, 128), DT_FP32, DT_FP32);
    const local_addr_t parts_1 = 0x4000;  // 32 float32 in a lane
    tpu_bdc_fp_avg_pool2d(parts_1, scores, DIM4(1, 128, 8, 16), DIM2(8, 1), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(1.0f));  // attention.py:99
    tpu_bdc_fp_avg_pool2d(tile_total, parts_1, DIM4(1, 128, 1, 16), DIM2(1, 16), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(1.0f));
    const local_addr_t t_18 = 0x4000;  // 32 float32 in a lane
    tpu_bdc_fp_mul(t_18, total, rescale, DIM4(1, 128, 1, 1), NULL, NULL, NULL, DT_FP32);  // attention.py:101
    tpu_bdc_fp_add(total, t_18, tile_total, DIM4(1, 128, 1, 1), NULL, NULL, NULL, DT_FP32);
    tpu_bdc_fp_mul(out, out, rescale, DIM4(1, 128, 1, 64), NULL, NULL, DIM4(0, 16, 0, 0), DT_FP32);  // attention.py:103
    const local_addr_t t_21 = 0x8080;  // 256 float16 in a lane
    tpu_bdc_cast(t_21, scores, DIM4(1, 128, 1, 128), NULL, NULL, DT_FP16, DT_FP32, RM_HALF_TO_EVEN);  // attention.py:105
    const local_addr_t t_22 = 0x4000;  // 256 float16 in a lane
    tpu_bdc_greater_select(t_22, IN_MEMORY(scores), A_NUMBER(SCALAR_F32(0x1.ffdffep+15f)), A_NUMBER(SCALAR_F16(tc_single(tc_half_bits(0x7c00 /* inf */)))), IN_MEMORY(t_21), DIM4(1, 128, 1, 128), DT_FP32, DT_FP16);
    tpu_bdc_greater_select(weights, A_NUMBER(SCALAR_F32(-0x1.ffdffep+15f)), IN_MEMORY(scores), A_NUMBER(SCALAR_F16(tc_single(tc_half_bits(0xfc00 /* -inf */)))), IN_MEMORY(t_22), DIM4(1, 128, 1, 128), DT_FP32, DT_FP16);
    if (128 - tc_max(bx + k - 1, 0) * 128 < 128) {  // attention.py:106
      tpu_bdc_set_C(V_shared, SCALAR_F16(tc_single(tc_half_bits(0x0000 /* 0 */))), DIM4(1, 128, 1, 64), NULL, DT_FP16);
    }
    if (128 - tc_max(bx + k - 1, 0) * 128 > 0) {
      tpu_gdma_cpy_S2L(V_shared + LANE(tc_max(bx + k - 1, 0) * 128 % 64) + 2 * (tc_max(bx + k - 1, 0) * 128 / 64 * 64), V_addr + 2ull * (head / 2 * 64 + 16384 - bx * 16384 - k * 16384 + tc_max(bx + k - 1, 0) * 128 * 128), DIM4(1, 128 - tc_max(bx + k - 1, 0) * 128, 1, 64), NULL, DIM4(0, 128, 0, 1), DT_FP16);
    }
    tpu_bdc_fp_mm(out, weights, V_shared, 128, 128, 64, DT_FP32, DT_FP16, true);  // attention.py:107
  }
  tpu_bdc_fp_C_div(share, total, SCALAR_F32(1.0f), DIM4(1, 128, 1, 1), NULL, NULL, DT_FP32);  // attention.py:120
  tpu_bdc_fp_mul(out, out, share, DIM4(1, 128, 1, 64), NULL, NULL, DIM4(0, 16, 0, 0), DT_FP32);  // attention.py:122
  const local_addr_t t_26 = 0x8000;  // 128 float16 in a lane
  tpu_bdc_cast(t_26, out, DIM4(1, 128, 1, 64), NULL, NULL, DT_FP16, DT_FP32, RM_HALF_TO_EVEN);  // attention.py:123
  const local_addr_t t_27 = 0x4000;  // 128 float16 in a lane
  tpu_bdc_greater_select(t_27, IN_MEMORY(out), A_NUMBER(SCALAR_F32(0x1.ffdffep+15f)), A_NUMBER(SCALAR_F16(tc_single(tc_half_bits(0x7c00 /* inf */)))), IN_MEMORY(t_26), DIM4(1, 128, 1, 64), DT_FP32, DT_FP16);
  const local_addr_t t_28 = 0x8000;  // 128 float16 in a lane
  tpu_bdc_greater_select(t_28, A_NUMBER(SCALAR_F32(-0x1.ffdffep+15f)), IN_MEMORY(out), A_NUMBER(SCALAR_F16(tc_single(tc_half_bits(0xfc00 /* -inf */)))), IN_MEMORY(t_27), DIM4(1, 128, 1, 64), DT_FP32, DT_FP16);
  tpu_gdma_cpy_L2S(Out_addr + 2ull * (head * 64 + 32768 - bx * 32768), t_28, DIM4(1, 128, 1, 64), DIM4(0, 256, 0, 1), NULL, DT_FP16);
  tpu_poll();
  return 0;
}
TPUKERNEL_FUNC_REGISTER(attention_kernel)
