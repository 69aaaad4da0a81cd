/* The kernel interface of SophGo's tensor processors, as tile-tpu's simulator has it.
 *
 * Names, parameters and meanings are those of the vendor's tpu_kernel.h (PPL 1.7.111), so that one source builds for
 * both. Sizes are in elements, addresses in bytes; a local address holds its lane: lane * tpu_local_mem_size_per_npu() +
 * byte. A NULL stride means the aligned layout in local memory, rows without gaps in global memory.
 */
#ifndef TILE_TPU_KERNEL_H
#define TILE_TPU_KERNEL_H

#include "tpu_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TPUKERNEL_FUNC_REGISTER(function) \
  void function##_wrapper(const void *arguments) { function(arguments); }

/* printf becomes text of the run's report */
int tpu_sim_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tpu_sim_assertion(const char *condition);
void tpu_sim_assertion_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern __thread int tpu_sim_line;
#define printf(...) tpu_sim_print(__VA_ARGS__)
#define TPUKERNEL_LOG(...) tpu_sim_print(__VA_ARGS__)
#define TPUKERNEL_DBG(...) tpu_sim_print(__VA_ARGS__)
#define TPUKERNEL_ASSERT(condition) ((condition) ? (void)0 : TPU_SIM_AT(tpu_sim_assertion(#condition)))
#define TPUKERNEL_ASSERT_INFO(condition, ...) \
  ((condition) ? (void)0 : TPU_SIM_AT(tpu_sim_assertion_info(__VA_ARGS__)))

#define UNUSED(x) (void)(x)
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define ALIGN(x, a) (((x) + (a)-1) / (a) * (a))
#define ALIGN_DOWN(x, a) ((x) / (a) * (a))
#define DIV_UP(a, b) (((a) + (b)-1) / (b))
#define NPU_NUM tpu_npu_num()
#define LOCAL_MEM_SIZE tpu_local_mem_size_per_npu()
#define LOCAL_MEM_BANKS tpu_bank_num()
#define L2_SRAM_SIZE tpu_l2_sram_size()
#define L2_SRAM_START_ADDR tpu_l2_sram_get_start_addr()
#define BANK_SIZE (LOCAL_MEM_SIZE / LOCAL_MEM_BANKS)
#define LOCAL_BANK_SIZE BANK_SIZE
#define EU_NUM tpu_eu_num(DT_FP32)
#define EU_NUM_32BIT tpu_eu_num(DT_FP32)
#define EU_NUM_16BIT tpu_eu_num(DT_FP16)
#define EU_NUM_8BIT tpu_eu_num(DT_INT8)
#define ALIGN_BYTES (EU_NUM * sizeof(float))

/* bit patterns of a floating type */
#define FP_ONE(type) ((type) == DT_FP32 ? 0x3f800000 : (type) == DT_FP16 ? 0x3c00 : 0x3f80)
#define FP_NEG_ONE(type) ((type) == DT_FP32 ? 0xbf800000 : (type) == DT_FP16 ? 0xbc00 : 0xbf80)
#define FP_MAX(type)                                                                              \
  ((type) == DT_FP8E4M3 ? 0x7e : (type) == DT_FP8E5M2 ? 0x7b : (type) == DT_FP32 ? 0x7f7fffff \
                                                           : (type) == DT_FP16   ? 0x7bff     \
                                                                                 : 0x7f7f)
#define FP_NEG_MAX(type)                                                                          \
  ((type) == DT_FP8E4M3 ? 0xfe : (type) == DT_FP8E5M2 ? 0xfb : (type) == DT_FP32 ? 0xff7fffff \
                                                           : (type) == DT_FP16   ? 0xfbff     \
                                                                                 : 0xff7f)

/* protocol: first tpu_initialize, last tpu_poll; between parallel_start and _end the engines run side by side */
void tpu_initialize();
void tpu_poll();
void tpu_hau_poll();
void tpu_parallel_start();
void tpu_parallel_end();
bool tpu_is_parallel_state();
void tpu_sync_all();
int tpu_core_num();
int tpu_core_index();
int tpu_workitem_num();
int tpu_workitem_index();
int tpu_group_num();
int tpu_group_index();

/* the chip */
int tpu_npu_num();
int tpu_bank_num();
int tpu_eu_num(data_type_t dtype);
int tpu_get_ic_parallel(data_type_t dtype);
dim2 tpu_cube_shape(data_type_t dtype);
int tpu_local_mem_size_per_npu();
int tpu_l2_sram_size();
unsigned long long tpu_l2_sram_get_start_addr();
unsigned long long tpu_global_mem_get_start_addr();
int tpu_gdma_shape_limit(int dim);
int tpu_gdma_move_max_wstride_byte_len();

/* memory as the control core sees it; on the chip its cache has to be told */
void *tpu_global_mem_addr(global_addr_t addr);
void *tpu_local_mem_addr_unified(local_addr_t addr);
void tpu_invalidate_cache(system_addr_t address, unsigned long long size);
void tpu_flush_cache(system_addr_t address, unsigned long long size);

/* addresses, layouts, types */
int tpu_npu_index(local_addr_t addr);
int tpu_bank_index(local_addr_t addr);
int tpu_channle_num_per_npu(int start_idx, int num_channels);
u64 tpu_aligned_feature_size(int h, int w, data_type_t dtype);
void tpu_aligned_stride(dim4 *stride, int start_idx, const dim4 *shape, data_type_t dtype);
void tpu_compact_stride(dim4 *stride, int start_idx, const dim4 *shape);
void tpu_line_aligned_stride(dim4 *stride, int start_idx, const dim4 *shape, data_type_t dtype);
void tpu_continuous_stride(dim4 *stride, const dim4 *shape);
int tpu_get_local_cstride(int h, int w, bool align, data_type_t dtype);
int tpu_get_local_nstride(int c_stride, int c, int start_idx);
int tpu_get_local_size(const dim4 *shape, data_type_t dtype, int start_idx, bool align);
int tpu_npu_c_offset(int c, int c_stride, data_type_t dtype);
int tpu_unified_c_offset(int c, int c_stride, data_type_t dtype);
range_t tpu_bank_range(local_addr_t addr, int size);
bool tpu_range_overlapped(const range_t *r0, const range_t *r1);
bool tpu_any_range_overlapped(const range_t *ranges, int num);
bool tpu_is_data_type_signed(data_type_t dtype);
bool tpu_is_data_type_int(data_type_t dtype);
bool tpu_is_data_type_fp(data_type_t dtype);
bool tpu_is_data_type_fp8(data_type_t dtype);
int tpu_data_type_size(data_type_t dtype);
int tpu_data_type_bits(data_type_t dtype);
scalar_t tpu_cast(scalar_t src, data_type_t dst_dtype, data_type_t src_dtype, rounding_mode_t mode);
scalar_t tpu_fp_cast(scalar_t src, data_type_t dst_dtype, data_type_t src_dtype, rounding_mode_t mode);
scalar_t tpu_int_cast(scalar_t src, data_type_t dst_dtype, data_type_t src_dtype);
scalar_t tpu_fp_to_int_cast(scalar_t src, data_type_t dst_dtype, data_type_t src_dtype, rounding_mode_t mode);
scalar_t tpu_int_to_fp_cast(scalar_t src, data_type_t dst_dtype, data_type_t src_dtype, rounding_mode_t mode);

#include "tpu_dma.h"
#include "tpu_bdc.h"

#ifdef __cplusplus
}
#endif

#define TPU_SIM_AT(call) (tpu_sim_line = __LINE__, call)
#include "tpu_lines.h"

#endif
