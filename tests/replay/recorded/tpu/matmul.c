#include "tilecore_tpu.h"

typedef struct {
  unsigned long long A, B, C;
} matmul_args;

int matmul_kernel(const void* arguments) {
  const matmul_args* args = arguments;
  tpu_initialize();
  const system_addr_t A_addr = args->A;
  const system_addr_t B_addr = args->B;
  const system_addr_t C_addr = args->C;
  const int core = tpu_workitem_index();
  const int bx = core % 2;
  const int by = core / 2;
  const local_addr_t C_local = 0x10000;  // 256 float32 in a lane  // matmul.py:25
  const local_addr_t A_shared = 0x0;  // 8192 float32 in a lane
  const local_addr_t B_shared = 0x8000;  // 8192 float32 in a lane
  tpu_gdma_cpy_S2L(A_shared, A_addr + 4ull * (by * 32768), DIM4(1, 128, 1, 32), NULL, DIM4(0, 256, 0, 1), DT_FP32);  // matmul.py:28
  tpu_gdma_cpy_S2L(B_shared, B_addr + 4ull * (bx * 128), DIM4(1, 32, 1, 128), NULL, DIM4(0, 256, 0, 1), DT_FP32);  // matmul.py:29
  for (int k = 0; k < 8; ++k) {  // matmul.py:27
    tpu_parallel_start();
    if (k + 1 < 8) {
      tpu_gdma_cpy_S2L(A_shared + 4 * ((k + 1) % 2 * 4096), A_addr + 4ull * (by * 32768 + k * 32 + 32), DIM4(1, 128, 1, 32), NULL, DIM4(0, 256, 0, 1), DT_FP32);  // matmul.py:28
      tpu_gdma_cpy_S2L(B_shared + 4 * ((k + 1) % 2 * 4096), B_addr + 4ull * (k * 8192 + bx * 128 + 8192), DIM4(1, 32, 1, 128), NULL, DIM4(0, 256, 0, 1), DT_FP32);  // matmul.py:29
    }
    const local_addr_t part0 = 0x18000;  // 64 bfloat16 in a lane
    tpu_bdc_cast(part0, A_shared + 4 * (k % 2 * 4096), DIM4(1, 128, 1, 32), NULL, NULL, DT_BFP16, DT_FP32, RM_HALF_TO_EVEN);  // matmul.py:30
    const local_addr_t rest = 0x10600;  // 64 float32 in a lane
    tpu_bdc_cast(rest, part0, DIM4(1, 128, 1, 32), NULL, NULL, DT_FP32, DT_BFP16, RM_HALF_TO_EVEN);
    tpu_bdc_fp_sub(rest, A_shared + 4 * (k % 2 * 4096), rest, DIM4(1, 128, 1, 32), NULL, NULL, NULL, DT_FP32);
    const local_addr_t part1 = 0x18080;  // 64 bfloat16 in a lane
    tpu_bdc_cast(part1, rest, DIM4(1, 128, 1, 32), NULL, NULL, DT_BFP16, DT_FP32, RM_HALF_TO_EVEN);
    const local_addr_t rest_1 = 0x14200;  // 64 float32 in a lane
    tpu_bdc_cast(rest_1, part1, DIM4(1, 128, 1, 32), NULL, NULL, DT_FP32, DT_BFP16, RM_HALF_TO_EVEN);
    tpu_bdc_fp_sub(rest_1, rest, rest_1, DIM4(1, 128, 1, 32), NULL, NULL, NULL, DT_FP32);
    const local_addr_t part2 = 0x18300;  // 64 bfloat16 in a lane
    tpu_bdc_cast(part2, rest_1, DIM4(1, 128, 1, 32), NULL, NULL, DT_BFP16, DT_FP32, RM_HALF_TO_EVEN);
    const local_addr_t part0_1 = 0x14000;  // 128 bfloat16 in a lane
    tpu_bdc_cast(part0_1, B_shared + 4 * (k % 2 * 4096), DIM4(1, 32, 1, 128), NULL, NULL, DT_BFP16, DT_FP32, RM_HALF_TO_EVEN);
    const local_addr_t rest_2 = 0x10400;  // 128 float32 in a lane
    tpu_bdc_cast(rest_2, part0_1, DIM4(1, 32, 1, 128), NULL, NULL, DT_FP32, DT_BFP16, RM_HALF_TO_EVEN);
    tpu_bdc_fp_sub(rest_2, B_shared + 4 * (k % 2 * 4096), rest_2, DIM4(1, 32, 1, 128), NULL, NULL, NULL, DT_FP32);
    const local_addr_t part1_1 = 0x14100;  // 128 bfloat16 in a lane
    tpu_bdc_cast(part1_1, rest_2, DIM4(1, 32, 1, 128), NULL, NULL, DT_BFP16, DT_FP32, RM_HALF_TO_EVEN);
    const local_addr_t rest_3 = 0x18100;  // 128 float32 in a lane
    tpu_bdc_cast(rest_3, part1_1, DIM4(1, 32, 1, 128), NULL, NULL, DT_FP32, DT_BFP16, RM_HALF_TO_EVEN);
    tpu_bdc_fp_sub(rest_3, rest_2, rest_3, DIM4(1, 32, 1, 128), NULL, NULL, NULL, DT_FP32);
    const local_addr_t part2_1 = 0x14300;  // 128 bfloat16 in a lane
    tpu_bdc_cast(part2_1, rest_3, DIM4(1, 32, 1, 128), NULL, NULL, DT_BFP16, DT_FP32, RM_HALF_TO_EVEN);
    tpu_bdc_fp_mm(C_local, part2, part0_1, 128, 32, 128, DT_FP32, DT_BFP16, !(k == 0));
    tpu_bdc_fp_mm(C_local, part1, part1_1, 128, 32, 128, DT_FP32, DT_BFP16, true);
    tpu_bdc_fp_mm(C_local, part0, part2_1, 128, 32, 128, DT_FP32, DT_BFP16, true);
    tpu_bdc_fp_mm(C_local, part1, part0_1, 128, 32, 128, DT_FP32, DT_BFP16, true);
    tpu_bdc_fp_mm(C_local, part0, part1_1, 128, 32, 128, DT_FP32, DT_BFP16, true);
    tpu_bdc_fp_mm(C_local, part0, part0_1, 128, 32, 128, DT_FP32, DT_BFP16, true);
    tpu_parallel_end();
  }
  tpu_gdma_cpy_L2S(C_addr + 4ull * (by * 32768 + bx * 128), C_local, DIM4(1, 128, 1, 128), DIM4(0, 256, 0, 1), NULL, DT_FP32);  // matmul.py:31
  tpu_poll();
  return 0;
}
TPUKERNEL_FUNC_REGISTER(matmul_kernel)
