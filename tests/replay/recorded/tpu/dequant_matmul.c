#include "tilecore_tpu.h"

typedef struct {
  unsigned long long A, W, Scale, Zero, C, Part;
} dequant_matmul_split_kernel_0_args;

int dequant_matmul_split_kernel_0(const void* arguments) {
  const dequant_matmul_split_kernel_0_args* args = arguments;
  tpu_initialize();
  const system_addr_t A_addr = args->A;
  const system_addr_t W_addr = args->W;
  const system_addr_t Scale_addr = args->Scale;
  const system_addr_t Zero_addr = args->Zero;
  const system_addr_t Part_addr = args->Part;
  const int core = tpu_workitem_index();
  const int bx = core % 4;
  const int split = core / 4;
  const local_addr_t C_local = 0xc000;  // 16 float32 in a lane  // dequant_matmul.py:92
  const local_addr_t Scale_shared = 0x8100;  // 32 float16 in a lane  // dequant_matmul.py:47
  const local_addr_t Zero_shared = 0x8140;  // 32 float16 in a lane  // dequant_matmul.py:48
  const local_addr_t W_local = 0x8000;  // 128 float16 in a lane  // dequant_matmul.py:49
  tpu_gdma_cpy_S2L(Scale_shared, Scale_addr + 2ull * (bx * 256 + split * 2), DIM4(1, 64, 1, 2), NULL, DIM4(0, 4, 0, 1), DT_FP16);  // dequant_matmul.py:50
  tpu_gdma_cpy_S2L(Zero_shared, Zero_addr + 2ull * (bx * 256 + split * 2), DIM4(1, 64, 1, 2), NULL, DIM4(0, 4, 0, 1), DT_FP16);  // dequant_matmul.py:51
  const local_addr_t W_packed = 0x10000;  // 32768 uint8 in a lane
  const local_addr_t A_shared = 0x0;  // 16384 float16 in a lane
  tpu_gdma_cpy_S2L(W_packed, W_addr + (bx * 8192 + split * 64), DIM4(1, 64, 1, 64), NULL, DIM4(0, 128, 0, 1), DT_UINT8);  // dequant_matmul.py:55
  tpu_gdma_cpy_S2L(A_shared, A_addr + 2ull * (split * 128), DIM4(1, 16, 1, 128), NULL, DIM4(0, 256, 0, 1), DT_FP16);  // dequant_matmul.py:56
  for (int step = 0; step < 1; ++step) {  // dequant_matmul.py:53
    tpu_poll();
    for (int i = 0; i < 64; ++i) {  // dequant_matmul.py:57
      for (int j = 0; j < 128; ++j) {
        const int q = ((int)ELEMENT(unsigned char, W_packed, i % 64, step % 2 * 16384 + i / 64 * 64 + j / 2) >> (j % 2 * 4)) & 15;  // dequant_matmul.py:58
        const tc_half number = tc_bits_float16((unsigned short)(unsigned short)(q | 25600));  // dequant_matmul.py:59
        ELEMENT(tc_half, W_local, i % 64, i / 64 * 128 + j) = tc_half_from(tc_single(tc_half_from(tc_single(number) - tc_single(tc_half_from(tc_single(ELEMENT(tc_half, Zero_shared, i % 64, i / 64 * 32 + (step * 128 + j) / 64)) + tc_single(tc_half_bits(0x6400 /* 1024 */)))))) * tc_single(ELEMENT(tc_half, Scale_shared, i % 64, i / 64 * 32 + (step * 128 + j) / 64)));  // dequant_matmul.py:61
      }
    }
    tpu_parallel_start();
    if (step + 1 < 1) {  // dequant_matmul.py:53
      tpu_gdma_cpy_S2L(W_packed + (step + 1) % 2 * 16384, W_addr + (bx * 8192 + split * 64), DIM4(1, 64, 1, 64), NULL, DIM4(0, 128, 0, 1), DT_UINT8);  // dequant_matmul.py:55
      tpu_gdma_cpy_S2L(A_shared + 2 * ((step + 1) % 2 * 8192), A_addr + 2ull * (split * 128), DIM4(1, 16, 1, 128), NULL, DIM4(0, 256, 0, 1), DT_FP16);  // dequant_matmul.py:56
    }
    tpu_bdc_fp_mm_R_trans_with_bias(C_local, W_local, A_shared + 2 * (step % 2 * 8192), 64, 128, 16, DT_FP32, DT_FP16, DT_FP32, !(step == 0), true, (var_context_t){0}, false);  // dequant_matmul.py:62
    tpu_parallel_end();
  }
  tpu_gdma_cpy_L2S(Part_addr + 4ull * (split * 4096 + bx * 64), C_local, DIM4(1, 64, 16, 1), DIM4(0, 1, 256, 1), NULL, DT_FP32);  // dequant_matmul.py:95
  tpu_poll();
  return 0;
}
TPUKERNEL_FUNC_REGISTER(dequant_matmul_split_kernel_0)

