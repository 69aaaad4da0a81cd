/* The tensor unit; included by tpu_kernel.h. */

#define TPU_UNARY(name)                                                                                  \
  void name(local_addr_t dst_addr, local_addr_t src_addr, const dim4 *shape, const dim4 *dst_stride, \
            const dim4 *src_stride, data_type_t dtype);
#define TPU_BINARY(name)                                                                                       \
  void name(local_addr_t dst_addr, local_addr_t src0_addr, local_addr_t src1_addr, const dim4 *shape,      \
            const dim4 *dst_stride, const dim4 *src0_stride, const dim4 *src1_stride, data_type_t dtype);
#define TPU_WITH_C(name)                                                                                          \
  void name(local_addr_t dst_addr, local_addr_t src_addr, scalar_t C, const dim4 *shape, const dim4 *dst_stride, \
            const dim4 *src_stride, data_type_t dtype);

TPU_UNARY(tpu_bdc_cpy)
TPU_UNARY(tpu_bdc_abs)
TPU_UNARY(tpu_bdc_neg)
TPU_UNARY(tpu_bdc_relu)
TPU_UNARY(tpu_bdc_fp_square)
TPU_UNARY(tpu_bdc_fp_reciprocal)
TPU_UNARY(tpu_bdc_fp_floor)
TPU_UNARY(tpu_bdc_fp_ceil)
TPU_BINARY(tpu_bdc_fp_add)
TPU_BINARY(tpu_bdc_fp_sub)
TPU_BINARY(tpu_bdc_fp_mul)
TPU_BINARY(tpu_bdc_fp_div)
TPU_BINARY(tpu_bdc_fp_diff_abs)
TPU_BINARY(tpu_bdc_max)
TPU_BINARY(tpu_bdc_min)
TPU_WITH_C(tpu_bdc_fp_add_C)
TPU_WITH_C(tpu_bdc_fp_sub_C)
TPU_WITH_C(tpu_bdc_fp_C_sub)
TPU_WITH_C(tpu_bdc_fp_mul_C)
TPU_WITH_C(tpu_bdc_fp_div_C)
TPU_WITH_C(tpu_bdc_fp_C_div)
TPU_WITH_C(tpu_bdc_fp_diff_abs_C)
TPU_WITH_C(tpu_bdc_max_C)
TPU_WITH_C(tpu_bdc_min_C)

void tpu_bdc_fp_tunable_div(local_addr_t dst_addr, local_addr_t src0_addr, local_addr_t src1_addr, const dim4 *shape,
                            const dim4 *dst_stride, const dim4 *src0_stride, const dim4 *src1_stride,
                            data_type_t dtype, int num_iter);
void tpu_bdc_fp_tunable_div_C(local_addr_t dst_addr, local_addr_t src_addr, scalar_t C, const dim4 *shape,
                              const dim4 *dst_stride, const dim4 *src_stride, data_type_t dtype, int num_iter);
void tpu_bdc_fp_tunable_C_div(local_addr_t dst_addr, local_addr_t src_addr, scalar_t C, const dim4 *shape,
                              const dim4 *dst_stride, const dim4 *src_stride, data_type_t dtype, int num_iter);
void tpu_bdc_fp_round(local_addr_t dst_addr, local_addr_t src_addr, const dim4 *shape, const dim4 *dst_stride,
                      const dim4 *src_stride, data_type_t dtype, rounding_mode_t mode);

/* moving within and between lanes */
void tpu_bdc_cpy_cross_npu(local_addr_t dst_addr, local_addr_t src_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_npu_bcast(local_addr_t dst_addr, local_addr_t src_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_set_C(local_addr_t dst_addr, scalar_t C, const dim4 *shape, const dim4 *dst_stride, data_type_t dtype);
void tpu_bdc_cw_trans(local_addr_t dst_addr, local_addr_t src_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_wc_trans(local_addr_t dst_addr, local_addr_t src_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_cast(local_addr_t dst_addr, local_addr_t src_addr, const dim4 *shape, const dim4 *dst_stride,
                  const dim4 *src_stride, data_type_t dst_dtype, data_type_t src_dtype, rounding_mode_t mode);

/* products: row r of a matrix is channel r, all start in lane 0 */
void tpu_bdc_fp_mm(local_addr_t output_addr, local_addr_t left_addr, local_addr_t right_addr, int left_rows,
                   int left_cols, int right_cols, data_type_t output_dtype, data_type_t left_right_dtype,
                   bool result_add);
void tpu_bdc_fp_mm_R_trans(local_addr_t output_addr, local_addr_t left_addr, local_addr_t right_addr, int left_rows,
                           int left_cols, int right_rows, data_type_t output_dtype, data_type_t left_right_dtype);
void tpu_bdc_fp_mm_all_trans(local_addr_t output_addr, local_addr_t left_addr, local_addr_t right_addr, int left_rows,
                             int left_cols, int right_rows, data_type_t output_dtype, data_type_t left_right_dtype,
                             bool result_add);
void tpu_bdc_fp_mm_with_bias(local_addr_t output_addr, local_addr_t left_addr, local_addr_t right_addr, int left_rows,
                             int left_cols, int right_cols, data_type_t output_dtype, data_type_t left_right_dtype,
                             data_type_t bias_dtype, bool result_add, bool bias_is_const, var_context_t bias_data,
                             bool do_relu);
void tpu_bdc_fp_mm_R_trans_with_bias(local_addr_t output_addr, local_addr_t left_addr, local_addr_t right_addr,
                                     int left_rows, int left_cols, int right_rows, data_type_t output_dtype,
                                     data_type_t left_right_dtype, data_type_t bias_dtype, bool add_result,
                                     bool bias_is_const, var_context_t bias_data, bool do_relu);
void tpu_bdc_fp8_mm(local_addr_t output_addr, local_addr_t left_addr, local_addr_t right_addr, int left_rows,
                    int left_cols, int right_cols, data_type_t output_dtype, data_type_t left_dtype,
                    data_type_t right_dtype, bool result_add, bool do_rescale, bool rescale_is_const,
                    var_context_t rescale_data);
void tpu_bdc_fp8_mm_R_trans(local_addr_t output_addr, local_addr_t left_addr, local_addr_t right_addr, int left_rows,
                            int left_cols, int right_rows, data_type_t output_dtype, data_type_t left_dtype,
                            data_type_t right_dtype, bool result_add, bool do_rescale, bool rescale_is_const,
                            var_context_t rescale_data);
void tpu_bdc_fp8_mm_all_trans(local_addr_t output_addr, local_addr_t left_addr, local_addr_t right_addr, int left_rows,
                              int left_cols, int right_rows, data_type_t output_dtype, data_type_t left_dtype,
                              data_type_t right_dtype, bool result_add, bool do_rescale, bool rescale_is_const,
                              var_context_t rescale_data);
#undef TPU_UNARY
#undef TPU_BINARY
#undef TPU_WITH_C
