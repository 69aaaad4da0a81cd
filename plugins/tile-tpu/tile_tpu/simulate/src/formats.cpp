#include "formats.h"

#include <algorithm>

#include "failure.h"

namespace sim {
namespace {

struct Format {
  int exponent_bits, fraction_bits;
  bool has_infinity;
};

Format format_of(data_type_t type) {
  switch (type) {
    case DT_FP32: return {8, 23, true};
    case DT_TF32: return {8, 10, true};
    case DT_FP16: return {5, 10, true};
    case DT_BFP16: return {8, 7, true};
    case DT_FP8E4M3: return {4, 3, false};
    case DT_FP8E5M2: return {5, 2, true};
    default: fail("unsupported", text("%s is no floating type of the simulator", name_of(type).c_str()));
  }
}

float from_fp8(data_type_t type, uint8_t bits) {
  const Format f = format_of(type);
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7f) >> f.fraction_bits, fraction = bits & ((1 << f.fraction_bits) - 1);
  const float sign = bits & 0x80 ? -1.f : 1.f;
  if (f.has_infinity && exponent == (1 << f.exponent_bits) - 1)
    return fraction ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  if (!f.has_infinity && (bits & 0x7f) == 0x7f) return std::numeric_limits<float>::quiet_NaN();
  const float whole = exponent ? float(fraction + (1 << f.fraction_bits)) : float(fraction);
  return sign * std::ldexp(whole, std::max(exponent, 1) - bias - f.fraction_bits);
}

template <class T, class F>
void strided(const uint8_t* from, int64_t step, int count, F convert) {
  if (step == int64_t(sizeof(T))) {
    for (int i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, from + i * sizeof(T), sizeof(T));
      convert(i, value);
    }
  } else {
    for (int i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, from + i * step, sizeof(T));
      convert(i, value);
    }
  }
}

template <class T, class F>
void spread(uint8_t* to, int64_t step, int count, F convert) {
  if (step == int64_t(sizeof(T))) {
    for (int i = 0; i < count; ++i) {
      const T value = convert(i);
      std::memcpy(to + i * sizeof(T), &value, sizeof(T));
    }
  } else {
    for (int i = 0; i < count; ++i) {
      const T value = convert(i);
      std::memcpy(to + i * step, &value, sizeof(T));
    }
  }
}

}  // namespace

int bits_of(data_type_t type) {
  switch (type) {
    case DT_INT4: case DT_UINT4: return 4;
    case DT_INT8: case DT_UINT8: case DT_FP8E4M3: case DT_FP8E5M2: return 8;
    case DT_INT16: case DT_UINT16: case DT_FP16: case DT_BFP16: return 16;
    case DT_INT32: case DT_UINT32: case DT_FP32: case DT_TF32: return 32;
    default: fail("dtype", "no such data type, or one that the simulator has not", text("%d", int(type)));
  }
}
bool is_fp8(data_type_t type) { return type == DT_FP8E4M3 || type == DT_FP8E5M2; }
bool is_float(data_type_t type) {
  return type == DT_FP32 || type == DT_FP16 || type == DT_BFP16 || type == DT_TF32 || is_fp8(type);
}
bool is_integer(data_type_t type) { return !is_float(type) && type != DT_FP20; }
bool is_signed(data_type_t type) { return is_integer(type) && (type & 1); }

std::string name_of(data_type_t type) {
  switch (type) {
    case DT_INT4: return "DT_INT4";
    case DT_UINT4: return "DT_UINT4";
    case DT_INT8: return "DT_INT8";
    case DT_UINT8: return "DT_UINT8";
    case DT_INT16: return "DT_INT16";
    case DT_UINT16: return "DT_UINT16";
    case DT_INT32: return "DT_INT32";
    case DT_UINT32: return "DT_UINT32";
    case DT_FP32: return "DT_FP32";
    case DT_FP16: return "DT_FP16";
    case DT_BFP16: return "DT_BFP16";
    case DT_FP8E4M3: return "DT_FP8E4M3";
    case DT_FP8E5M2: return "DT_FP8E5M2";
    case DT_FP20: return "DT_FP20";
    case DT_TF32: return "DT_TF32";
  }
  return text("data type %d", int(type));
}

