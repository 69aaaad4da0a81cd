// Protocol, parallel regions, cores, and what a kernel asks about its chip.
#include <algorithm>
#include <cstdarg>

#include "calls.h"
#include "cores.h"
#include "views.h"

using namespace sim;

API(void, tpu_initialize, ()) QUERY({
  core->initialised = true;
})

API(void, tpu_poll, ()) QUERY({
  if (core->now.in_region) fail("protocol", "tpu_poll() inside a parallel region", "", "tpu_parallel_end() before it");
  core->polled = true;
  core->waited();
})

API(void, tpu_hau_poll, ()) QUERY({
  auto& touched = core->touched_system;
  touched.erase(std::remove_if(touched.begin(), touched.end(), [](const Touch& t) { return t.engine == Engine::hau; }),
                touched.end());
})

API(void, tpu_parallel_start, ()) QUERY({
  if (core->now.in_region) fail("protocol", "a parallel region inside another one", "", "tpu_parallel_end() before it");
  core->now.in_region = true;
  std::fill(std::begin(core->engine_cycles), std::end(core->engine_cycles), 0.0);
  ++core->counts.regions;
})

API(void, tpu_parallel_end, ()) QUERY({
  if (!core->now.in_region) fail("protocol", "tpu_parallel_end() without tpu_parallel_start()");
  core->now.in_region = false;
  core->now.touched.clear();
  core->local->end_region();
  for (auto& tensor : device->tensors) tensor->end_region();
  device->l2().end_region();
  double longest = 0;
  double sum = 0;
  for (double cycles : core->engine_cycles) {
    longest = std::max(longest, cycles);
    sum += cycles;
  }
  core->counts.overlapped_cycles += longest;
  core->counts.region_serial_cycles += sum;
  core->counts.total_cycles += longest;
})

API(bool, tpu_is_parallel_state, ()) QUERY({ return core->now.in_region; })

static void meet() {
  if (core->now.in_region)
    fail("protocol", "a barrier of the cores inside a parallel region", "", "tpu_parallel_end() before it");
  core->waited();
  meet_all();
}
API(void, tpu_sync_all, ()) QUERY({ meet(); })

API(int, tpu_core_num, ()) QUERY({ return int(device->cores.size()); })
API(int, tpu_core_index, ()) QUERY({ return core->index; })
API(int, tpu_workitem_num, ()) QUERY({ return int(device->cores.size()); })
API(int, tpu_workitem_index, ()) QUERY({ return core->index; })
API(int, tpu_group_num, ()) QUERY({ return 1; })
API(int, tpu_group_index, ()) QUERY({ return 0; })

API(int, tpu_npu_num, ()) QUERY({ return device->chip.lanes; })
API(int, tpu_bank_num, ()) QUERY({ return device->chip.banks; })
API(int, tpu_eu_num, (data_type_t type)) QUERY({ return device->chip.eu_count(bits_of(type)); })
API(int, tpu_get_ic_parallel, (data_type_t type)) QUERY({ return device->chip.depth(std::max(bits_of(type), 8)); })
API(dim2, tpu_cube_shape, (data_type_t type)) QUERY({
  return dim2{device->chip.depth(std::max(bits_of(type), 8)), device->chip.cube_columns};
})
API(int, tpu_local_mem_size_per_npu, ()) QUERY({ return device->chip.lane_bytes; })
API(int, tpu_l2_sram_size, ()) QUERY({ return int(device->chip.l2_bytes); })
API(u64, tpu_l2_sram_get_start_addr, ()) QUERY({ return u64(device->chip.l2_base); })
API(u64, tpu_global_mem_get_start_addr, ()) QUERY({ return u64(device->chip.global_base); })
API(int, tpu_gdma_shape_limit, (int)) QUERY({ return kLargestExtent; })
API(int, tpu_gdma_move_max_wstride_byte_len, ()) QUERY({ return 128; })

