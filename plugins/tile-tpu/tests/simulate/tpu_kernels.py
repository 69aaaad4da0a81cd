"""Kernels in C that run on the simulator and on the vendor's CModel, one for each function of the interface.

A kernel gets six tensors ``g``, integers ``p`` and floats ``f``; p[0..3] is the shape of the first tensor (n, c, h, w),
p[4] and p[5] are data types. Tensors in local memory are some banks apart.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

UINT8, INT8, FP16, FP32, UINT16, INT16, UINT32, INT32, BF16, E5M2, E4M3 = 0, 1, 3, 5, 6, 7, 8, 9, 11, 15, 47

PRELUDE = r"""
#include "tpu_kernel.h"
typedef struct { unsigned long long g[6]; int p[24]; float f[4]; } arguments_t;
#define KERNEL(name) static void name##_body(const arguments_t *q, const int *p, dim4 s, int dt, int dt2); \
  int run_##name(const void *v) { const arguments_t *q = (const arguments_t *)v; const int *p = q->p; \
    dim4 s = {p[0], p[1], p[2], p[3]}; tpu_initialize(); name##_body(q, p, s, p[4], p[5]); tpu_poll(); return 0; } \
  TPUKERNEL_FUNC_REGISTER(run_##name) \
  static void name##_body(const arguments_t *q, const int *p, dim4 s, int dt, int dt2)
#define BANK(i) ((local_addr_t)(i) * (tpu_local_mem_size_per_npu() / tpu_bank_num()))
#define X BANK(0)
#define Y BANK(3)
#define Z BANK(6)
#define W0 BANK(9)
#define W1 BANK(11)
#define CO BANK(13)
#define TB BANK(14)
#define W2 BANK(15)
static void load(local_addr_t to, unsigned long long from, dim4 s, int dt) {
  tpu_gdma_cpy_S2L(to, from, &s, NULL, NULL, dt);
}
static void store(unsigned long long to, local_addr_t from, dim4 s, int dt) {
  tpu_gdma_cpy_L2S(to, from, &s, NULL, NULL, dt);
}
static scalar_t number(float value, int dt) {
  scalar_t s = {.f32 = value};
  return dt == DT_FP32 ? s : tpu_cast(s, dt, DT_FP32, RM_HALF_TO_EVEN);
}
"""

UNARY = ("abs", "neg", "relu", "fp_square", "fp_reciprocal", "fp_floor", "fp_ceil", "cpy")
BINARY = ("fp_add", "fp_sub", "fp_mul", "fp_div", "fp_diff_abs", "max", "min", "and", "or", "xor")
WITH_C = (
    "fp_add_C", "fp_sub_C", "fp_C_sub", "fp_mul_C", "fp_div_C", "fp_C_div", "fp_diff_abs_C", "max_C", "min_C",
    "and_C", "or_C", "xor_C",
)  # fmt: skip
COMPARE = ("greater", "less", "equal", "greater_equal", "less_equal", "not_equal")
INTEGER = ("int_add", "int_sub", "int_mul")
FUNCTIONS = {
    "exp": "tpu_bdc_load_fp_exp_coeff(CO, dt); tpu_bdc_fp_exp(Y, X, W0, W1, CO, &s, dt);",
    "exp_in_place": "tpu_bdc_load_fp_exp_coeff(CO, dt); tpu_bdc_fp_exp(X, X, W0, W1, CO, &s, dt);"
    " tpu_bdc_cpy(Y, X, &s, NULL, NULL, dt);",
    "expm1": "tpu_bdc_load_fp_exp_coeff(CO, dt); tpu_bdc_fp_expm1(Y, X, W0, W1, CO, &s, dt);",
    "log": "tpu_bdc_load_fp_log_coeff(CO, dt); tpu_bdc_fp_log(Y, X, W0, CO, &s, dt);",
    "sigmoid": "tpu_bdc_load_fp_exp_coeff(CO, dt); tpu_bdc_fp_sigmoid(Y, X, W0, W1, CO, TB, &s, dt);",
    "silu": "tpu_bdc_load_fp_exp_coeff(CO, dt); tpu_bdc_fp_silu(Y, X, W0, W1, CO, TB, &s, dt);",
    "tanh": "tpu_bdc_load_fp_exp_coeff(CO, dt); tpu_bdc_fp_tanh(Y, X, W0, W1, CO, &s, dt);",
    "erf": "tpu_bdc_load_fp_exp_coeff(CO, dt); tpu_bdc_load_fp_erf_coeff(TB, dt);"
    " tpu_bdc_fp_erf(Y, X, W0, W1, Z, CO, TB, &s, dt);",
    "gelu": "tpu_bdc_load_fp_exp_coeff(CO, dt); tpu_bdc_load_fp_erf_coeff(TB, dt);"
    " tpu_bdc_fp_gelu(Y, X, W0, W1, Z, W2, CO, TB, &s, dt);",
    "sin": "tpu_bdc_load_fp_sin_coeff(CO, dt); tpu_bdc_fp_sin(Y, X, W0, CO, &s, dt);",
    "cos": "tpu_bdc_load_fp_cos_coeff(CO, dt); tpu_bdc_fp_cos(Y, X, W0, CO, &s, dt);",
    "rsqrt": "tpu_bdc_fp_rsqrt(Y, X, &s, dt);",
    "sqrt": "tpu_bdc_fp_sqrt(Y, X, &s, dt);",
    "round": "tpu_bdc_fp_round(Y, X, &s, NULL, NULL, dt, p[6]);",
    "tunable_C_div": "tpu_bdc_fp_tunable_C_div(Y, X, number(q->f[0], dt), &s, NULL, NULL, dt, p[6]);",
    "not": "tpu_bdc_not(Y, X, &s, NULL, NULL, dt);",
}
BODIES = {
    "cast": "load(X, q->g[0], s, dt); tpu_bdc_cast(Z, X, &s, NULL, NULL, dt2, dt, p[6]); store(q->g[1], Z, s, dt2);",
    "set_C": "tpu_bdc_set_C(Z, number(q->f[0], dt), &s, NULL, dt); store(q->g[0], Z, s, dt);",
    # strides: even and odd elements, rotated halves
    "even_odd": "load(X, q->g[0], s, dt); dim4 h = {s.n, s.c, s.h, s.w / 2}, r; tpu_aligned_stride(&r, 0, &s, dt);"
    " r.w = 2; tpu_bdc_fp_add(Z, X, X + tpu_data_type_size(dt), &h, NULL, &r, &r, dt); store(q->g[1], Z, h, dt);",
    "row_bcast": "dim4 one = {s.n, s.c, s.h, 1}, r; load(X, q->g[0], s, dt); load(Y, q->g[1], one, dt);"
    " tpu_aligned_stride(&r, 0, &one, dt); r.w = 0; tpu_bdc_fp_mul(Z, X, Y, &s, NULL, NULL, &r, dt);"
    " store(q->g[2], Z, s, dt);",
    "column_bcast": "dim4 one = {1, 1, 1, s.w}, all = {1, tpu_npu_num(), 1, s.w}, r; load(X, q->g[0], s, dt);"
    " load(Y, q->g[1], one, dt); if (s.c < all.c) all.c = s.c; tpu_bdc_npu_bcast(W0, Y, &all, dt);"
    " tpu_aligned_stride(&r, 0, &one, dt); r.c = 0; r.n = 0;"
    " tpu_bdc_fp_add(Z, X, W0, &s, NULL, NULL, &r, dt); store(q->g[2], Z, s, dt);",
    "dma_bcast": "dim4 one = {0, 0, s.w, 1}, all = {1, tpu_npu_num(), 1, s.w}, r; load(X, q->g[0], s, dt);"
    " if (s.c < all.c) all.c = s.c; tpu_gdma_channel_bcast_S2L(Y, q->g[1], &all, NULL, NULL, dt); (void)one;"
    " tpu_aligned_stride(&r, 0, &all, dt); r.c = 0; r.n = 0;"
    " tpu_bdc_fp_add(Z, X, Y, &s, NULL, NULL, &r, dt); store(q->g[2], Z, s, dt);",
    # rows p[6] on of a tile, p[7] of them, through another lane
    "rows": "dim4 part = {1, p[7], 1, s.w}, r; load(X, q->g[0], s, dt); tpu_aligned_stride(&r, 0, &s, dt);"
    " local_addr_t from = X + tpu_unified_c_offset(p[6], r.c, dt);"
    " tpu_gdma_cpy_L2L(Y, from, &part, NULL, &r, dt); store(q->g[1], Y, part, dt);",
    "cross_npu": "dim4 part = {1, p[7], 1, s.w}; load(X, q->g[0], s, dt);"
    " tpu_bdc_cpy_cross_npu(Y, X + p[6] * tpu_local_mem_size_per_npu(), &part, dt); store(q->g[1], Y, part, dt);",
    "cw_trans": "dim4 t = {s.n, s.w, s.h, s.c}; load(X, q->g[0], s, dt); tpu_bdc_cw_trans(Y, X, &t, dt);"
    " store(q->g[1], Y, t, dt);",
    "wc_trans": "dim4 t = {s.n, s.w, s.h, s.c}; load(X, q->g[0], s, dt); tpu_bdc_wc_trans(Y, X, &t, dt);"
    " store(q->g[1], Y, t, dt);",
    "gdma_cw_S2L": "dim4 t = {s.n, s.w, s.h, s.c}; tpu_gdma_cpy_cw_trans_S2L(Y, q->g[0], &t, NULL, NULL, dt);"
    " store(q->g[1], Y, t, dt);",
    "gdma_cw_L2S": "dim4 t = {s.n, s.w, s.h, s.c}; load(X, q->g[0], s, dt);"
    " tpu_gdma_cpy_cw_trans_L2S(q->g[1], X, &t, NULL, NULL, dt);",
    "gdma_nc_S2L": "dim4 t = {s.c, s.n, s.h, s.w}; tpu_gdma_cpy_nc_trans_S2L(Y, q->g[0], &t, NULL, NULL, dt);"
    " store(q->g[1], Y, t, dt);",
    "gdma_nc_L2L": "dim4 t = {s.c, s.n, s.h, s.w}; load(X, q->g[0], s, dt);"
    " tpu_gdma_cpy_nc_trans_L2L(Y, X, &t, NULL, NULL, dt); store(q->g[1], Y, t, dt);",
    "compact": "dim4 r; load(X, q->g[0], s, dt); tpu_gdma_compact_S2L(Y, q->g[0], &s, dt);"
    " tpu_compact_stride(&r, 0, &s); tpu_bdc_fp_add(Z, X, Y, &s, &r, NULL, &r, dt);"
    " tpu_gdma_compact_L2S(q->g[1], Z, &s, dt);",
    "line_aligned": "dim4 r; tpu_line_aligned_stride(&r, 0, &s, dt); tpu_gdma_cpy_S2L(X, q->g[0], &s, &r, NULL, dt);"
    " tpu_bdc_fp_mul(Y, X, X, &s, NULL, &r, &r, dt); store(q->g[1], Y, s, dt);",
    "s2s": "tpu_gdma_cpy_S2S(tpu_l2_sram_get_start_addr(), q->g[0], &s, NULL, NULL, dt); tpu_poll();"
    " tpu_sdma_cpy_S2S(q->g[1], tpu_l2_sram_get_start_addr(), &s, NULL, NULL, dt);",
    "fills": "scalar_t c = number(q->f[0], dt); tpu_gdma_set_C_local(X, c, &s, NULL, dt); store(q->g[0], X, s, dt);"
    " tpu_gdma_set_C_system(q->g[1], c, &s, NULL, dt); tpu_gdma_system_set(q->g[2], c, p[6], dt);"
    " tpu_gdma_system_cpy(q->g[3], q->g[2], p[6], dt);",
    "strided_dma": "dim4 g = {p[6], p[7], p[8], p[9]}; tpu_gdma_cpy_S2L(X, q->g[0], &s, NULL, &g, dt);"
    " store(q->g[1], X, s, dt);",
    # products: p[6] x p[7] times p[7] x p[8]; p[9]: add
    "mm": "dim4 a = {1, p[6], 1, p[7]}, b = {1, p[7], 1, p[8]}, c = {1, p[6], 1, p[8]}; load(X, q->g[0], a, dt);"
    " load(Y, q->g[1], b, dt); load(Z, q->g[2], c, dt2); tpu_bdc_fp_mm(Z, X, Y, p[6], p[7], p[8], dt2, dt, p[9]);"
    " store(q->g[2], Z, c, dt2);",
    "mm_R_trans": "dim4 a = {1, p[6], 1, p[7]}, b = {1, p[8], 1, p[7]}, c = {1, p[6], 1, p[8]};"
    " load(X, q->g[0], a, dt); load(Y, q->g[1], b, dt);"
    " tpu_bdc_fp_mm_R_trans(Z, X, Y, p[6], p[7], p[8], dt2, dt); store(q->g[2], Z, c, dt2);",
    "mm_R_trans_add": "dim4 a = {1, p[6], 1, p[7]}, b = {1, p[8], 1, p[7]}, c = {1, p[6], 1, p[8]};"
    " var_context_t none = {0}; load(X, q->g[0], a, dt); load(Y, q->g[1], b, dt); load(Z, q->g[2], c, dt2);"
    " tpu_bdc_fp_mm_R_trans_with_bias(Z, X, Y, p[6], p[7], p[8], dt2, dt, DT_FP32, true, true, none, p[9]);"
    " store(q->g[2], Z, c, dt2);",
    "mm_all_trans": "dim4 a = {1, p[7], 1, p[6]}, b = {1, p[8], 1, p[7]}, c = {1, p[8], 1, p[6]};"
    " load(X, q->g[0], a, dt); load(Y, q->g[1], b, dt); load(Z, q->g[2], c, dt2);"
    " tpu_bdc_fp_mm_all_trans(Z, X, Y, p[7], p[6], p[8], dt2, dt, p[9]); store(q->g[2], Z, c, dt2);",
    "fp8_mm": "dim4 a = {1, p[6], 1, p[7]}, b = {1, p[7], 1, p[8]}, c = {1, p[6], 1, p[8]}; var_context_t none = {0};"
    " load(X, q->g[0], a, dt); load(Y, q->g[1], b, p[10]); load(Z, q->g[2], c, dt2);"
    " tpu_bdc_fp8_mm(Z, X, Y, p[6], p[7], p[8], dt2, dt, p[10], p[9], false, true, none); store(q->g[2], Z, c, dt2);",
    "fp8_mm_R_trans": "dim4 a = {1, p[6], 1, p[7]}, b = {1, p[8], 1, p[7]}, c = {1, p[6], 1, p[8]};"
    " var_context_t none = {0}; load(X, q->g[0], a, dt); load(Y, q->g[1], b, p[10]); load(Z, q->g[2], c, dt2);"
    " tpu_bdc_fp8_mm_R_trans(Z, X, Y, p[6], p[7], p[8], dt2, dt, p[10], p[9], false, true, none);"
    " store(q->g[2], Z, c, dt2);",
    "fp32_mm": "tpu_gdma_matrix_S2L(X, q->g[0], p[6], p[7], p[10], p[7], dt);"
    " tpu_gdma_matrix_S2L(Y, q->g[1], p[7], p[8], p[11], p[8], dt);"
    " if (p[9]) tpu_gdma_matrix_S2L(Z, q->g[2], p[6], p[8], p[11], p[8], dt);"
    " tpu_bdc_fp32_mm(Z, X, Y, 0, p[6], p[7], p[8], p[10], p[11], false, p[9]);"
    " tpu_gdma_matrix_L2S(q->g[2], Z, p[6], p[8], p[11], p[8], dt);",
    "int8_mm": "dim4 a = {1, p[6], 1, p[7]}, b = {1, p[7], 1, p[8]}, c = {1, p[6], 1, p[8]}; scalar_t zp = {0};"
    " zp.s32 = p[10]; load(X, q->g[0], a, dt); load(Y, q->g[1], b, dt2); load(Z, q->g[2], c, DT_INT32);"
    " tpu_bdc_int8_zp_mm(Z, X, Y, zp, p[6], p[7], p[8], dt, dt2, p[9]); store(q->g[2], Z, c, DT_INT32);",
    # pooling with kernel p[6] x p[7]
    "max_pool": "dim2 k = {p[6], p[7]}, one = {1, 1}; padding_t pad = {0}; scalar_t v = {.u32 = FP_NEG_MAX(dt)};"
    " dim4 o = {s.n, s.c, s.h - p[6] + 1, s.w - p[7] + 1}; load(X, q->g[0], s, dt);"
    " tpu_bdc_fp_max_pool2d(Z, X, &s, &k, &pad, &one, &one, dt, v); store(q->g[1], Z, o, dt);",
    "min_pool": "dim2 k = {p[6], p[7]}, one = {1, 1}; padding_t pad = {0}; scalar_t v = {.u32 = FP_MAX(dt)};"
    " dim4 o = {s.n, s.c, s.h - p[6] + 1, s.w - p[7] + 1}; load(X, q->g[0], s, dt);"
    " tpu_bdc_fp_min_pool2d(Z, X, &s, &k, &pad, &one, &one, dt, v); store(q->g[1], Z, o, dt);",
    "avg_pool": "dim2 k = {p[6], p[7]}, one = {1, 1}; padding_t pad = {0};"
    " dim4 o = {s.n, s.c, s.h - p[6] + 1, s.w - p[7] + 1}; load(X, q->g[0], s, dt);"
    " tpu_bdc_fp_avg_pool2d(Z, X, &s, &k, &pad, &one, &one, dt, number(q->f[0], dt)); store(q->g[1], Z, o, dt);",
    "avg_pool_ex": "dim2 k = {p[6], p[7]}, one = {1, 1}, none = {0, 0}; padding_t pad = {0};"
    " dim4 o = {s.n, s.c, s.h - p[6] + 1, s.w - p[7] + 1}; load(X, q->g[0], s, dt);"
    " tpu_bdc_fp_avg_pool2d_ex(Z, X, &s, &k, &pad, &one, &one, &none, dt, dt2, number(q->f[0], dt));"
    " store(q->g[1], Z, o, dt2);",
    "padded_pool": "dim2 k = {2, 3}, st = {2, 2}, dl = {1, 2}; padding_t pad = {1, 0, 2, 1};"
    " scalar_t v = {.u32 = FP_NEG_MAX(dt)}; dim4 o = {s.n, s.c, (s.h + 1 - 2) / 2 + 1, (s.w + 3 - 5) / 2 + 1};"
    " load(X, q->g[0], s, dt); tpu_bdc_fp_max_pool2d(Z, X, &s, &k, &pad, &st, &dl, dt, v); store(q->g[1], Z, o, dt);"
    " tpu_bdc_fp_avg_pool2d(Y, X, &s, &k, &pad, &st, &dl, dt, number(0.25f, dt)); store(q->g[2], Y, o, dt);",
    # iota and gathers
    "iota_bcast": "tpu_bdc_arithmetic_sequence_bcast(X, tpu_npu_num(), p[6], p[7], p[8]);"
    " dim4 o = {1, tpu_npu_num(), 1, p[8]}; store(q->g[0], X, o, DT_INT32);",
    "iota_distribute": "tpu_bdc_arithmetic_sequence_distribute(X, p[6], p[7], p[8]); dim4 o = {1, p[8], 1, 1}, r;"
    " tpu_compact_stride(&r, 0, &o); tpu_gdma_cpy_L2S(q->g[0], X, &o, NULL, &r, DT_INT32);",
    "h_gather_S2S": "tpu_gdma_h_gather_S2S(q->g[2], q->g[0], q->g[1], false, number(q->f[0], dt), &s, p[6], NULL, NULL,"
    " NULL, dt);",
    "h_gather_S2L": "tpu_gdma_h_gather_S2L(Z, q->g[0], q->g[1], false, number(q->f[0], dt), &s, p[6], NULL, NULL, NULL,"
    " dt); store(q->g[2], Z, s, dt);",
    "h_scatter_S2S": "tpu_gdma_h_scatter_S2S(q->g[2], q->g[0], q->g[1], false, &s, p[6], NULL, NULL, NULL, dt);",
    "batch_w_gather": "dim4 t = {1, s.c, 1, p[6]}; load(X, q->g[0], t, dt); load(Y, q->g[1], s, dt2);"
    " tpu_bdc_batch_bcast_w_gather(Z, X, Y, &s, p[6], dt, dt2, false); store(q->g[2], Z, s, dt);",
    "batch_h_gather": "dim4 t = {1, s.c, p[6], s.w}, i = {s.n, s.c, s.h, 1}, rt, rs;"
    " tpu_line_aligned_stride(&rt, 0, &t, dt);"
    " tpu_line_aligned_stride(&rs, 0, &s, dt); tpu_gdma_cpy_S2L(X, q->g[0], &t, &rt, NULL, dt);"
    " load(Y, q->g[1], i, dt2);"
    " tpu_bdc_batch_bcast_h_gather(Z, X, Y, &s, p[6], dt, dt2, false);"
    " tpu_gdma_cpy_L2S(q->g[2], Z, &s, NULL, &rs, dt);",
    "sort": "tpu_hau_sort_natural_index(q->g[1], q->g[2], q->g[0], p[6], p[7], p[8], dt); tpu_hau_poll();",
    "shift": "load(X, q->g[0], s, dt); load(Y, q->g[1], s, DT_INT8);"
    " if (p[7]) tpu_bdc_arithmetic_shift(Z, X, Y, &s, NULL, NULL, NULL, dt2, dt, DT_INT8, p[6]);"
    " else tpu_bdc_logical_shift(Z, X, Y, &s, NULL, NULL, NULL, dt2, dt, DT_INT8, p[6]); store(q->g[2], Z, s, dt2);",
    "shift_C": "load(X, q->g[0], s, dt);"
    " if (p[7]) tpu_bdc_arithmetic_shift_C(Z, X, p[8], &s, NULL, NULL, dt2, dt, p[6]);"
    " else tpu_bdc_logical_shift_C(Z, X, p[8], &s, NULL, NULL, dt2, dt, p[6]); store(q->g[1], Z, s, dt2);",
    "cores": "int i = tpu_workitem_index(); dim4 row = {1, 1, 1, s.w};"
    " scalar_t c = {.s32 = 100 * tpu_workitem_num() + i};"
    " tpu_bdc_set_C(X, c, &row, NULL, DT_INT32);"
    " store(q->g[0] + (unsigned long long)i * s.w * 4, X, row, DT_INT32);",
    "pipeline": "int tiles = p[6]; unsigned long long tile = (unsigned long long)s.c * s.w * tpu_data_type_size(dt);"
    " local_addr_t in[2] = {X, Y}, out[2] = {Z, W0}; scalar_t one = number(1, dt);"
    " for (int t = 0; t < tiles + 2; ++t) { tpu_parallel_start();"
    " if (t < tiles) load(in[t & 1], q->g[0] + t * tile, s, dt);"
    " if (t >= 1 && t <= tiles) tpu_bdc_fp_add_C(out[(t - 1) & 1], in[(t - 1) & 1], one, &s, NULL, NULL, dt);"
    " if (t >= 2) store(q->g[1] + (t - 2) * tile, out[t & 1], s, dt); tpu_parallel_end(); }",
}  # fmt: skip
for _op in ("greater_select", "less_select", "equal_select"):
    BODIES[_op] = (
        "load(X, q->g[0], s, dt); load(Y, q->g[1], s, dt);"
        " variable_t a = {.type = TENSOR, .context = {.addr = X}}, b = {.type = TENSOR, .context = {.addr = Y}},"
        " d = {.type = SCALAR, .context = {.scalar = number(q->f[0], dt)}};"
        f" tpu_bdc_{_op}(Z, &a, &b, &a, &d, &s, dt, dt); store(q->g[2], Z, s, dt);"
    )


def _bodies() -> dict[str, str]:
    bodies = dict(BODIES)
    for op in UNARY:
        bodies[op] = f"load(X, q->g[0], s, dt); tpu_bdc_{op}(Y, X, &s, NULL, NULL, dt); store(q->g[1], Y, s, dt);"
    for op in BINARY:
        bodies[op] = (
            "load(X, q->g[0], s, dt); load(Y, q->g[1], s, dt);"
            f" tpu_bdc_{op}(Z, X, Y, &s, NULL, NULL, NULL, dt); store(q->g[2], Z, s, dt);"
        )
    for op in WITH_C:
        bodies[op] = (
            "scalar_t c; if (tpu_is_data_type_fp(dt)) c = number(q->f[0], dt); else c.s32 = p[6];"
            f" load(X, q->g[0], s, dt); tpu_bdc_{op}(Z, X, c, &s, NULL, NULL, dt); store(q->g[1], Z, s, dt);"
        )
    for op in COMPARE:
        bodies[op] = (
            "scalar_t yes; yes.s32 = 1; if (tpu_is_data_type_fp(dt2)) yes = number(1, dt2);"
            " load(X, q->g[0], s, dt); load(Y, q->g[1], s, dt);"
            f" tpu_bdc_{op}(Z, X, Y, yes, &s, NULL, NULL, NULL, dt2, dt); store(q->g[2], Z, s, dt2);"
        )
        bodies[f"{op}_C"] = (
            "scalar_t yes, c; yes.s32 = 1; if (tpu_is_data_type_fp(dt2)) yes = number(1, dt2); c.s32 = p[6];"
            " if (tpu_is_data_type_fp(dt)) c = number(q->f[0], dt); load(X, q->g[0], s, dt);"
            f" tpu_bdc_{op}_C(Z, X, c, yes, &s, NULL, NULL, dt2, dt); store(q->g[1], Z, s, dt2);"
        )
    for op in INTEGER:
        bodies[op] = (
            "load(X, q->g[0], s, dt); load(Y, q->g[1], s, dt);"
            f" tpu_bdc_{op}(Z, X, Y, &s, NULL, NULL, NULL, dt2, dt, dt, p[7], p[8], p[9]); store(q->g[2], Z, s, dt2);"
        )
        bodies[f"{op}_C"] = (
            "scalar_t c; c.s32 = p[6]; load(X, q->g[0], s, dt);"
            f" tpu_bdc_{op}_C(Z, X, c, &s, NULL, NULL, dt2, dt, dt, p[7], p[8], p[9]); store(q->g[1], Z, s, dt2);"
        )
    for name, text in FUNCTIONS.items():
        bodies[name] = f"load(X, q->g[0], s, dt); {text} store(q->g[1], Y, s, dt);"
    return bodies


def source(names: Sequence[str] | None = None) -> str:
    """The C source of all kernels, or of some."""
    bodies = _bodies()
    return PRELUDE + "\n".join(f"KERNEL({name}) {{ {bodies[name]} }}" for name in names or bodies) + "\n"


class Numbers(ctypes.Structure):
    _fields_ = [("p", ctypes.c_int * 24), ("f", ctypes.c_float * 4)]


def numbers(p: Sequence[int], f: Sequence[float] = ()) -> list[ctypes._SimpleCData]:
    """The scalars of the struct, one by one."""
    whole, real = [*p, *[0] * (24 - len(p))], [*f, *[0.0] * (4 - len(f))]
    return [*(ctypes.c_int(int(value)) for value in whole), *(ctypes.c_float(value) for value in real)]


def six(arrays: Sequence[np.ndarray]) -> list:
    """The six addresses: those of the arrays, then zeros."""
    return [*arrays, *(ctypes.c_uint64(0) for _ in range(6 - len(arrays)))]
