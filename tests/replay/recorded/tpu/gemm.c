#include "tilecore_tpu.h"

typedef struct {
  unsigned long long A, B, C;
} gemm_args;

int gemm_kernel(const void* arguments) {
  const gemm_args* args = arguments;
  tpu_initialize();
  const system_addr_t A_addr = args->A;
  const system_addr_t B_addr = args->B;
  const system_addr_t C_addr = args->C;
  const int core = tpu_workitem_index();
  const int bx = core % 3;
  const int by = core / 3;
  const local_addr_t C_local = 0x0;  // 256 float32 in a lane  // gemm.py:76
  const local_addr_t A_shared = 0x4000;  // 16384 float16 in a lane
  const local_addr_t B_shared = 0xc000;  // 16384 float16 in a lane
  if (0 < by) {  // gemm.py:66
    tpu_bdc_set_C(A_shared, SCALAR_F16(tc_single(tc_half_bits(0x0000 /* 0 */))), DIM4(1, 128, 1, 64), NULL, DT_FP16);
  }
  if (1 < bx) {  // gemm.py:70
    tpu_bdc_set_C(B_shared, SCALAR_F16(tc_single(tc_half_bits(0x0000 /* 0 */))), DIM4(1, 64, 1, 128), NULL, DT_FP16);
  }
  if (by < 2) {  // gemm.py:66
    tpu_gdma_cpy_S2L(A_shared, A_addr + 2ull * (by * 17408), DIM4(1, 200 - tc_max(by * 128, 72), 1, 64), NULL, DIM4(0, 136, 0, 1), DT_FP16);
  }
  if (bx < 3) {  // gemm.py:70
    tpu_gdma_cpy_S2L(B_shared, B_addr + 2ull * (bx * 128), DIM4(1, 64, 1, 264 - tc_max(bx * 128, 136)), DIM4(0, 128, 0, 1), DIM4(0, 264, 0, 1), DT_FP16);
  }
  for (int step = 0; step < 3; ++step) {  // gemm.py:61
    if (step + 1 < 3) {
      if (0 < by || 0 < step) {  // gemm.py:66
        tpu_bdc_set_C(A_shared + 2 * ((step + 1) % 2 * 8192), SCALAR_F16(tc_single(tc_half_bits(0x0000 /* 0 */))), DIM4(1, 128, 1, 64), NULL, DT_FP16);
      }
      if (0 < step || 1 < bx) {  // gemm.py:70
        tpu_bdc_set_C(B_shared + 2 * ((step + 1) % 2 * 8192), SCALAR_F16(tc_single(tc_half_bits(0x0000 /* 0 */))), DIM4(1, 64, 1, 128), NULL, DT_FP16);
      }
    }
    tpu_parallel_start();
    if (step + 1 < 3) {  // gemm.py:61
      if (by < 2 && step < 2) {  // gemm.py:66
        tpu_gdma_cpy_S2L(A_shared + 2 * ((step + 1) % 2 * 8192), A_addr + 2ull * (by * 17408 + step * 64 + 64), DIM4(1, 200 - tc_max(by * 128, 72), 1, 136 - tc_max(step * 64 + 64, 72)), DIM4(0, 64, 0, 1), DIM4(0, 136, 0, 1), DT_FP16);
      }
      if (step < 2 && bx < 3) {  // gemm.py:70
        tpu_gdma_cpy_S2L(B_shared + 2 * ((step + 1) % 2 * 8192), B_addr + 2ull * (step * 16896 + bx * 128 + 16896), DIM4(1, 136 - tc_max(step * 64 + 64, 72), 1, 264 - tc_max(bx * 128, 136)), DIM4(0, 128, 0, 1), DIM4(0, 264, 0, 1), DT_FP16);
      }
    }
    tpu_bdc_fp_mm(C_local, A_shared + 2 * (step % 2 * 8192), B_shared + 2 * (step % 2 * 8192), 128, 64, 128, DT_FP32, DT_FP16, !(step == 0));  // gemm.py:71
    tpu_parallel_end();
  }
  const local_addr_t t = 0x8000;  // 256 float16 in a lane
  tpu_bdc_cast(t, C_local, DIM4(1, 128, 1, 128), NULL, NULL, DT_FP16, DT_FP32, RM_HALF_TO_EVEN);  // gemm.py:79
  const local_addr_t t_1 = 0x4000;  // 256 float16 in a lane
  tpu_bdc_greater_select(t_1, IN_MEMORY(C_local), A_NUMBER(SCALAR_F32(0x1.ffdffep+15f)), A_NUMBER(SCALAR_F16(tc_single(tc_half_bits(0x7c00 /* inf */)))), IN_MEMORY(t), DIM4(1, 128, 1, 128), DT_FP32, DT_FP16);
  const local_addr_t t_2 = 0x8000;  // 256 float16 in a lane
  tpu_bdc_greater_select(t_2, A_NUMBER(SCALAR_F32(-0x1.ffdffep+15f)), IN_MEMORY(C_local), A_NUMBER(SCALAR_F16(tc_single(tc_half_bits(0xfc00 /* -inf */)))), IN_MEMORY(t_1), DIM4(1, 128, 1, 128), DT_FP32, DT_FP16);
  if (200 - tc_max(by * 128, 72) > 0 && 264 - tc_max(bx * 128, 136) > 0) {
    tpu_gdma_cpy_L2S(C_addr + 2ull * (by * 33792 + bx * 128), t_2, DIM4(1, 200 - tc_max(by * 128, 72), 1, 264 - tc_max(bx * 128, 136)), DIM4(0, 264, 0, 1), DIM4(256, 128, 128, 1), DT_FP16);
  }
  tpu_poll();
  return 0;
}
TPUKERNEL_FUNC_REGISTER(gemm_kernel)
