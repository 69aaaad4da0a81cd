// The hash and arithmetic unit (HAU): sorts rows of system memory, on its own until tpu_hau_poll.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "calls.h"
#include "dma.h"

using namespace sim;

namespace {

Side whole(const char* role, system_addr_t address, int count, data_type_t type, bool write) {
  return system_side(role, address, {1, 1, 1, count}, nullptr, type, write);
}

// The K first of a row in order; equal values keep theirs.
void sort_row(system_addr_t data_out, system_addr_t index_out, system_addr_t data, system_addr_t index, int length, int k,
              bool descending, data_type_t type) {
  if (type != DT_FP32 && type != DT_INT32 && type != DT_UINT32)
    fail("dtype", "a sort of this type", name_of(type), "DT_FP32, DT_INT32, DT_UINT32");
  if (length < 1 || k < 1 || k > length)
    fail("extent", "a sort of this size", text("%d of %d", k, length), "1 <= K <= len");
  const Side from = whole("input", data, length, type, false), to = whole("output", data_out, k, type, true);
  note_side(from, from.offset(0, 0, 0), 4, length, 4, false);
  std::vector<double> values(length);
  for (int i = 0; i < length; ++i) {
    const uint8_t* at = from.memory->at(from.offset(0, 0, 0) + uint64_t(i) * 4);
    values[i] = is_float(type) ? double(float_from(type, at)) : double(integer_from(type, at));
  }
  std::vector<int> order(length);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return descending ? values[a] > values[b] : values[a] < values[b];
  });
  std::vector<uint32_t> patterns(k), numbers(k);
  for (int i = 0; i < k; ++i) {
    std::memcpy(&patterns[i], from.memory->at(from.offset(0, 0, 0) + uint64_t(order[i]) * 4), 4);
    numbers[i] = uint32_t(order[i]);
    if (index) {
      const Side given = whole("input index", index, length, DT_INT32, false);
      note_side(given, given.offset(0, 0, 0) + uint64_t(order[i]) * 4, 4, 1, 4, false);
      std::memcpy(&numbers[i], given.memory->at(given.offset(0, 0, 0) + uint64_t(order[i]) * 4), 4);
    }
  }
  note_side(to, to.offset(0, 0, 0), 4, k, 4, true);
  std::memcpy(to.memory->at(to.offset(0, 0, 0)), patterns.data(), size_t(k) * 4);
  if (index_out) {
    const Side places = whole("output index", index_out, k, DT_INT32, true);
    note_side(places, places.offset(0, 0, 0), 4, k, 4, true);
    std::memcpy(places.memory->at(places.offset(0, 0, 0)), numbers.data(), size_t(k) * 4);
  }
  // a guess: a value a cycle and round of a merge sort
  const double cycles = length * std::max(1.0, std::ceil(std::log2(double(length)))) * device->chip.dma_cycle;
  core->counts.hau_cycles += cycles;
  spend(Engine::hau, cycles);
}

void sort_rows(system_addr_t data_out, system_addr_t index_out, system_addr_t data, system_addr_t index, int rows,
               int length, int k, bool descending, data_type_t type) {
  if (rows < 1) fail("extent", "a sort of no rows", text("%d", rows));
  for (int r = 0; r < rows; ++r) {
    const uint64_t in = uint64_t(r) * length * 4, out = uint64_t(r) * k * 4;
    sort_row(data_out + out, index_out ? index_out + out : 0, data + in, index ? index + in : 0, length, k, descending, type);
  }
}

}  // namespace

API(void, tpu_hau_sort,
    (system_addr_t output, system_addr_t input, int length, int K, bool descending, data_type_t type))
COMMAND(hau, { sort_rows(output, 0, input, 0, 1, length, K, descending, type); })
API(void, tpu_hau_sort_natural_index,
    (system_addr_t output, system_addr_t index, system_addr_t input, int length, int K, bool descending,
     data_type_t type)) COMMAND(hau, { sort_rows(output, index, input, 0, 1, length, K, descending, type); })
API(void, tpu_hau_sort_specific_index,
    (system_addr_t output, system_addr_t index, system_addr_t input, system_addr_t input_index, int length, int K,
     bool descending, data_type_t type))
COMMAND(hau, { sort_rows(output, index, input, input_index, 1, length, K, descending, type); })
API(void, tpu_hau_sort_natural_index_2d,
    (system_addr_t output, system_addr_t index, system_addr_t input, int rows, int length, int K, bool descending,
     data_type_t type)) COMMAND(hau, { sort_rows(output, index, input, 0, rows, length, K, descending, type); })
