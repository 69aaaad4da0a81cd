#include "tilecore_tpu.h"

typedef struct {
  unsigned long long Q, QR, KV, KR, Out, Part, Log;
} mla_decode_kernel_0_args;

int mla_decode_kernel_0(const void* arguments) {
  const mla_decode_kernel_0_args* args = arguments;
  tpu_initialize();
  const system_addr_t Q_addr = args->Q;
  const system_addr_t QR_addr = args->QR;
  const system_addr_t KV_addr = args->KV;
  const system_addr_t KR_addr = args->KR;
  const system_addr_t Part_addr = args->Part;
  const system_addr_t Log_addr = args->Log;
  const local_addr_t exp_table = 0x8000;  // 32 float32 in a lane
  tpu_bdc_load_fp_exp_coeff(exp_table, DT_FP32);
  const local_addr_t log_table = 0x1c0;  // 64 float32 in a lane
  tpu_bdc_load_fp_log_coeff(log_table, DT_FP32);
  const int core = tpu_workitem_index();
  const int split = core;
  const local_addr_t Q_shared = 0x8140;  // 512 float16 in a lane  // mla_decode.py:47
  const local_addr_t QR_shared = 0x4480;  // 64 float16 in a lane  // mla_decode.py:48
  const local_addr_t KV_shared = 0x4080;  // 512 float16 in a lane  // mla_decode.py:49
  const local_addr_t KR_shared = 0x8540;  // 64 float16 in a lane  // mla_decode.py:50
  const local_addr_t weights = 0x8080;  // 32 float16 in a lane  // mla_decode.py:51
  const local_addr_t scores = 0x0;  // 32 float32 in a lane  // mla_decode.py:52
  const local_addr_t out = 0xc080;  // 512 float32 in a lane  // mla_decode.py:53
  const local_addr_t largest = 0xc0;  // 16 float32 in a lane  // mla_decode.py:54
  const local_addr_t largest_before = 0x4500;  // 16 float32 in a lane  // mla_decode.py:55
  const local_addr_t rescale = 0x8080;  // 16 float32 in a lane  // mla_decode.py:56
  const local_addr_t tile_total = 0x80c0;  // 16 float32 in a lane  // mla_decode.py:57
  const local_addr_t total = 0x100;  // 16 float32 in a lane  // mla_decode.py:58
  tpu_bdc_set_C(Q_shared, SCALAR_F16(tc_single(tc_half_bits(0x0000 /* 0 */))), DIM4(1, 64, 1, 512), NULL, DT_FP16);  // mla_decode.py:61
  tpu_gdma_cpy_S2L(Q_shared, Q_addr, DIM4(1, 16, 1, 512), NULL, NULL, DT_FP16);
  tpu_bdc_set_C(QR_shared, SCALAR_F16(tc_single(tc_half_bits(0x0000 /* 0 */))), DIM4(1, 64, 1, 64), NULL, DT_FP16);  // mla_decode.py:62
  tpu_gdma_cpy_S2L(QR_shared, QR_addr, DIM4(1, 16, 1, 64), NULL, NULL, DT_FP16);
  tpu_bdc_set_C(out, SCALAR_F32(0.0f), DIM4(1, 64, 1, 512), NULL, DT_FP32);  // mla_decode.py:63
  tpu_bdc_set_C(total, SCALAR_F32(0.0f), DIM4(1, 64, 1, 1), NULL, DT_FP32);  // mla_decode.py:64
  tpu_bdc_set_C(largest, SCALAR_F32(-TC_INFINITY), DIM4(1, 64, 1, 1), NULL, DT_FP32);  // mla_decode.py:65
  for (int k = 0; k < tc_min(3, 10 - split * 3); ++k) {  // mla_decode.py:66
    if (tc_max(tc_min(300 - k * 32 - split * 96, 32), 0) < 32) {  // mla_decode.py:68
      tpu_bdc_set_C(KV_shared, SCALAR_F16(tc_single(tc_half_bits(0x0000 /* 0 */))), DIM4(1, 32, 1, 512), NULL, DT_FP16);
    }
    if (tc_max(tc_min(300 - k * 32 - split * 96, 32), 0) > 0) {
      tpu_gdma_cpy_S2L(KV_shared, KV_addr + 2ull * (split * 49152 + k * 16384), DIM4(1, tc_max(tc_min(300 - k * 32 - split * 96, 32), 0), 1, 512), NULL, NULL, DT_FP16);
    }
    if (tc_max(tc_min(300 - k * 32 - split * 96, 32), 0) < 32) {  // mla_decode.py:69
      tpu_bdc_set_C(KR_shared, SCALAR_F16(tc_single(tc_half_bits(0x0000 /* 0 */))), DIM4(1, 32, 1, 64), NULL, DT_FP16);
    }
    if (tc_max(tc_min(300 - k * 32 - split * 96, 32), 0) > 0) {
      tpu_gdma_cpy_S2L(KR_shared, KR_addr + 2ull * (split * 6144 + k * 2048), DIM4(1, tc_max(tc_min(300 - k * 32 - split * 96, 32), 0), 1, 64), NULL, NULL, DT_FP16);
    }
    tpu_bdc_fp_mm_R_trans(scores, Q_shared, KV_shared, 64, 512, 32, DT_FP32, DT_FP16);  // mla_decode.py:70
    tpu_bdc_fp_mm_R_trans_with_bias(scores, QR_shared, KR_shared, 64, 64, 32, DT_FP32, DT_FP16, DT_FP32, true, true, (var_context_t){0}, false);  // mla_decode.py:71
    const local_addr_t ramp = 0x140;  // 32 int32 in a lane
    tpu_bdc_arithmetic_sequence_bcast(ramp, 64, split * 96 + k * 32, 1, 32);  // mla_decode.py:74
    const local_addr_t t = 0x4000;  // 32 int32 in a lane
    tpu_bdc_cpy(t, ramp, DIM4(1, 64, 1, 32), NULL, NULL, DT_INT32);
    tpu_bdc_greater_select(scores, A_NUMBER(SCALAR_S32(300)), IN_MEMORY(t), IN_MEMORY(scores), A_NUMBER(SCALAR_F32(-TC_INFINITY)), DIM4(1, 64, 1, 32), DT_INT32, DT_FP32);
    tpu_bdc_cpy(largest_before, largest, DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32);  // mla_decode.py:76
    const local_addr_t prepared = 0x4000;  // 32 float32 in a lane
    tpu_bdc_max_C(prepared, scores, SCALAR_F32(-TC_INFINITY), DIM4(1, 64, 1, 32), NULL, NULL, DT_FP32);  // mla_decode.py:77
    const local_addr_t parts = 0x80;  // 16 float32 in a lane
    tpu_bdc_fp_max_pool2d(parts, prepared, DIM4(1, 64, 2, 16), DIM2(2, 1), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(0.0f));
    const local_addr_t total_1 = 0x4000;  // 16 float32 in a lane
    tpu_bdc_fp_max_pool2d(total_1, parts, DIM4(1, 64, 1, 16), DIM2(1, 16), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(0.0f));
    tpu_bdc_max(total_1, largest, total_1, DIM4(1, 64, 1, 1), NULL, NULL, NULL, DT_FP32);
    tpu_bdc_cpy(largest, total_1, DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32);
    const local_addr_t t_2 = 0x80;  // 16 float32 in a lane
    tpu_bdc_fp_mul_C(t_2, largest_before, SCALAR_F32(0x1.ec709ep-5f), DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32);  // mla_decode.py:79
    const local_addr_t t_3 = 0x4000;  // 16 float32 in a lane
    tpu_bdc_fp_mul_C(t_3, largest, SCALAR_F32(0x1.ec709ep-5f), DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32);
    const local_addr_t t_4 = 0x8080;  // 16 float32 in a lane
    tpu_bdc_fp_sub(t_4, t_2, t_3, DIM4(1, 64, 1, 1), NULL, NULL, NULL, DT_FP32);
    const local_addr_t t_5 = 0x80;  // 16 float32 in a lane
    tpu_bdc_fp_mul_C(t_5, t_4, SCALAR_F32(0x1.62e43p-1f), DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32);
    const local_addr_t work = 0xc000;  // 16 float32 in a lane
    const local_addr_t work_1 = 0x10000;  // 16 float32 in a lane
    const local_addr_t t_6 = 0x4000;  // 16 float32 in a lane
    tpu_bdc_fp_exp(t_6, t_5, work, work_1, exp_table, DIM4(1, 64, 1, 1), DT_FP32);
    const local_addr_t t_7 = 0xc000;  // 16 float32 in a lane
    tpu_bdc_fp_mul_C(t_7, t_5, SCALAR_F32(0x1.fffffep+127f), DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32);
    tpu_bdc_less_select(rescale, A_NUMBER(SCALAR_F32(89.0f)), IN_MEMORY(t_5), IN_MEMORY(t_7), IN_MEMORY(t_6), DIM4(1, 64, 1, 1), DT_FP32, DT_FP32);
    const local_addr_t t_9 = 0x80c0;  // 16 float32 in a lane
    tpu_bdc_fp_mul_C(t_9, largest, SCALAR_F32(0x1.ec709ep-5f), DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32);  // mla_decode.py:81
    const local_addr_t t_10 = 0x4000;  // 32 float32 in a lane
    tpu_bdc_fp_mul_C(t_10, scores, SCALAR_F32(0x1.ec709ep-5f), DIM4(1, 64, 1, 32), NULL, NULL, DT_FP32);  // mla_decode.py:82
    const local_addr_t t_11 = 0x140;  // 32 float32 in a lane
    tpu_bdc_fp_sub(t_11, t_10, t_9, DIM4(1, 64, 1, 32), NULL, NULL, DIM4(0, 16, 0, 0), DT_FP32);
    const local_addr_t t_12 = 0x4000;  // 32 float32 in a lane
    tpu_bdc_fp_mul_C(t_12, t_11, SCALAR_F32(0x1.62e43p-1f), DIM4(1, 64, 1, 32), NULL, NULL, DT_FP32);
    const local_addr_t work_2 = 0x140;  // 32 float32 in a lane
    const local_addr_t work_3 = 0x10000;  // 32 float32 in a lane
    const local_addr_t t_13 = 0xc000;  // 32 float32 in a lane
    tpu_bdc_fp_exp(t_13, t_12, work_2, work_3, exp_table, DIM4(1, 64, 1, 32), DT_FP32);
    const local_addr_t t_14 = 0x80c0;  // 32 float32 in a lane
    tpu_bdc_fp_mul_C(t_14, t_12, SCALAR_F32(0x1.fffffep+127f), DIM4(1, 64, 1, 32), NULL, NULL, DT_FP32);
    tpu_bdc_less_select(scores, A_NUMBER(SCALAR_F32(89.0f)), IN_MEMORY(t_12), IN_MEMORY(t_14), IN_MEMORY(t_13), DIM4(1, 64, 1, 32), DT_FP32, DT_FP32);
    const local_addr_t parts_1 = 0x4000;  // 16 float32 in a lane
    tpu_bdc_fp_avg_pool2d(parts_1, scores, DIM4(1, 64, 2, 16), DIM2(2, 1), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(1.0f));  // mla_decode.py:83
    tpu_bdc_fp_avg_pool2d(tile_total, parts_1, DIM4(1, 64, 1, 16), DIM2(1, 16), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(1.0f));
    const local_addr_t t_16 = 0x4000;  // 16 float32 in a lane
    tpu_bdc_fp_mul(t_16, total, rescale, DIM4(1, 64, 1, 1), NULL, NULL, NULL, DT_FP32);  // mla_decode.py:85
    tpu_bdc_fp_add(total, t_16, tile_total, DIM4(1, 64, 1, 1), NULL, NULL, NULL, DT_FP32);
    tpu_bdc_fp_mul(out, out, rescale, DIM4(1, 64, 1, 512), NULL, NULL, DIM4(0, 16, 0, 0), DT_FP32);  // mla_decode.py:87
    const local_addr_t t_19 = 0x8080;  // 32 float16 in a lane
    tpu_bdc_cast(t_19, scores, DIM4(1, 64, 1, 32), NULL, NULL, DT_FP16, DT_FP32, RM_HALF_TO_EVEN);  // mla_decode.py:88
    const local_addr_t t_20 = 0x4000;  // 32 float16 in a lane
    tpu_bdc_greater_select(t_20, IN_MEMORY(scores), A_NUMBER(SCALAR_F32(0x1.ffdffep+15f)), A_NUMBER(SCALAR_F16(tc_single(tc_half_bits(0x7c00 /* inf */)))), IN_MEMORY(t_19), DIM4(1, 64, 1, 32), DT_FP32, DT_FP16);
    tpu_bdc_greater_select(weights, A_NUMBER(SCALAR_F32(-0x1.ffdffep+15f)), IN_MEMORY(scores), A_NUMBER(SCALAR_F16(tc_single(tc_half_bits(0xfc00 /* -inf */)))), IN_MEMORY(t_20), DIM4(1, 64, 1, 32), DT_FP32, DT_FP16);
    tpu_bdc_fp_mm(out, weights, KV_shared, 64, 32, 512, DT_FP32, DT_FP16, true);  // mla_decode.py:89
  }
  const local_addr_t t_22 = 0x4000;  // 512 float32 in a lane
  tpu_bdc_fp_div(t_22, out, total, DIM4(1, 64, 1, 512), NULL, NULL, DIM4(0, 16, 0, 0), DT_FP32);  // mla_decode.py:95
  tpu_gdma_cpy_L2S(Part_addr + 4ull * (split * 512), t_22, DIM4(1, 16, 1, 512), DIM4(0, 2048, 0, 1), NULL, DT_FP32);
  const local_addr_t t_23 = 0x4040;  // 16 float32 in a lane
  tpu_bdc_fp_mul_C(t_23, largest, SCALAR_F32(0x1.ec709ep-5f), DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32);  // mla_decode.py:97
  const local_addr_t t_24 = 0x4000;  // 16 float32 in a lane
  tpu_bdc_fp_mul_C(t_24, total, SCALAR_F32(0x1p-64f), DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32);
  const local_addr_t t_25 = 0x8000;  // 16 float32 in a lane
  tpu_bdc_greater_select(t_25, IN_MEMORY(total), A_NUMBER(SCALAR_F32(0x1p+100f)), IN_MEMORY(t_24), IN_MEMORY(total), DIM4(1, 64, 1, 1), DT_FP32, DT_FP32);
  const local_addr_t work_4 = 0xc000;  // 16 float32 in a lane
  const local_addr_t t_26 = 0x4000;  // 16 float32 in a lane
  tpu_bdc_fp_log(t_26, t_25, work_4, log_table, DIM4(1, 64, 1, 1), DT_FP32);
  const local_addr_t t_27 = 0xc000;  // 16 float32 in a lane
  tpu_bdc_fp_add_C(t_27, t_26, SCALAR_F32(0x1.62e43p+5f), DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32);
  const local_addr_t t_28 = 0x8000;  // 16 float32 in a lane
  tpu_bdc_greater_select(t_28, IN_MEMORY(total), A_NUMBER(SCALAR_F32(0x1p+100f)), IN_MEMORY(t_27), IN_MEMORY(t_26), DIM4(1, 64, 1, 1), DT_FP32, DT_FP32);
  const local_addr_t t_29 = 0x4000;  // 16 float32 in a lane
  tpu_bdc_greater_select(t_29, IN_MEMORY(total), A_NUMBER(SCALAR_F32(0.0f)), IN_MEMORY(t_28), A_NUMBER(SCALAR_F32(-TC_INFINITY)), DIM4(1, 64, 1, 1), DT_FP32, DT_FP32);
  const local_addr_t t_30 = 0x8000;  // 16 float32 in a lane
  tpu_bdc_greater_select(t_30, A_NUMBER(SCALAR_F32(0.0f)), IN_MEMORY(total), A_NUMBER(SCALAR_F32(TC_NAN)), IN_MEMORY(t_29), DIM4(1, 64, 1, 1), DT_FP32, DT_FP32);
  const local_addr_t t_31 = 0x4000;  // 16 float32 in a lane
  tpu_bdc_greater_select(t_31, IN_MEMORY(total), A_NUMBER(SCALAR_F32(0x1.fffffep+127f)), A_NUMBER(SCALAR_F32(TC_INFINITY)), IN_MEMORY(t_30), DIM4(1, 64, 1, 1), DT_FP32, DT_FP32);
  const local_addr_t t_32 = 0x8000;  // 16 float32 in a lane
  tpu_bdc_less_select(t_32, IN_MEMORY(total), A_NUMBER(SCALAR_F32(-TC_INFINITY)), IN_MEMORY(total), IN_MEMORY(t_31), DIM4(1, 64, 1, 1), DT_FP32, DT_FP32);
  const local_addr_t t_33 = 0x0;  // 16 float32 in a lane
  tpu_bdc_fp_mul_C(t_33, t_32, SCALAR_F32(0x1.715476p+0f), DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32);
  const local_addr_t t_34 = 0x4000;  // 16 float32 in a lane
  tpu_bdc_fp_round(t_34, t_33, DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32, RM_HALF_TO_EVEN);
  const local_addr_t t_35 = 0x8000;  // 16 float32 in a lane
  tpu_bdc_fp_sub(t_35, t_33, t_34, DIM4(1, 64, 1, 1), NULL, NULL, NULL, DT_FP32);
  const local_addr_t t_36 = 0xc000;  // 16 float32 in a lane
  tpu_bdc_abs(t_36, t_35, DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32);
  const local_addr_t t_37 = 0x4080;  // 16 float32 in a lane
  tpu_bdc_abs(t_37, t_33, DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32);
  const local_addr_t t_38 = 0x10000;  // 16 float32 in a lane
  tpu_bdc_fp_mul_C(t_38, t_37, SCALAR_F32(4e-07f), DIM4(1, 64, 1, 1), NULL, NULL, DT_FP32);
  const local_addr_t t_39 = 0x8000;  // 16 float32 in a lane
  tpu_bdc_greater_select(t_39, IN_MEMORY(t_36), IN_MEMORY(t_38), IN_MEMORY(t_33), IN_MEMORY(t_34), DIM4(1, 64, 1, 1), DT_FP32, DT_FP32);
  const local_addr_t t_40 = 0x0;  // 16 float32 in a lane
  tpu_bdc_fp_add(t_40, t_23, t_39, DIM4(1, 64, 1, 1), NULL, NULL, NULL, DT_FP32);
  tpu_gdma_cpy_L2S(Log_addr + 4ull * split, t_40, DIM4(1, 16, 1, 1), DIM4(0, 4, 0, 1), NULL, DT_FP32);
  tpu_poll();
  return 0;
}
TPUKERNEL_FUNC_REGISTER(mla_decode_kernel_0)

