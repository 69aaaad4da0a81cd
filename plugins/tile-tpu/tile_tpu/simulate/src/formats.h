// Number formats: what a byte pattern of each data type means, and rounding into it.
//
// half: IEEE 754 binary16. bfloat16: the upper half of binary32. e4m3 (no infinity, NaN = 0x7f) and e5m2: OCP OFP8.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "../include/tpu_types.h"

namespace sim {

// What rounding into a format does with values beyond its largest.
enum class Overflow { infinite, saturate };

int bits_of(data_type_t type);  // 4, 8, 16, 32; fails on what is no data type
inline int size_of(data_type_t type) { return bits_of(type) / 8; }
bool is_float(data_type_t type);
bool is_fp8(data_type_t type);
bool is_integer(data_type_t type);
bool is_signed(data_type_t type);
std::string name_of(data_type_t type);
int64_t least_of(data_type_t type);  // of integers
int64_t most_of(data_type_t type);
float largest_of(data_type_t type);  // the largest finite number

inline uint32_t bits_of_float(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
inline float float_of_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

inline float from_half(uint16_t half) {
  const uint32_t magnitude = half & 0x7fffu;
  const uint32_t sign = uint32_t(half & 0x8000u) << 16;
  // shifted into place the exponent is 112 too small; multiplying repairs it, for subnormal numbers too
  float value = float_of_bits(magnitude << 13) * 0x1p112f;
  if (magnitude >= 0x7c00u) value = float_of_bits((magnitude << 13) | 0x7f800000u);
  return float_of_bits(bits_of_float(value) | sign);
}

// To nearest, halves to even; beyond the largest: infinity.
inline uint16_t to_half(float value) {
  uint32_t bits = bits_of_float(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  bits &= 0x7fffffffu;
  uint32_t result;
  if (bits > 0x7f800000u) {
    result = 0x7e00u;
  } else if (bits >= 0x477ff000u) {
    result = 0x7c00u;
  } else if (bits < 0x38800000u) {
    result = bits_of_float(float_of_bits(bits) + 0.5f) - 0x3f000000u;  // 0.5 lines the subnormal's last bit up
  } else {
    result = (bits + 0xfffu + ((bits >> 13) & 1u) - 0x38000000u) >> 13;
  }
  return uint16_t(sign | result);
}

inline float from_bfloat(uint16_t bits) { return float_of_bits(uint32_t(bits) << 16); }

inline uint16_t to_bfloat(float value) {
  const uint32_t bits = bits_of_float(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return uint16_t((bits >> 16) | 0x40u);
  return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// A number as its pattern in memory and back; of integers int64_t holds all.
float float_from(data_type_t type, const uint8_t* at);
int64_t integer_from(data_type_t type, const uint8_t* at);

// ``value`` in a floating format by any rounding mode. The pattern is in the low bits of the result.
uint32_t round_into(data_type_t type, double value, rounding_mode_t mode, Overflow overflow);

double round_whole(double value, rounding_mode_t mode);
int64_t clamp_into(data_type_t type, int64_t value);
// A whole number divided by 2**shift, rounded.
int64_t shift_right(int64_t value, int shift, rounding_mode_t mode);

// Runs of ``count`` elements, ``step`` bytes apart, to float or int64_t and back (to nearest even; no saturation of
// floats; integers are cut to their bits).
void load(data_type_t type, const uint8_t* from, int64_t step, int count, float* to);
void load(data_type_t type, const uint8_t* from, int64_t step, int count, int64_t* to);
void store(data_type_t type, uint8_t* to, int64_t step, int count, const float* from);
void store(data_type_t type, uint8_t* to, int64_t step, int count, const int64_t* from);

scalar_t cast_scalar(scalar_t value, data_type_t to, data_type_t from, rounding_mode_t mode);
float float_of(const scalar_t& value, data_type_t type);
int64_t integer_of(const scalar_t& value, data_type_t type);

}  // namespace sim