int64_t least_of(data_type_t type) { return is_signed(type) ? -(int64_t(1) << (bits_of(type) - 1)) : 0; }
int64_t most_of(data_type_t type) { return (int64_t(1) << (bits_of(type) - (is_signed(type) ? 1 : 0))) - 1; }
int64_t clamp_into(data_type_t type, int64_t value) {
  return std::min(std::max(value, least_of(type)), most_of(type));
}

float largest_of(data_type_t type) {
  switch (type) {
    case DT_FP16: return 65504.f;
    case DT_BFP16: return float_of_bits(0x7f7f0000u);
    case DT_FP8E4M3: return 448.f;
    case DT_FP8E5M2: return 57344.f;
    default: return std::numeric_limits<float>::max();
  }
}

double round_whole(double value, rounding_mode_t mode) {
  const double below = std::floor(value), rest = value - below;
  switch (mode) {
    case RM_HALF_TO_EVEN: return std::nearbyint(value);
    case RM_HALF_AWAY_FROM_ZERO: return std::round(value);
    case RM_TOWARDS_ZERO: return std::trunc(value);
    case RM_DOWN: return below;
    case RM_UP: return std::ceil(value);
    case RM_HALF_UP: return rest >= 0.5 ? below + 1 : below;
    case RM_HALF_DOWN: return rest > 0.5 ? below + 1 : below;
  }
  fail("argument", "no such rounding mode", text("%d", int(mode)), "0 to 6");
}

int64_t shift_right(int64_t value, int shift, rounding_mode_t mode) {
  if (shift <= 0) return shift < -62 ? 0 : value << -shift;
  if (shift > 62) shift = 62;
  const int64_t one = int64_t(1) << shift, below = value >> shift, rest = value & (one - 1);
  if (!rest) return below;
  const int64_t half = one >> 1;
  switch (mode) {
    case RM_HALF_TO_EVEN: return below + (rest > half || (rest == half && (below & 1)));
    case RM_HALF_AWAY_FROM_ZERO: return below + (rest > half || (rest == half && value >= 0));
    case RM_TOWARDS_ZERO: return below + (value < 0);
    case RM_DOWN: return below;
    case RM_UP: return below + 1;
    case RM_HALF_UP: return below + (rest >= half);
    case RM_HALF_DOWN: return below + (rest > half);
  }
  fail("argument", "no such rounding mode", text("%d", int(mode)), "0 to 6");
}

uint32_t round_into(data_type_t type, double value, rounding_mode_t mode, Overflow overflow) {
  const Format f = format_of(type);
  const int bias = (1 << (f.exponent_bits - 1)) - 1, width = f.exponent_bits + f.fraction_bits;
  const uint32_t sign = uint32_t(std::signbit(value)) << width;
  const uint32_t top = ((1u << f.exponent_bits) - 1) << f.fraction_bits;
  const uint32_t largest = f.has_infinity ? top - 1 : top | ((1u << f.fraction_bits) - 2);
  if (std::isnan(value)) return f.has_infinity ? top | (1u << (f.fraction_bits - 1)) : (1u << width) - 1;
  const uint32_t beyond = overflow == Overflow::saturate ? largest : f.has_infinity ? top : (1u << width) - 1;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | beyond;
  if (magnitude == 0) return sign;
  int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const double quantum = std::ldexp(1.0, exponent - f.fraction_bits);
  const double whole = std::fabs(round_whole(value / quantum, mode));
  uint64_t fraction = uint64_t(whole);
  if (fraction >= (uint64_t(2) << f.fraction_bits)) {
    fraction >>= 1;
    ++exponent;
  }
  uint64_t pattern = fraction;  // subnormal: its exponent field is 0
  if (fraction >> f.fraction_bits) pattern += uint64_t(exponent + bias - 1) << f.fraction_bits;
  if (pattern > largest) return sign | beyond;
  return sign | uint32_t(pattern);
}

float float_from(data_type_t type, const uint8_t* at) {
  float value;
  load(type, at, 0, 1, &value);
  return value;
}
int64_t integer_from(data_type_t type, const uint8_t* at) {
  int64_t value;
  load(type, at, 0, 1, &value);
  return value;
}