typedef struct {
  unsigned long long Q, QR, KV, KR, Out, Part, Log;
} mla_decode_kernel_1_args;

int mla_decode_kernel_1(const void* arguments) {
  const mla_decode_kernel_1_args* args = arguments;
  tpu_initialize();
  const system_addr_t Out_addr = args->Out;
  const system_addr_t Part_addr = args->Part;
  const system_addr_t Log_addr = args->Log;
  const local_addr_t exp_table = 0x800;  // 32 float32 in a lane
  tpu_bdc_load_fp_exp_coeff(exp_table, DT_FP32);
  const int core = tpu_workitem_index();
  for (int turn = 0; turn < 2; ++turn) {
    const int block = turn * 8 + (turn % 2 == 0 ? core : 7 - core);
    const int h = block;
    const local_addr_t parts = 0x0;  // 512 float32 in a lane  // mla_decode.py:101
    const local_addr_t shares = 0x0;  // 16 float32 in a lane  // mla_decode.py:102
    const local_addr_t most = 0x40;  // 16 float32 in a lane  // mla_decode.py:103
    const local_addr_t whole = 0x4000;  // 16 float32 in a lane  // mla_decode.py:104
    const local_addr_t out_1 = 0x0;  // 512 float32 in a lane  // mla_decode.py:105
    tpu_gdma_cpy_S2L(shares, Log_addr + 4ull * (h * 4), DIM4(1, 4, 1, 1), NULL, NULL, DT_FP32);  // mla_decode.py:106
    const local_addr_t prepared = 0x4000;  // 16 float32 in a lane
    tpu_bdc_max_C(prepared, shares, SCALAR_F32(-TC_INFINITY), DIM4(1, 4, 1, 1), NULL, NULL, DT_FP32);  // mla_decode.py:107
    const local_addr_t prepared_turned = 0x40;  // 16 float32 in a lane
    tpu_bdc_cw_trans(prepared_turned, prepared, DIM4(1, 1, 1, 4), DT_FP32);
    const local_addr_t total = 0x4000;  // 16 float32 in a lane
    tpu_bdc_fp_max_pool2d(total, prepared_turned, DIM4(1, 1, 1, 4), DIM2(1, 4), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(0.0f));
    tpu_bdc_cpy(most, total, DIM4(1, 1, 1, 1), NULL, NULL, DT_FP32);
    const local_addr_t row = 0x4000;  // 16 float32 in a lane
    tpu_bdc_npu_bcast(row, most, DIM4(1, 64, 1, 1), DT_FP32);  // mla_decode.py:109
    const local_addr_t t = 0x8000;  // 16 float32 in a lane
    tpu_bdc_fp_sub(t, shares, row, DIM4(1, 4, 1, 1), NULL, NULL, NULL, DT_FP32);
    const local_addr_t t_1 = 0x4000;  // 16 float32 in a lane
    tpu_bdc_fp_mul_C(t_1, t, SCALAR_F32(0x1.62e43p-1f), DIM4(1, 4, 1, 1), NULL, NULL, DT_FP32);
    const local_addr_t work = 0xc000;  // 16 float32 in a lane
    const local_addr_t work_1 = 0x10000;  // 16 float32 in a lane
    const local_addr_t t_2 = 0x8000;  // 16 float32 in a lane
    tpu_bdc_fp_exp(t_2, t_1, work, work_1, exp_table, DIM4(1, 4, 1, 1), DT_FP32);
    const local_addr_t t_3 = 0xc000;  // 16 float32 in a lane
    tpu_bdc_fp_mul_C(t_3, t_1, SCALAR_F32(0x1.fffffep+127f), DIM4(1, 4, 1, 1), NULL, NULL, DT_FP32);
    tpu_bdc_less_select(shares, A_NUMBER(SCALAR_F32(89.0f)), IN_MEMORY(t_1), IN_MEMORY(t_3), IN_MEMORY(t_2), DIM4(1, 4, 1, 1), DT_FP32, DT_FP32);
    const local_addr_t shares_turned = 0x4000;  // 16 float32 in a lane
    tpu_bdc_cw_trans(shares_turned, shares, DIM4(1, 1, 1, 4), DT_FP32);  // mla_decode.py:110
    const local_addr_t total_1 = 0x40;  // 16 float32 in a lane
    tpu_bdc_fp_avg_pool2d(total_1, shares_turned, DIM4(1, 1, 1, 4), DIM2(1, 4), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(1.0f));
    tpu_bdc_cpy(whole, total_1, DIM4(1, 1, 1, 1), NULL, NULL, DT_FP32);
    const local_addr_t Part_1 = 0x8040;  // 512 float32 in a lane
    tpu_gdma_cpy_S2L(Part_1, Part_addr + 4ull * (h * 2048), DIM4(1, 4, 1, 512), NULL, NULL, DT_FP32);  // mla_decode.py:112
    const local_addr_t row_1 = 0x8000;  // 16 float32 in a lane
    tpu_bdc_npu_bcast(row_1, whole, DIM4(1, 64, 1, 1), DT_FP32);
    const local_addr_t t_5 = 0x4000;  // 16 float32 in a lane
    tpu_bdc_fp_div(t_5, shares, row_1, DIM4(1, 4, 1, 1), NULL, NULL, NULL, DT_FP32);
    tpu_bdc_fp_mul(parts, Part_1, t_5, DIM4(1, 4, 1, 512), NULL, NULL, DIM4(0, 16, 0, 0), DT_FP32);
    const local_addr_t parts_turned = 0x4000;  // 128 float32 in a lane
    tpu_bdc_cw_trans(parts_turned, parts, DIM4(1, 512, 1, 4), DT_FP32);  // mla_decode.py:113
    const local_addr_t total_2 = 0x0;  // 128 float32 in a lane
    tpu_bdc_fp_avg_pool2d(total_2, parts_turned, DIM4(1, 512, 1, 4), DIM2(1, 4), NO_PADDING, DIM2(1, 1), DIM2(1, 1), DT_FP32, SCALAR_F32(1.0f));
    const local_addr_t total_turned = 0x4000;  // 512 float32 in a lane
    tpu_bdc_cw_trans(total_turned, total_2, DIM4(1, 1, 1, 512), DT_FP32);
    tpu_bdc_npu_bcast(out_1, total_turned, DIM4(1, 64, 1, 512), DT_FP32);
    const local_addr_t t_7 = 0x8000;  // 512 float16 in a lane
    tpu_bdc_cast(t_7, out_1, DIM4(1, 64, 1, 512), NULL, NULL, DT_FP16, DT_FP32, RM_HALF_TO_EVEN);  // mla_decode.py:114
    const local_addr_t t_8 = 0x4000;  // 512 float16 in a lane
    tpu_bdc_greater_select(t_8, IN_MEMORY(out_1), A_NUMBER(SCALAR_F32(0x1.ffdffep+15f)), A_NUMBER(SCALAR_F16(tc_single(tc_half_bits(0x7c00 /* inf */)))), IN_MEMORY(t_7), DIM4(1, 64, 1, 512), DT_FP32, DT_FP16);
    const local_addr_t t_9 = 0x8000;  // 512 float16 in a lane
    tpu_bdc_greater_select(t_9, A_NUMBER(SCALAR_F32(-0x1.ffdffep+15f)), IN_MEMORY(out_1), A_NUMBER(SCALAR_F16(tc_single(tc_half_bits(0xfc00 /* -inf */)))), IN_MEMORY(t_8), DIM4(1, 64, 1, 512), DT_FP32, DT_FP16);
    tpu_gdma_cpy_L2S(Out_addr + 2ull * (h * 512), t_9, DIM4(1, 1, 1, 512), NULL, NULL, DT_FP16);
  }
  tpu_poll();
  return 0;
}
TPUKERNEL_FUNC_REGISTER(mla_decode_kernel_1)
