// Conversions of narrow floats by integer arithmetic, for headers of devices. A backend's header includes it after its own
// tc_bits, tc_abs of float, and tc_half_value.
#pragma once

// The size of x in a type with F bits of fraction, as its bits without the sign: to nearest even, and at most the float
// with the bits LARGEST, which NaN becomes, too. BIAS: of the exponent; MASK: the bits of the type but the sign. A power of
// two is added whose last place is the type's last place near x: the sum is rounded there, and ends with x in such places.
template <int F, int BIAS, unsigned LARGEST, unsigned MASK>
TC_FN unsigned tc_rounded_size(float x) {
  const unsigned all = tc_bits<unsigned>(x) & 0x7fffffff, size = all < LARGEST ? all : LARGEST;
  const unsigned power = size & 0x7f800000, least = unsigned(128 - BIAS) << 23;  // of the type's normal numbers
  const unsigned exponent = power > least ? power : least;
  const float aligner = tc_bits<float>(exponent + (unsigned(23 - F) << 23));
  const unsigned places = tc_bits<unsigned>(tc_bits<float>(size) + aligner);
  return (places + (exponent >> (23 - F)) - (unsigned(128 - BIAS) << F)) & MASK;
}
// NaN by its bits: with fast mathematics compilers take x != x for false.
TC_FN bool tc_has_bits_of_nan(float x) { return (tc_bits<unsigned>(x) & 0x7fffffff) > 0x7f800000; }

// To 8 bits, to nearest even, saturating.
template <int F, int BIAS, unsigned LARGEST>
TC_FN unsigned char tc_fp8_bits(float x) {
  const unsigned size = tc_rounded_size<F, BIAS, LARGEST, 0x7f>(x);
  return (unsigned char)((tc_bits<unsigned>(x) >> 24 & 0x80) | (tc_has_bits_of_nan(x) ? 0x7f : size));
}
TC_FN unsigned char tc_computed_e4m3_bits(float x) { return tc_fp8_bits<3, 7, 0x43e00000>(x); }
// As a half, whose fields it fits into, the value is 2 to the 8th too small.
TC_FN float tc_computed_e4m3_value(unsigned char bits) {
  const unsigned half_bits = unsigned((signed char)bits) << 7 & 0xbf80;
  const float value = tc_half_value((unsigned short)half_bits) * 256.0f;
  return tc_abs(value) == 480.0f ? TC_NAN : value;
}
TC_FN unsigned char tc_computed_e5m2_bits(float x) { return tc_fp8_bits<2, 15, 0x47600000>(x); }
TC_FN float tc_computed_e5m2_value(unsigned char bits) { return tc_half_value((unsigned short)(bits << 8)); }

// Types without -0: its bits are the only NaN, and the exponent's bias is greater by 1.
template <int F, int BIAS, unsigned LARGEST>
TC_FN unsigned char tc_fnuz_bits(float x) {
  const unsigned size = tc_rounded_size<F, BIAS, LARGEST, 0x7f>(x);
  const unsigned bits = size == 0 ? 0 : (tc_bits<unsigned>(x) >> 24 & 0x80) | size;
  return (unsigned char)(tc_has_bits_of_nan(x) ? 0x80 : bits);
}
TC_FN unsigned char tc_computed_e4m3fnuz_bits(float x) { return tc_fnuz_bits<3, 8, 0x43700000>(x); }
TC_FN float tc_computed_e4m3fnuz_value(unsigned char bits) {
  const unsigned half_bits = unsigned((signed char)bits) << 7 & 0xbf80;
  return bits == 0x80 ? TC_NAN : tc_half_value((unsigned short)half_bits) * 128.0f;
}
TC_FN unsigned char tc_computed_e5m2fnuz_bits(float x) { return tc_fnuz_bits<2, 16, 0x47600000>(x); }
// As a half twice its value, but for the greatest exponent, which has no numbers there: as a float 2 to the 111th too small.
TC_FN float tc_computed_e5m2fnuz_value(unsigned char bits) {
  const unsigned size = unsigned((signed char)bits) << 21 & 0x8fe00000;
  return bits == 0x80 ? TC_NAN : tc_bits<float>(size) * tc_bits<float>(0x77000000u);
}
TC_FN unsigned short tc_computed_bfloat16_bits(float x) {
  const unsigned bits = tc_bits<unsigned>(x);
  if (x != x) return (unsigned short)(bits >> 16 | 0x40);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
TC_FN float tc_bfloat16_value(unsigned short bits) { return tc_bits<float>(unsigned(bits) << 16); }

// OCP microscaling formats 1.0, 5.3.3: a sign, 2 bits of exponent (bias 1), 1 of fraction; no NaN, which becomes 6.
TC_FN unsigned char tc_e2m1_bits(float x) {
  const unsigned size = tc_rounded_size<1, 1, 0x40c00000, 7>(x);
  return (unsigned char)(size | (tc_has_bits_of_nan(x) ? 0 : tc_bits<unsigned>(x) >> 28 & 8));
}
// As a half, whose fields it fits into, the value is 2 to the 14th too small.
TC_FN float tc_e2m1_value(unsigned char bits) {
  return tc_half_value((unsigned short)((bits & 8) << 12 | (bits & 7) << 9)) * 16384.0f;
}
