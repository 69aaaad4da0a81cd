#include "availability.h"

#include <string>
#include <unordered_map>

namespace sim {

unsigned char chips_with(const char* function) {
  constexpr unsigned char kBig = kBm1690 | kSg2260e, kAll = 15;
  static const std::unordered_map<std::string, unsigned char> partial = {
      {"tpu_cube_shape", kBig},
      {"tpu_workitem_num", kBig},
      {"tpu_workitem_index", kBig},
      {"tpu_group_num", kBig},
      {"tpu_group_index", kBig},
      {"tpu_core_num", kBig | kBm1688},
      {"tpu_core_index", kBig | kBm1688},
      {"tpu_sync_core", kBig | kBm1688},
      {"tpu_sync_all", kBig | kBm1688},
      {"tpu_bdc_fp_mm_R_trans_with_bias", kBig | kBm1688},
      {"tpu_bdc_fp_mm_with_bias", kBig | kBm1688},
      {"tpu_bdc_fp_mm_all_trans_with_bias", kBig | kBm1688},
      {"tpu_bdc_w_reduce", kNone},
      {"tpu_bdc_hw_reduce", kNone},
      {"tpu_bdc_clamp", kNone},
      {"tpu_bdc_fp_fast_exp", kNone},
      {"tpu_bdc_fp_exp_for_neg_arg", kNone},
      {"tpu_bdc_fp_div2", kNone},
      {"tpu_bdc_fp_elu", kNone},
      {"tpu_bdc_fp_hw_reduce_mean", kNone},
      {"tpu_bdc_fp_sfu_reciprocal", kNone},
      {"tpu_gdma_cpy_reduce_L2S", kNone},
      {"tpu_gdma_cpy_reduce_S2S", kNone},
      {"tpu_gdma_c_gather_S2L", kNone},
      {"tpu_bdc_fuse_exp", kNone},
  };
  const auto found = partial.find(function);
  return found == partial.end() ? kAll : found->second;
}

}  // namespace sim
