/* DMA and sorting; included by tpu_kernel.h. S: system memory, that is DDR or L2; L: local memory. */

#define TPU_COPY(name, to, from)                                                                              \
  void name(to dst_addr, from src_addr, const dim4 *shape, const dim4 *dst_stride, const dim4 *src_stride, \
            data_type_t dtype);
TPU_COPY(tpu_gdma_cpy_S2L, local_addr_t, system_addr_t)
TPU_COPY(tpu_gdma_cpy_L2S, system_addr_t, local_addr_t)
TPU_COPY(tpu_gdma_cpy_L2L, local_addr_t, local_addr_t)
TPU_COPY(tpu_gdma_cpy_S2S, system_addr_t, system_addr_t)
/* shape is that of dst: its n and c are src's c and n */
TPU_COPY(tpu_gdma_cpy_nc_trans_S2L, local_addr_t, system_addr_t)
TPU_COPY(tpu_gdma_cpy_nc_trans_L2S, system_addr_t, local_addr_t)
TPU_COPY(tpu_gdma_cpy_nc_trans_L2L, local_addr_t, local_addr_t)
TPU_COPY(tpu_gdma_cpy_nc_trans_S2S, system_addr_t, system_addr_t)
/* its c and w are src's w and c */
TPU_COPY(tpu_gdma_cpy_cw_trans_S2L, local_addr_t, system_addr_t)
TPU_COPY(tpu_gdma_cpy_cw_trans_L2S, system_addr_t, local_addr_t)
TPU_COPY(tpu_gdma_cpy_cw_trans_L2L, local_addr_t, local_addr_t)
TPU_COPY(tpu_gdma_cpy_cw_trans_S2S, system_addr_t, system_addr_t)
/* src has one channel, which every lane of dst gets */
TPU_COPY(tpu_gdma_channel_bcast_S2L, local_addr_t, system_addr_t)
TPU_COPY(tpu_gdma_channel_bcast_L2L, local_addr_t, local_addr_t)
TPU_COPY(tpu_sdma_cpy_S2S, system_addr_t, system_addr_t)
#undef TPU_COPY

void tpu_gdma_compact_S2L(local_addr_t dst_addr, system_addr_t src_addr, const dim4 *shape, data_type_t dtype);
void tpu_gdma_compact_L2S(system_addr_t dst_addr, local_addr_t src_addr, const dim4 *shape, data_type_t dtype);

void tpu_gdma_set_C_local(local_addr_t dst_addr, scalar_t C, const dim4 *shape, const dim4 *dst_stride,
                          data_type_t dtype);
void tpu_gdma_set_C_system(system_addr_t dst_addr, scalar_t C, const dim4 *shape, const dim4 *dst_stride,
                           data_type_t dtype);
void tpu_sdma_set_C_system(system_addr_t dst_addr, scalar_t C, const dim4 *shape, const dim4 *dst_stride,
                           data_type_t dtype);
void tpu_gdma_system_cpy(system_addr_t dst_addr, system_addr_t src_addr, unsigned int count, data_type_t dtype);
void tpu_sdma_system_cpy(system_addr_t dst_addr, system_addr_t src_addr, unsigned int count, data_type_t dtype);
void tpu_gdma_system_set(system_addr_t dst_addr, scalar_t C, unsigned int count, data_type_t dtype);
void tpu_sdma_system_set(system_addr_t dst_addr, scalar_t C, unsigned int count, data_type_t dtype);

/* the matrix layout of fp32_mm: row r is batch r, columns in sections of cols_per_channel, a section a lane */
void tpu_gdma_matrix_S2L(local_addr_t dst_addr, system_addr_t src_addr, int rows, int cols, int cols_per_channel,
                         int row_stride, data_type_t dtype);
void tpu_gdma_matrix_L2S(system_addr_t dst_addr, local_addr_t src_addr, int rows, int cols, int cols_per_channel,
                         int row_stride, data_type_t dtype);
void tpu_gdma_matrix_trans_S2L(local_addr_t dst_addr, system_addr_t src_addr, int src_rows, int src_cols,
                               int dst_cols_per_channel, int src_row_stride, data_type_t dtype);

/* output[n][c][h] = param[n][c][index[n][c][h]], rows of w; index uint32; beyond param_h: C. scatter: the other way */
#define TPU_GATHER(name, to, from)                                                                                  \
  void tpu_gdma_h_gather_##name(to output_addr, from param_addr, addr_t index_addr, bool index_is_local, scalar_t C, \
                                const dim4 *shape, int param_h, const dim4 *output_stride,                         \
                                const dim4 *param_stride, const dim4 *index_stride, data_type_t dtype);            \
  void tpu_gdma_h_scatter_##name(to output_addr, from param_addr, addr_t index_addr, bool index_is_local,           \
                                 const dim4 *shape, int param_h, const dim4 *output_stride,                        \
                                 const dim4 *param_stride, const dim4 *index_stride, data_type_t dtype);
TPU_GATHER(S2L, local_addr_t, system_addr_t)
TPU_GATHER(L2S, system_addr_t, local_addr_t)
TPU_GATHER(L2L, local_addr_t, local_addr_t)
TPU_GATHER(S2S, system_addr_t, system_addr_t)
#undef TPU_GATHER

/* the K first in order, stable; runs until tpu_hau_poll() */
void tpu_hau_sort(system_addr_t output_addr, system_addr_t input_addr, int len, int K, bool descended,
                  data_type_t dtype);
void tpu_hau_sort_natural_index(system_addr_t output_data_addr, system_addr_t output_idx_addr,
                                system_addr_t input_addr, int len, int K, bool descended, data_type_t dtype);
void tpu_hau_sort_specific_index(system_addr_t output_data_addr, system_addr_t output_idx_addr,
                                 system_addr_t input_data_addr, system_addr_t input_idx_addr, int len, int K,
                                 bool descended, data_type_t dtype);
void tpu_hau_sort_natural_index_2d(system_addr_t output_data_addr, system_addr_t output_idx_addr,
                                   system_addr_t input_addr, int row_num, int len, int K, bool descended,
                                   data_type_t dtype);