void load(data_type_t type, const uint8_t* from, int64_t step, int count, float* to) {
  switch (type) {
    case DT_TF32:
    case DT_FP32: return strided<float>(from, step, count, [to](int i, float v) { to[i] = v; });
    case DT_FP16: return strided<uint16_t>(from, step, count, [to](int i, uint16_t v) { to[i] = from_half(v); });
    case DT_BFP16: return strided<uint16_t>(from, step, count, [to](int i, uint16_t v) { to[i] = from_bfloat(v); });
    case DT_FP8E4M3:
    case DT_FP8E5M2:
      return strided<uint8_t>(from, step, count, [to, type](int i, uint8_t v) { to[i] = from_fp8(type, v); });
    default: fail("dtype", "a floating type is needed", name_of(type));
  }
}

void load(data_type_t type, const uint8_t* from, int64_t step, int count, int64_t* to) {
  switch (type) {
    case DT_INT8: return strided<int8_t>(from, step, count, [to](int i, int8_t v) { to[i] = v; });
    case DT_UINT8: return strided<uint8_t>(from, step, count, [to](int i, uint8_t v) { to[i] = v; });
    case DT_INT16: return strided<int16_t>(from, step, count, [to](int i, int16_t v) { to[i] = v; });
    case DT_UINT16: return strided<uint16_t>(from, step, count, [to](int i, uint16_t v) { to[i] = v; });
    case DT_INT32: return strided<int32_t>(from, step, count, [to](int i, int32_t v) { to[i] = v; });
    case DT_UINT32: return strided<uint32_t>(from, step, count, [to](int i, uint32_t v) { to[i] = v; });
    default: fail("dtype", "an integer type of 8, 16 or 32 bits is needed", name_of(type));
  }
}

void store(data_type_t type, uint8_t* to, int64_t step, int count, const float* from) {
  switch (type) {
    case DT_TF32:
    case DT_FP32: return spread<float>(to, step, count, [from](int i) { return from[i]; });
    case DT_FP16: return spread<uint16_t>(to, step, count, [from](int i) { return to_half(from[i]); });
    case DT_BFP16: return spread<uint16_t>(to, step, count, [from](int i) { return to_bfloat(from[i]); });
    case DT_FP8E4M3:
    case DT_FP8E5M2:
      return spread<uint8_t>(to, step, count, [from, type](int i) {
        return uint8_t(round_into(type, from[i], RM_HALF_TO_EVEN, Overflow::saturate));
      });
    default: fail("dtype", "a floating type is needed", name_of(type));
  }
}

void store(data_type_t type, uint8_t* to, int64_t step, int count, const int64_t* from) {
  switch (size_of(type)) {
    case 1: return spread<uint8_t>(to, step, count, [from](int i) { return uint8_t(from[i]); });
    case 2: return spread<uint16_t>(to, step, count, [from](int i) { return uint16_t(from[i]); });
    case 4: return spread<uint32_t>(to, step, count, [from](int i) { return uint32_t(from[i]); });
    default: fail("dtype", "an integer type of 8, 16 or 32 bits is needed", name_of(type));
  }
}

float float_of(const scalar_t& value, data_type_t type) {
  return float_from(type, reinterpret_cast<const uint8_t*>(&value));
}
int64_t integer_of(const scalar_t& value, data_type_t type) {
  return integer_from(type, reinterpret_cast<const uint8_t*>(&value));
}

scalar_t cast_scalar(scalar_t value, data_type_t to, data_type_t from, rounding_mode_t mode) {
  scalar_t result;
  std::memset(&result, 0, sizeof result);
  if (is_float(to)) {
    const double number = is_float(from) ? double(float_of(value, from)) : double(integer_of(value, from));
    // an infinity stays one here, unlike in tpu_bdc_cast
    const Overflow overflow = std::isinf(number) ? Overflow::infinite : Overflow::saturate;
    result.u32 = round_into(to, number, mode, overflow);
  } else {
    int64_t number;
    if (is_float(from)) {
      const double whole = round_whole(double(float_of(value, from)), mode);
      number = std::isnan(whole) ? 0 : int64_t(std::min(std::max(whole, -4294967296.0), 4294967296.0));
    } else {
      number = integer_of(value, from);
    }
    result.u32 = uint32_t(clamp_into(to, number)) & uint32_t((uint64_t(1) << bits_of(to)) - 1);
  }
  return result;
}

}  // namespace sim
