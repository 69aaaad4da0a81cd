// Functions that the vendor's header declares and its library does not implement: they always fail, as availability.h
// says, so that a kernel which uses one is refused here too.
#include "calls.h"

#define STUB(name, parameters) API(void, name, parameters) QUERY({})

STUB(tpu_bdc_w_reduce, (local_addr_t, local_addr_t, const dim4*, const dim4*, const dim4*, int, data_type_t, data_type_t, int, int))
STUB(tpu_bdc_hw_reduce, (local_addr_t, local_addr_t, const dim4*, const dim4*, const dim4*, int, data_type_t, data_type_t, int, int))
STUB(tpu_bdc_clamp, (local_addr_t, local_addr_t, scalar_t, scalar_t, const dim4*, const dim4*, const dim4*, data_type_t))
STUB(tpu_bdc_fp_exp_for_neg_arg, (local_addr_t, local_addr_t, local_addr_t, local_addr_t, local_addr_t, const dim4*, data_type_t))
STUB(tpu_bdc_fp_fast_exp, (local_addr_t, local_addr_t, local_addr_t, local_addr_t, const dim4*, data_type_t))
STUB(tpu_bdc_fp_hw_reduce_mean, (local_addr_t, local_addr_t, local_addr_t, const dim4*, data_type_t))
STUB(tpu_bdc_fp_sfu_reciprocal, (local_addr_t, local_addr_t, const dim4*, data_type_t))
