// The conversions of tilecore_hip/floats.h for a host. The instructions are emulated as they are taken to work: the nearest
// value, of two the even one; NaN for NaN, and here for all that is beyond the largest value, which the header must clamp.
// Built with -D__gfx942__ or the like, and with FNUZ as 1 where the chip's 8-bit floats have no -0.
using size_t = __SIZE_TYPE__;
#define TC_FN inline
#include "tilecore_c.h"
TC_FN float tc_abs(float x) { return __builtin_fabsf(x); }
TC_FN double tc_abs(double x) { return __builtin_fabs(x); }
TC_FN bool tc_isinf(float x) { return tc_abs(x) == TC_INFINITY; }
TC_FN bool tc_isinf(double x) { return tc_abs(x) == double(TC_INFINITY); }
TC_FN bool tc_isfinite(double x) { return x - x == 0; }
TC_FN float tc_min(float a, float b) { return b < a || a != a ? b : a; }
TC_FN float tc_max(float a, float b) { return a < b || a != a ? b : a; }

// Of both types of the chip: the finite values that are not negative, and their number.
extern "C" {
float fp8_values[128], bf8_values[128];
int fp8_count, bf8_count;
}

static int nearest(float x, const float* values, int count, int not_a_number) {
  const float size = __builtin_fabsf(x);
  const int sign = tc_bits<unsigned>(x) >> 24 & 0x80;
  if (!(size <= values[count - 1])) return not_a_number;
  int low = 0, high = count - 1;  // values[low] <= size <= values[high]
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (values[middle] <= size ? low : high) = middle;
  }
  const double below = double(size) - values[low], above = double(values[high]) - size;
  const int chosen = below < above ? low : above < below ? high : low % 2 == 0 ? low : high;
  return FNUZ && chosen == 0 ? 0 : sign | chosen;
}
static float value(int bits, const float* values, int count) {
  const int size = bits & 0x7f;
  if (FNUZ && bits == 0x80) return TC_NAN;
  const float number = size < count ? values[size] : size == count && count == 124 ? TC_INFINITY : TC_NAN;
  return bits & 0x80 ? -number : number;
}
#define __builtin_amdgcn_cvt_pk_fp8_f32(x, y, old, high) ((old & ~0xff) | nearest(x, fp8_values, fp8_count, FNUZ ? 0x80 : 0x7f))
#define __builtin_amdgcn_cvt_pk_bf8_f32(x, y, old, high) ((old & ~0xff) | nearest(x, bf8_values, bf8_count, FNUZ ? 0x80 : 0x7f))
#define __builtin_amdgcn_cvt_f32_fp8(bits, place) value(bits, fp8_values, fp8_count)
#define __builtin_amdgcn_cvt_f32_bf8(bits, place) value(bits, bf8_values, bf8_count)
// Of a NaN and two numbers the lesser number.
static float __builtin_amdgcn_fmed3f(float x, float low, float high) {
  return x != x ? (low < high ? low : high) : x < low ? low : x > high ? high : x;
}
#define __builtin_fmaf16(a, b, c) (_Float16)(a * b + c)  // not called
#include "tilecore_hip/floats.h"

#define CONVERSIONS(NAME, TYPE)                                              \
  extern "C" void narrow_##NAME(const float* x, unsigned char* y, size_t n) { \
    for (size_t i = 0; i < n; ++i) y[i] = TYPE(x[i]).bits;                   \
  }                                                                          \
  extern "C" void wide_##NAME(const unsigned char* x, float* y, size_t n) {  \
    for (size_t i = 0; i < n; ++i) y[i] = float(TYPE::from_bits(x[i]));      \
  }
CONVERSIONS(float8_e4m3fn, tc_fp8_e4m3)
CONVERSIONS(float8_e5m2, tc_fp8_e5m2)
CONVERSIONS(float8_e4m3fnuz, tc_fp8_e4m3fnuz)
CONVERSIONS(float8_e5m2fnuz, tc_fp8_e5m2fnuz)
CONVERSIONS(float4_e2m1fn, tc_fp4_e2m1)
