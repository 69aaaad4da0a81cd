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

#define TPU_COMPARE(name)                                                                                              \
  void tpu_bdc_##name(local_addr_t dst_addr, local_addr_t src0_addr, local_addr_t src1_addr, scalar_t true_val,       \
                      const dim4 *shape, const dim4 *dst_stride, const dim4 *src0_stride, const dim4 *src1_stride,    \
                      data_type_t dst_dtype, data_type_t src_dtype);                                                  \
  void tpu_bdc_##name##_C(local_addr_t dst_addr, local_addr_t src_addr, scalar_t C, scalar_t true_val,                \
                          const dim4 *shape, const dim4 *dst_stride, const dim4 *src_stride, data_type_t dst_dtype,   \
                          data_type_t src_dtype);
#define TPU_INTEGER(name)                                                                                             \
  void name(local_addr_t dst_addr, local_addr_t src0_addr, local_addr_t src1_addr, const dim4 *shape,                 \
            const dim4 *dst_stride, const dim4 *src0_stride, const dim4 *src1_stride, data_type_t dst_dtype,          \
            data_type_t src0_dtype, data_type_t src1_dtype, char shift, rounding_mode_t rounding_mode,                \
            bool saturation);
#define TPU_INTEGER_C(name)                                                                                           \
  void name(local_addr_t dst_addr, local_addr_t src_addr, scalar_t C, const dim4 *shape, const dim4 *dst_stride,      \
            const dim4 *src_stride, data_type_t dst_dtype, data_type_t src_dtype, data_type_t C_dtype, char shift,    \
            rounding_mode_t rounding_mode, bool saturation);
#define TPU_SHIFT(name)                                                                                               \
  void name(local_addr_t dst_addr, local_addr_t src_addr, local_addr_t shift_addr, const dim4 *shape,                 \
            const dim4 *dst_stride, const dim4 *src_stride, const dim4 *shift_stride, data_type_t dst_dtype,          \
            data_type_t src_dtype, data_type_t shift_dtype, rounding_mode_t rounding_mode);                           \
  void name##_C(local_addr_t dst_addr, local_addr_t src_addr, char C, const dim4 *shape, const dim4 *dst_stride,      \
                const dim4 *src_stride, data_type_t dst_dtype, data_type_t src_dtype, rounding_mode_t rounding_mode);

/* true_val where it holds, 0 elsewhere */
TPU_COMPARE(greater)
TPU_COMPARE(less)
TPU_COMPARE(equal)
TPU_COMPARE(greater_equal)
TPU_COMPARE(less_equal)
TPU_COMPARE(not_equal)

/* integers; shift is that of the result, to the left where positive */
TPU_INTEGER(tpu_bdc_int_add)
TPU_INTEGER(tpu_bdc_int_sub)
TPU_INTEGER(tpu_bdc_int_mul)
TPU_INTEGER_C(tpu_bdc_int_add_C)
TPU_INTEGER_C(tpu_bdc_int_sub_C)
TPU_INTEGER_C(tpu_bdc_int_C_sub)
TPU_INTEGER_C(tpu_bdc_int_mul_C)
TPU_BINARY(tpu_bdc_and)
TPU_BINARY(tpu_bdc_or)
TPU_BINARY(tpu_bdc_xor)
TPU_WITH_C(tpu_bdc_and_C)
TPU_WITH_C(tpu_bdc_or_C)
TPU_WITH_C(tpu_bdc_xor_C)
TPU_UNARY(tpu_bdc_not)
TPU_SHIFT(tpu_bdc_arithmetic_shift)
TPU_SHIFT(tpu_bdc_logical_shift)

