#include "tilecore_metal.h"

// Floats of at most 8 bits, which are structures, in every address space; halves and bfloats.
#define NARROW(T)                                                                                   \
  {                                                                                                 \
    device T* p = (device T*)x;                                                                     \
    threadgroup T* q = (threadgroup T*)(shared + 0);                                                \
    T value = p[0];                                                                                 \
    value = T##_from(1.0f);                                                                         \
    value = T##_from(1);                                                                            \
    value = T##_from(1u);                                                                           \
    value = T##_from(1l);                                                                           \
    value = T##_from(1ul);                                                                          \
    p[1] = value;                                                                                   \
    q[1] = p[0];                                                                                    \
    p[2] = tx > 3 ? tc_value(q[0]) : tc_value(p[0]);                                                \
    p[3] = tc_nextafter(q[0], p[0]);                                                                \
    p[4] = tc_bits<T>((uchar)7);                                                                    \
    x[9] = (float)p[0] + (float)q[0] + (float)value + tc_single(q[2]) + (float)tc_bits<uchar>(p[3]); \
  }
[[kernel, max_total_threads_per_threadgroup(64)]] void narrow_floats(device float* x [[buffer(0)]], constant tc_fp8_e5m2& scalar [[buffer(1)]], uint3 tc_block [[threadgroup_position_in_grid]], uint3 tc_thread [[thread_position_in_threadgroup]]) {
  const int tx = tc_thread.x;
  alignas(16) threadgroup uchar shared[64];
  NARROW(tc_fp8_e4m3) NARROW(tc_fp8_e5m2) NARROW(tc_fp8_e4m3fnuz) NARROW(tc_fp8_e5m2fnuz) NARROW(tc_fp4_e2m1)
  x[0] = (float)scalar + tc_single(scalar);
  device half* h = (device half*)x;
  h[0] = tc_nextafter(tc_fma(h[1], h[2], h[3]), tc_bits<half>((ushort)3));
#if __METAL_VERSION__ >= 310
  device bfloat* b = (device bfloat*)x;
  b[0] = tc_nextafter(tc_fma(b[1], b[2], b[3]), tc_bits<bfloat>((ushort)3));
#endif
}
