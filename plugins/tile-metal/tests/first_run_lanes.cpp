// Runs tile_metal/first_run/lane_layout.metal on the host: PROGRAM is its text without what C++ does not know.
//
// A thread of the host is a thread of the threadgroup. Each lane has the whole matrix, and says which two elements are its
// own by a formula that is written anew here, in bits; with a second argument, as another chip could have it.
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
typedef unsigned uint;
typedef _Float16 half;
typedef float bfloat;
struct ulong2 { explicit ulong2(unsigned long) {} };
namespace metal {
inline std::barrier<> meeting(64);
inline thread_local unsigned lane_here;
inline bool is_another_chip;
enum class mem_flags { mem_threadgroup };
inline void threadgroup_barrier(mem_flags) { meeting.arrive_and_wait(); }
template <typename T, int rows, int columns> struct simdgroup_matrix {
  T values[8][8], own[2];
  static unsigned row() {
    const unsigned l = lane_here;
    return is_another_chip ? l >> 2 : (l >> 4 & 1) << 2 | (l >> 2 & 1) << 1 | (l >> 1 & 1);
  }
  static unsigned column() {
    const unsigned l = lane_here;
    return is_another_chip ? (l & 3) << 1 : (l >> 3 & 1) << 2 | (l & 1) << 1;
  }
  simdgroup_matrix() {}
  explicit simdgroup_matrix(T diagonal) {
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 8; ++c) values[r][c] = r == c ? diagonal : T(0);
    split();
  }
  void split() { own[0] = values[row()][column()]; own[1] = values[row()][column() + 1]; }
  T* thread_elements() { return own; }
};
template <typename T>
void simdgroup_load(simdgroup_matrix<T, 8, 8>& m, const T* p, int stride, ulong2 = ulong2(0), bool transposed = false) {
  for (int r = 0; r < 8; ++r)
    for (int c = 0; c < 8; ++c) m.values[r][c] = transposed ? p[c * stride + r] : p[r * stride + c];
  m.split();
}
template <typename T> void simdgroup_store(simdgroup_matrix<T, 8, 8> m, T* p, int stride) {
  for (int e = 0; e < 2; ++e) p[m.row() * stride + m.column() + e] = m.own[e];
}
template <typename D, typename T>
void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<T, 8, 8> a,
                                   simdgroup_matrix<T, 8, 8> b, simdgroup_matrix<D, 8, 8> c) {
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      D sum = c.values[i][j];
      for (int k = 0; k < 8; ++k) sum += D(a.values[i][k]) * D(b.values[k][j]);
      d.values[i][j] = sum;
    }
  d.split();
}
}  // namespace metal

#define device
#define threadgroup
#define __METAL_VERSION__ 310
#include PROGRAM
int main(int count, char** words) {
  metal::is_another_chip = count > 2;
  const int size = std::atoi(words[1]);
  std::vector<float> numbers(64), elements(size, -1);
  for (int i = 0; i < 64; ++i) numbers[i] = i;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 64; ++i) threads.emplace_back([&, i] {
    metal::lane_here = i % 32;
    lanes(numbers.data(), elements.data(), i, i % 32, i / 32, 32);
  });
  for (auto& thread : threads) thread.join();
  for (float value : elements) std::printf("%g ", value);
}