API(int, tpu_npu_index, (local_addr_t address)) QUERY({ return int(address / device->chip.lane_bytes); })
API(int, tpu_bank_index, (local_addr_t address)) QUERY({
  return int(address % device->chip.lane_bytes / (device->chip.lane_bytes / device->chip.banks));
})
API(int, tpu_channle_num_per_npu, (int start, int channels)) QUERY({
  return (start + channels + device->chip.lanes - 1) / device->chip.lanes;
})
API(u64, tpu_aligned_feature_size, (int h, int w, data_type_t type)) QUERY({
  return u64(aligned_stride(0, {1, 1, h, w}, type).c) * size_of(type);
})
API(void, tpu_aligned_stride, (dim4 * stride, int start, const dim4* shape, data_type_t type)) QUERY({
  *stride = aligned_stride(start, *shape, type);
})
API(void, tpu_compact_stride, (dim4 * stride, int start, const dim4* shape)) QUERY({
  *stride = compact_stride(start, *shape);
})
API(void, tpu_line_aligned_stride, (dim4 * stride, int start, const dim4* shape, data_type_t type)) QUERY({
  const int units = device->chip.eu_count(bits_of(type));
  stride->w = 1;
  stride->h = (shape->w + units - 1) / units * units;
  stride->c = shape->h * stride->h;
  stride->n = (start + shape->c + device->chip.lanes - 1) / device->chip.lanes * stride->c;
})
API(void, tpu_continuous_stride, (dim4 * stride, const dim4* shape)) QUERY({
  const dim4 s = *shape;
  *stride = {s.c * s.h * s.w, s.h * s.w, s.w, 1};
})
API(int, tpu_get_local_cstride, (int h, int w, bool align, data_type_t type)) QUERY({
  return align ? aligned_stride(0, {1, 1, h, w}, type).c : h * w;
})
API(int, tpu_get_local_nstride, (int c_stride, int c, int start)) QUERY({
  return (start + c + device->chip.lanes - 1) / device->chip.lanes * c_stride;
})
API(int, tpu_get_local_size, (const dim4* shape, data_type_t type, int start, bool align)) QUERY({
  return shape->n * (align ? aligned_stride(start, *shape, type) : compact_stride(start, *shape)).n * size_of(type);
})
API(int, tpu_npu_c_offset, (int c, int c_stride, data_type_t type)) QUERY({
  return c / device->chip.lanes * c_stride * size_of(type);
})
API(int, tpu_unified_c_offset, (int c, int c_stride, data_type_t type)) QUERY({
  return c % device->chip.lanes * device->chip.lane_bytes + c / device->chip.lanes * c_stride * size_of(type);
})
API(range_t, tpu_bank_range, (local_addr_t address, int size)) QUERY({
  const int bank = device->chip.lane_bytes / device->chip.banks;
  const int first = int(address % device->chip.lane_bytes);
  return range_t{first / bank, (first + size - 1) / bank};
})
API(bool, tpu_range_overlapped, (const range_t* a, const range_t* b)) { return a->start <= b->end && b->start <= a->end; }
API(bool, tpu_any_range_overlapped, (const range_t* ranges, int count)) {
  for (int i = 0; i < count; ++i)
    for (int j = i + 1; j < count; ++j)
      if (tpu_range_overlapped(ranges + i, ranges + j)) return true;
  return false;
}

API(int, tpu_data_type_size, (data_type_t type)) QUERY({ return std::max(bits_of(type) / 8, 1); })
API(int, tpu_data_type_bits, (data_type_t type)) QUERY({ return bits_of(type); })
API(bool, tpu_is_data_type_signed, (data_type_t type)) { return is_signed(type); }
API(bool, tpu_is_data_type_int, (data_type_t type)) { return is_integer(type); }
API(bool, tpu_is_data_type_fp, (data_type_t type)) { return is_float(type); }
API(bool, tpu_is_data_type_fp8, (data_type_t type)) { return is_fp8(type); }
API(scalar_t, tpu_cast, (scalar_t value, data_type_t to, data_type_t from, rounding_mode_t mode)) QUERY({
  return cast_scalar(value, to, from, mode);
})
API(scalar_t, tpu_fp_cast, (scalar_t value, data_type_t to, data_type_t from, rounding_mode_t mode)) QUERY({
  return cast_scalar(value, to, from, mode);
})
API(scalar_t, tpu_int_cast, (scalar_t value, data_type_t to, data_type_t from)) QUERY({
  return cast_scalar(value, to, from, RM_HALF_TO_EVEN);
})
API(scalar_t, tpu_fp_to_int_cast, (scalar_t value, data_type_t to, data_type_t from, rounding_mode_t mode)) QUERY({
  return cast_scalar(value, to, from, mode);
})
API(scalar_t, tpu_int_to_fp_cast, (scalar_t value, data_type_t to, data_type_t from, rounding_mode_t mode)) QUERY({
  return cast_scalar(value, to, from, mode);
})

// What the header makes of printf and of TPUKERNEL_ASSERT.
API(int, tpu_sim_print, (const char* format, ...)) {
  char buffer[4096];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  if (core && device) {
    const bool inside = core->inside.exchange(true);
    if (device->printed.size() < (1u << 20)) device->printed += buffer;
    core->inside = inside;
  }
  return length;
}
API(void, tpu_sim_assertion_info, (const char* format, ...)) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  guarded("assertion", 0xff, [&] { fail("assertion", std::string("an assertion of the kernel does not hold: ") + buffer); });
}
API(void, tpu_sim_assertion, (const char* condition)) QUERY({
  fail("assertion", "an assertion of the kernel does not hold", condition);
})
