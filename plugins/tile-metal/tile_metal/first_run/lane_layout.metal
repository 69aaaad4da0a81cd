// Writes which elements of 8 x 8 simdgroup matrices each lane holds: first_run/lane_layout.py reads them.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

#define FORMS 4     // ways to make a matrix, in the order of make_matrices
#define SIMDGROUPS 2
#define FORM_SIZE (SIMDGROUPS * 64)

// The row of the first element that lane_layout.py expects in a lane, times 8, plus its column.
inline uint expected_place(uint lane) {
  const uint quad = lane / 4;
  return ((quad & 4) + lane / 2 % 4) * 8 + (quad & 2) * 2 + lane % 2 * 2;
}

template <typename T>
void write_elements(simdgroup_matrix<T, 8, 8> matrix, device float* elements, uint lane) {
  elements[2 * lane] = float(matrix.thread_elements()[0]);
  elements[2 * lane + 1] = float(matrix.thread_elements()[1]);
}

// numbers: 64 numbers that T holds exactly, in rows of 8. tile: a copy of them. stored: room for a matrix.
template <typename T>
void make_matrices(const device float* numbers, threadgroup T* tile, threadgroup T* stored, device float* elements,
                   uint lane, uint simdgroup, uint thread_index) {
  tile[thread_index] = T(numbers[thread_index]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  device float* place = elements + simdgroup * 64;
  simdgroup_matrix<T, 8, 8> matrix;
  simdgroup_load(matrix, tile, 8);
  write_elements(matrix, place, lane);
  simdgroup_matrix<T, 8, 8> transposed;
  simdgroup_load(transposed, tile, 8, ulong2(0), true);
  write_elements(transposed, place + FORM_SIZE, lane);
  const simdgroup_matrix<T, 8, 8> identity(T(1));
  simdgroup_matrix<float, 8, 8> product(0.0f);
  simdgroup_multiply_accumulate(product, matrix, identity, product);
  write_elements(product, place + 2 * FORM_SIZE, lane);
  simdgroup_matrix<T, 8, 8> by_hand(T(0));
  by_hand.thread_elements()[0] = T(numbers[expected_place(lane)]);
  by_hand.thread_elements()[1] = T(numbers[expected_place(lane) + 1]);
  threadgroup T* own_store = stored + simdgroup * 64;
  simdgroup_store(by_hand, own_store, 8);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  place[3 * FORM_SIZE + 2 * lane] = float(own_store[2 * lane]);
  place[3 * FORM_SIZE + 2 * lane + 1] = float(own_store[2 * lane + 1]);
}

[[kernel, max_total_threads_per_threadgroup(64)]] void KERNEL(const device float* numbers [[buffer(0)]], device float* elements [[buffer(1)]], uint thread_index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]], uint width [[threads_per_simdgroup]]) {
  threadgroup float float_tile[64];
  threadgroup float float_stored[128];
  threadgroup half half_tile[64];
  threadgroup half half_stored[128];
#if __METAL_VERSION__ >= 310
  threadgroup bfloat bfloat_tile[64];
  threadgroup bfloat bfloat_stored[128];
#endif
  make_matrices(numbers, float_tile, float_stored, elements, lane, simdgroup, thread_index);
  make_matrices(numbers, half_tile, half_stored, elements + FORMS * FORM_SIZE, lane, simdgroup, thread_index);
#if __METAL_VERSION__ >= 310
  make_matrices(numbers, bfloat_tile, bfloat_stored, elements + 2 * FORMS * FORM_SIZE, lane, simdgroup, thread_index);
#endif
  if (thread_index == 0) {
    elements[3 * FORMS * FORM_SIZE] = float(width);
    elements[3 * FORMS * FORM_SIZE + 1] = float(__METAL_VERSION__);
  }
}