typedef struct {
  unsigned long long A, W, Scale, Zero, C, Part;
} dequant_matmul_split_kernel_1_args;

int dequant_matmul_split_kernel_1(const void* arguments) {
  const dequant_matmul_split_kernel_1_args* args = arguments;
  tpu_initialize();
  const system_addr_t C_addr = args->C;
  const system_addr_t Part_addr = args->Part;
  const int core = tpu_workitem_index();
  for (int turn = 0; turn < 2; ++turn) {
    const int block = turn * 8 + (turn % 2 == 0 ? core : 7 - core);
    const int row = block;
    const local_addr_t total = 0x0;  // 16 float32 in a lane  // dequant_matmul.py:97
    tpu_bdc_set_C(total, SCALAR_F32(0.0f), DIM4(1, 64, 1, 4), NULL, DT_FP32);  // dequant_matmul.py:98
    for (int split_1 = 0; split_1 < 2; ++split_1) {  // dequant_matmul.py:99
      const local_addr_t Part_1 = 0x4000;  // 16 float32 in a lane
      tpu_gdma_cpy_S2L(Part_1, Part_addr + 4ull * (split_1 * 4096 + row * 256), DIM4(1, 64, 1, 4), NULL, NULL, DT_FP32);  // dequant_matmul.py:101
      tpu_bdc_fp_add(total, total, Part_1, DIM4(1, 64, 1, 4), NULL, NULL, NULL, DT_FP32);
    }
    const local_addr_t t_1 = 0x8000;  // 32 float16 in a lane
    tpu_bdc_cast(t_1, total, DIM4(1, 64, 1, 4), NULL, NULL, DT_FP16, DT_FP32, RM_HALF_TO_EVEN);  // dequant_matmul.py:102
    const local_addr_t t_2 = 0x4000;  // 32 float16 in a lane
    tpu_bdc_greater_select(t_2, IN_MEMORY(total), A_NUMBER(SCALAR_F32(0x1.ffdffep+15f)), A_NUMBER(SCALAR_F16(tc_single(tc_half_bits(0x7c00 /* inf */)))), IN_MEMORY(t_1), DIM4(1, 64, 1, 4), DT_FP32, DT_FP16);
    const local_addr_t t_3 = 0x8000;  // 32 float16 in a lane
    tpu_bdc_greater_select(t_3, A_NUMBER(SCALAR_F32(-0x1.ffdffep+15f)), IN_MEMORY(total), A_NUMBER(SCALAR_F16(tc_single(tc_half_bits(0xfc00 /* -inf */)))), IN_MEMORY(t_2), DIM4(1, 64, 1, 4), DT_FP32, DT_FP16);
    tpu_gdma_cpy_L2S(C_addr + 2ull * (row * 256), t_3, DIM4(1, 64, 1, 4), NULL, NULL, DT_FP16);
  }
  tpu_poll();
  return 0;
}
TPUKERNEL_FUNC_REGISTER(dequant_matmul_split_kernel_1)