/* src0 op src1 ? src2 : src3 */
void tpu_bdc_greater_select(local_addr_t dst_addr, const variable_t *src0, const variable_t *src1, const variable_t *src2, const variable_t *src3, const dim4 *shape, data_type_t src0_src1_dtype, data_type_t dst_dtype);
void tpu_bdc_less_select(local_addr_t dst_addr, const variable_t *src0, const variable_t *src1, const variable_t *src2, const variable_t *src3, const dim4 *shape, data_type_t src0_src1_dtype, data_type_t dst_dtype);
void tpu_bdc_equal_select(local_addr_t dst_addr, const variable_t *src0, const variable_t *src1, const variable_t *src2, const variable_t *src3, const dim4 *shape, data_type_t src0_src1_dtype, data_type_t dst_dtype);

/* functions: aligned layout; work buffers are as large as dst, tables come from the loaders */
void tpu_bdc_load_fp_exp_coeff(local_addr_t coeff_addr, data_type_t dtype);
void tpu_bdc_load_fp_log_coeff(local_addr_t coeff_addr, data_type_t dtype);
void tpu_bdc_load_fp_erf_coeff(local_addr_t coeff_addr, data_type_t dtype);
void tpu_bdc_load_fp_sin_coeff(local_addr_t coeff_addr, data_type_t dtype);
void tpu_bdc_load_fp_cos_coeff(local_addr_t coeff_addr, data_type_t dtype);
void tpu_bdc_fp_exp(local_addr_t dst_addr, local_addr_t src_addr, local_addr_t work0_addr, local_addr_t work1_addr, local_addr_t coeff_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_fp_expm1(local_addr_t dst_addr, local_addr_t src_addr, local_addr_t work0_addr, local_addr_t work1_addr, local_addr_t coeff_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_fp_log(local_addr_t dst_addr, local_addr_t src_addr, local_addr_t work_addr, local_addr_t coeff_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_fp_sigmoid(local_addr_t dst_addr, local_addr_t src_addr, local_addr_t work0_addr, local_addr_t work1_addr, local_addr_t coeff_addr, local_addr_t table_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_fp_silu(local_addr_t dst_addr, local_addr_t src_addr, local_addr_t work0_addr, local_addr_t work1_addr, local_addr_t coeff_addr, local_addr_t table_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_fp_tanh(local_addr_t dst_addr, local_addr_t src_addr, local_addr_t work0_addr, local_addr_t work1_addr, local_addr_t coeff_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_fp_erf(local_addr_t dst_addr, local_addr_t src_addr, local_addr_t work0_addr, local_addr_t work1_addr, local_addr_t work2_addr, local_addr_t exp_coeff_addr, local_addr_t erf_coeff_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_fp_gelu(local_addr_t dst_addr, local_addr_t src_addr, local_addr_t work0_addr, local_addr_t work1_addr, local_addr_t work2_addr, local_addr_t work3_addr, local_addr_t exp_coeff_addr, local_addr_t erf_coeff_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_fp_sin(local_addr_t dst_addr, local_addr_t src_addr, local_addr_t work_addr, local_addr_t coeff_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_fp_cos(local_addr_t dst_addr, local_addr_t src_addr, local_addr_t work_addr, local_addr_t coeff_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_fp_rsqrt(local_addr_t dst_addr, local_addr_t src_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_fp_sqrt(local_addr_t dst_addr, local_addr_t src_addr, const dim4 *shape, data_type_t dtype);

/* pooling */
void tpu_bdc_fp_max_pool2d(local_addr_t output_addr, local_addr_t input_addr, const dim4 *input_shape, const dim2 *kernel, const padding_t *padding, const dim2 *stride, const dim2 *dilation, data_type_t dtype, scalar_t pad_val);
void tpu_bdc_fp_min_pool2d(local_addr_t output_addr, local_addr_t input_addr, const dim4 *input_shape, const dim2 *kernel, const padding_t *padding, const dim2 *stride, const dim2 *dilation, data_type_t dtype, scalar_t pad_val);
void tpu_bdc_fp_avg_pool2d(local_addr_t output_addr, local_addr_t input_addr, const dim4 *input_shape, const dim2 *kernel, const padding_t *padding, const dim2 *stride, const dim2 *dilation, data_type_t dtype, scalar_t scale);
void tpu_bdc_fp_avg_pool2d_ex(local_addr_t output_addr, local_addr_t input_addr, const dim4 *input_shape, const dim2 *kernel, const padding_t *padding, const dim2 *stride, const dim2 *dilation, const dim2 *ins, data_type_t in_dtype, data_type_t out_dtype, scalar_t scale);

/* fp32 in the matrix layout, int8 by rows */
void tpu_bdc_fp32_mm(local_addr_t output_addr, local_addr_t left_addr, local_addr_t right_addr, local_addr_t bias_addr, int left_rows, int left_cols, int right_cols, int left_cols_per_channel, int right_cols_per_channel, bool has_bias, bool result_add);
void tpu_bdc_fp32_mm_L_trans(local_addr_t output_addr, local_addr_t left_addr, local_addr_t right_addr, local_addr_t bias_addr, int left_rows, int left_cols, int right_cols, int left_cols_per_channel, int right_cols_per_channel, bool has_bias, bool result_add);
void tpu_bdc_int8_zp_mm(local_addr_t output_addr, local_addr_t left_addr, local_addr_t right_addr, scalar_t zp_val, int left_rows, int left_cols, int right_cols, data_type_t left_dtype, data_type_t right_zp_dtype, bool result_add);
void tpu_bdc_int8_zp_mm_R_trans(local_addr_t output_addr, local_addr_t left_addr, local_addr_t right_addr, scalar_t zp_val, int left_rows, int left_cols, int right_rows, data_type_t left_dtype, data_type_t right_zp_dtype);

/* gathers and sequences; param is the same for every n */
void tpu_bdc_batch_bcast_w_gather(local_addr_t output_addr, local_addr_t param_addr, local_addr_t index_addr, const dim4 *shape, int param_w, data_type_t dtype, data_type_t index_dtype, bool is_param_repeated);
void tpu_bdc_batch_bcast_h_gather(local_addr_t output_addr, local_addr_t param_addr, local_addr_t index_addr, const dim4 *shape, int param_h, data_type_t dtype, data_type_t index_dtype, bool is_param_repeated);
void tpu_bdc_arithmetic_sequence_bcast(local_addr_t dst_addr, int npu_num, int start, int step, int num);
void tpu_bdc_arithmetic_sequence_distribute(local_addr_t dst_addr, int start, int step, int num);

/* declared by the vendor, implemented by none of its libraries: always an error */
void tpu_bdc_w_reduce(local_addr_t R_addr, local_addr_t A_addr, const dim4 *shape, const dim4 *R_stride, const dim4 *A_stride, int A_sign, data_type_t odtype, data_type_t idtype, int reduce_op, int saturate);
void tpu_bdc_hw_reduce(local_addr_t R_addr, local_addr_t A_addr, const dim4 *shape, const dim4 *R_stride, const dim4 *A_stride, int A_sign, data_type_t odtype, data_type_t idtype, int reduce_op, int saturate);
void tpu_bdc_clamp(local_addr_t dst_addr, local_addr_t src_addr, scalar_t min_const_val, scalar_t max_const_val, const dim4 *shape, const dim4 *dst_stride, const dim4 *src_stride, data_type_t dtype);
void tpu_bdc_fp_exp_for_neg_arg(local_addr_t dst_addr, local_addr_t src_addr, local_addr_t work0_addr, local_addr_t work1_addr, local_addr_t coeff_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_fp_fast_exp(local_addr_t dst_addr, local_addr_t src_addr, local_addr_t work0_addr, local_addr_t work1_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_fp_hw_reduce_mean(local_addr_t output_addr, local_addr_t input_addr, local_addr_t buffer_addr, const dim4 *shape, data_type_t dtype);
void tpu_bdc_fp_sfu_reciprocal(local_addr_t dst_addr, local_addr_t src_addr, const dim4 *shape, data_type_t dtype);
#undef TPU_COMPARE
#undef TPU_INTEGER
#undef TPU_INTEGER_C
#undef TPU_SHIFT
#undef TPU_UNARY
#undef TPU_BINARY
#undef TPU_WITH_C
