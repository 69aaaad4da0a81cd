// A stand-in for Apple's header: matmul2d of one simdgroup, with operands and sums in cooperative tensors ("Metal Shading
// Language Specification" 4.0, 2.22 and 6.22). A descriptor is a number here, as C++17 has no structures as arguments of
// templates.
#pragma once
#include <metal_stdlib>
#if __METAL_VERSION__ < 400
#error "Metal Performance Primitives need MSL 4.0"
#endif
namespace metal {
struct execution_simdgroup {};
template <typename T>
using remove_addrspace_t = T;
}  // namespace metal
namespace mpp {
namespace tensor_ops {
struct matmul2d_descriptor {
  enum class mode { multiply, multiply_accumulate };
  constexpr matmul2d_descriptor(int m, int n, int k, bool transpose_left, bool transpose_right, bool relaxed, mode kind)
      : number(m + 64 * n + 4096 * k + (transpose_left + 2 * transpose_right + 4 * relaxed) * 262144 +
               (kind == mode::multiply_accumulate) * 4194304) {}
  constexpr operator int() const { return number; }
  int number;
};
template <typename T, int Count>
struct cooperative_tensor {
  typedef T element;
  thread T& operator[](ushort index) thread;
};
template <int Descriptor, typename Scope>
struct matmul2d {
  static_assert(Descriptor >= 4194304, "products are added to the sums");
  static constant const int rows = Descriptor % 64, columns = Descriptor / 64 % 64, depth = Descriptor / 4096 % 64;
  static_assert(rows % 16 == 0 || columns % 16 == 0, "M or N is a multiple of 16");
  template <typename A, typename B, typename C>
  cooperative_tensor<A, rows * depth / 32> get_left_input_cooperative_tensor() thread;
  template <typename A, typename B, typename C>
  cooperative_tensor<B, depth * columns / 32> get_right_input_cooperative_tensor() thread;
  template <typename A, typename B, typename C>
  cooperative_tensor<C, rows * columns / 32> get_destination_cooperative_tensor() thread;
  template <typename A, typename B, typename C>
  void run(thread A& left, thread B& right, thread C& sums) thread {
    static_assert(stand_in::one_of<typename A::element, half, bfloat, float>::value, "of half, bfloat or float");
    static_assert(stand_in::one_of<typename C::element, half, float>::value, "sums are of half or float");
  }
};
}  // namespace tensor_ops
}  // namespace mpp
