// A stand-in for Metal Performance Primitives: what of matmul2d MLX calls (mlx/backend/metal/kernels/steel/gemm/nax.h of
// 2026-08), from MSL 4 on. The descriptor is a number here, as clang takes no structure as a parameter of a template.
#pragma once
#include <metal_stdlib>
#if __METAL_VERSION__ >= 400
namespace metal {
struct execution_simdgroup {};
template <typename T>
struct without_space { typedef T type; };
template <typename T>
using remove_addrspace_t = typename without_space<T>::type;
}  // namespace metal
namespace mpp {
namespace tensor_ops {
struct matmul2d_descriptor {
  enum class mode { multiply, multiply_accumulate };
  constexpr matmul2d_descriptor(int m, int n, int k, bool left, bool right, bool relaxed, mode) :
      number(m + 1024l * (n + 1024l * (k + 1024l * (left + 2 * right + 4 * relaxed)))) {}
  constexpr operator long() const { return number; }
  long number;
};
template <typename T>
class cooperative_tensor {
 public:
  T operator[](ushort element) const;
  thread T& operator[](ushort element);

 private:
  T elements[16];
};
template <long Descriptor, typename Scope>
struct matmul2d {
  static_assert(Descriptor % 1024 % 16 == 0 || Descriptor / 1024 % 1024 % 16 == 0, "M or N is a multiple of 16");
  template <typename A, typename B, typename C> cooperative_tensor<A> get_left_input_cooperative_tensor();
  template <typename A, typename B, typename C> cooperative_tensor<B> get_right_input_cooperative_tensor();
  template <typename A, typename B, typename C> cooperative_tensor<C> get_destination_cooperative_tensor();
  template <typename A, typename B, typename C>
  void run(thread cooperative_tensor<A>& a, thread cooperative_tensor<B>& b, thread cooperative_tensor<C>& c);
};
}  // namespace tensor_ops
}  // namespace mpp
#endif
