// The device form of tilecore_metal.h on a host: each function on an array, or by the threads of a threadgroup.
// test_metal_header_functions.py puts the header's text in front.
#define EACH(NAME, TO, CALL, ...)                                \
  extern "C" void NAME(ulong count, TO* to, __VA_ARGS__) {       \
    for (ulong i = 0; i < count; ++i) to[i] = CALL;              \
  }
#define OF_FLOAT(NAME) EACH(f_##NAME, float, tc_##NAME(a[i]), const float* a)
#define OF_FLOATS(NAME) EACH(f_##NAME, float, tc_##NAME(a[i], b[i]), const float* a, const float* b)
OF_FLOAT(exp) OF_FLOAT(exp2) OF_FLOAT(exp10) OF_FLOAT(log) OF_FLOAT(log2) OF_FLOAT(log10) OF_FLOAT(sin) OF_FLOAT(cos)
OF_FLOAT(tan) OF_FLOAT(asin) OF_FLOAT(acos) OF_FLOAT(atan) OF_FLOAT(sinh) OF_FLOAT(cosh) OF_FLOAT(tanh) OF_FLOAT(asinh)
OF_FLOAT(acosh) OF_FLOAT(atanh) OF_FLOAT(sqrt) OF_FLOAT(rsqrt) OF_FLOAT(floor) OF_FLOAT(ceil) OF_FLOAT(trunc)
OF_FLOAT(nearbyint) OF_FLOAT(sigmoid) OF_FLOAT(log1p) OF_FLOAT(erf) OF_FLOAT(abs) OF_FLOAT(isnan) OF_FLOAT(isinf)
OF_FLOAT(isfinite) OF_FLOAT(round_tf32)
OF_FLOATS(pow) OF_FLOATS(atan2) OF_FLOATS(fmod) OF_FLOATS(copysign) OF_FLOATS(hypot) OF_FLOATS(nextafter)
OF_FLOATS(floor_mod) OF_FLOATS(min) OF_FLOATS(max) OF_FLOATS(quotient) OF_FLOATS(rounded_add) OF_FLOATS(rounded_sub)
OF_FLOATS(rounded_mul)
EACH(f_ldexp, float, tc_ldexp(a[i], b[i]), const float* a, const int* b)

#define TRUNCATED(NAME, T) EACH(truncate_##NAME, T, tc_truncate<T>(a[i]), const float* a)
TRUNCATED(int8, char) TRUNCATED(int16, short) TRUNCATED(int32, int) TRUNCATED(int64, long)
TRUNCATED(uint8, uchar) TRUNCATED(uint16, ushort) TRUNCATED(uint32, uint) TRUNCATED(uint64, ulong)

#define OF_INTEGERS(NAME, T)                                                                     \
  EACH(div_##NAME, T, tc_div(a[i], b[i]), const T* a, const T* b)                                \
  EACH(mod_##NAME, T, tc_mod(a[i], b[i]), const T* a, const T* b)                                \
  EACH(floor_div_##NAME, T, tc_floor_div(a[i], b[i]), const T* a, const T* b)                    \
  EACH(floor_mod_##NAME, T, tc_floor_mod(a[i], b[i]), const T* a, const T* b)                    \
  EACH(abs_##NAME, T, tc_abs(a[i]), const T* a)
OF_INTEGERS(int32, int)
OF_INTEGERS(int64, long)
#define EXTREMES(NAME, T)                                            \
  EACH(min_##NAME, T, tc_min(a[i], b[i]), const T* a, const T* b)    \
  EACH(max_##NAME, T, tc_max(a[i], b[i]), const T* a, const T* b)
EXTREMES(int32, int)
EXTREMES(int64, long)
EXTREMES(uint32, uint)
EXTREMES(uint64, ulong)
EACH(popcount_uint32, int, tc_popcount(a[i]), const uint* a)
EACH(popcount_uint64, int, tc_popcount(a[i]), const ulong* a)
EACH(clz_uint32, int, tc_clz(a[i]), const uint* a)
EACH(clz_uint64, int, tc_clz(a[i]), const ulong* a)

#define NARROW_FLOAT(NAME, T)                                                                                      \
  EACH(to_##NAME, uchar, tc_bits<uchar>(T##_from(a[i])), const float* a)                                           \
  EACH(to_##NAME##_int32, uchar, tc_bits<uchar>(T##_from(a[i])), const int* a)                                     \
  EACH(to_##NAME##_uint32, uchar, tc_bits<uchar>(T##_from(a[i])), const uint* a)                                   \
  EACH(to_##NAME##_int64, uchar, tc_bits<uchar>(T##_from(a[i])), const long* a)                                    \
  EACH(to_##NAME##_uint64, uchar, tc_bits<uchar>(T##_from(a[i])), const ulong* a)                                  \
  EACH(from_##NAME, float, (float)tc_bits<T>(a[i]), const uchar* a)                                                \
  EACH(single_##NAME, float, tc_single(tc_bits<T>(a[i])), const uchar* a)                                          \
  EACH(nextafter_##NAME, uchar, tc_bits<uchar>(tc_nextafter(tc_bits<T>(a[i]), tc_bits<T>(b[i]))), const uchar* a, \
       const uchar* b)
NARROW_FLOAT(float8_e4m3fn, tc_fp8_e4m3)
NARROW_FLOAT(float8_e5m2, tc_fp8_e5m2)
NARROW_FLOAT(float8_e4m3fnuz, tc_fp8_e4m3fnuz)
NARROW_FLOAT(float8_e5m2fnuz, tc_fp8_e5m2fnuz)
NARROW_FLOAT(float4_e2m1fn, tc_fp4_e2m1)
#define WIDER(NAME, T)                                                                                                 \
  EACH(nextafter_##NAME, ushort, tc_bits<ushort>(tc_nextafter(tc_bits<T>(a[i]), tc_bits<T>(b[i]))), const ushort* a,    \
       const ushort* b)                                                                                                \
  EACH(fma_##NAME, ushort, tc_bits<ushort>(tc_fma(tc_bits<T>(a[i]), tc_bits<T>(b[i]), tc_bits<T>(c[i]))),               \
       const ushort* a, const ushort* b, const ushort* c)
WIDER(float16, half)
WIDER(bfloat16, bfloat)

// -- threads ---------------------------------------------------------------------------------------------------------------
extern "C" void run_threads(uint count, void (*body)(uint thread_index, void* data), void* data);
struct Shuffle {
  const void* from;
  void* to;
  int lane, width;
};
#define OF_PART_idx tc_shuffle_idx_of_part
#define OF_PART_up tc_shuffle_up_of_part
#define OF_PART_down tc_shuffle_down_of_part
#define OF_PART_xor(VALUE, LANE, WIDTH, OWN) tc_shuffle_xor(VALUE, LANE, WIDTH)
#define SHUFFLE(KIND, NAME, T)                                                                                          \
  extern "C" void shuffle_##KIND##_##NAME(const T* from, T* to, int lane, int width) {                                  \
    Shuffle all = {from, to, lane, width};                                                                              \
    run_threads(32, [](uint i, void* data) {                                                                            \
      const Shuffle& all = *(const Shuffle*)data;                                                                       \
      const T value = ((const T*)all.from)[i];                                                                          \
      ((T*)all.to)[i] = all.width == 32 ? tc_shuffle_##KIND(value, all.lane) : OF_PART_##KIND(value, all.lane, all.width, i); \
    }, &all);                                                                                                           \
  }
#define SHUFFLES(NAME, T) SHUFFLE(idx, NAME, T) SHUFFLE(xor, NAME, T) SHUFFLE(up, NAME, T) SHUFFLE(down, NAME, T)
SHUFFLES(int8, char) SHUFFLES(uint16, ushort) SHUFFLES(int32, int) SHUFFLES(int64, long) SHUFFLES(uint64, ulong)
SHUFFLES(bool, bool) SHUFFLES(float16, half) SHUFFLES(bfloat16, bfloat) SHUFFLES(float32, float)
SHUFFLES(float8_e4m3fn, tc_fp8_e4m3)

struct Reduction {
  const void* from;
  void* to;
};
#define REDUCTION(KIND, NAME, T)                                                                                        \
  extern "C" void lanes_##KIND##_##NAME(const T* from, T* to) {                                                         \
    Reduction all = {from, to};                                                                                         \
    run_threads(32, [](uint i, void* data) {                                                                            \
      const Reduction& all = *(const Reduction*)data;                                                                   \
      ((T*)all.to)[i] = tc_lanes_##KIND(((const T*)all.from)[i]);                                                       \
    }, &all);                                                                                                           \
  }
#define OF_NUMBERS(NAME, T) REDUCTION(sum, NAME, T) REDUCTION(product, NAME, T) REDUCTION(min, NAME, T) REDUCTION(max, NAME, T)
#define OF_BITS(NAME, T) REDUCTION(and, NAME, T) REDUCTION(or, NAME, T) REDUCTION(xor, NAME, T)
OF_NUMBERS(int8, char) OF_NUMBERS(uint8, uchar) OF_NUMBERS(int16, short) OF_NUMBERS(uint32, uint) OF_NUMBERS(float32, float)
OF_NUMBERS(float16, half) OF_NUMBERS(bfloat16, bfloat)
OF_BITS(int8, char) OF_BITS(uint16, ushort) OF_BITS(int32, int) OF_BITS(bool, bool)

// to: of each thread any, all, ballot of the simdgroup; any, all, count of the threadgroup
struct Votes {
  const bool* votes;
  int (*to)[6];
  uint word;
};
extern "C" void votes(uint count, const bool* votes, int (*to)[6]) {
  Votes all = {votes, to, 77};
  run_threads(count, [](uint i, void* data) {
    Votes& all = *(Votes*)data;
    threadgroup metal::atomic_uint* word = (threadgroup metal::atomic_uint*)&all.word;
    const bool vote = all.votes[i];
    all.to[i][0] = tc_vote_any(vote), all.to[i][1] = tc_vote_all(vote), all.to[i][2] = (int)tc_vote_ballot(vote);
    all.to[i][3] = tc_threadgroup_any(word, vote), all.to[i][4] = tc_threadgroup_all(word, vote);
    all.to[i][5] = tc_threadgroup_count(word, vote);
  }, &all);
}

// Each thread updates element `thread % 8` of `memory` with its value, `rounds` times; old: what it had in the last round.
struct Update {
  void *memory, *old;
  const void* values;
  int rounds;
};
#define ATOMIC(PREFIX, SPACE, KIND, NAME, T, CALL)                                                                              \
  extern "C" void PREFIX##_##KIND##_##NAME(uint threads, T* memory, const T* values, T* old, int rounds) {               \
    Update all = {memory, old, values, rounds};                                                                         \
    run_threads(threads, [](uint i, void* data) {                                                                       \
      const Update& all = *(const Update*)data;                                                                         \
      SPACE T* p = (SPACE T*)((T*)all.memory + i % 8);                                                                  \
      const T v = ((const T*)all.values)[i];                                                                            \
      for (int round = 0; round < all.rounds; ++round) ((T*)all.old)[i] = CALL;                                         \
    }, &all);                                                                                                           \
  }
#define KIND(PREFIX, SPACE, WHICH, NAME, T) ATOMIC(PREFIX, SPACE, WHICH, NAME, T, tc_atomic_##WHICH(p, v))
#define CHANGED_BY_CAS(PREFIX, SPACE, NAME, T)                                                                                  \
  TC_FN T PREFIX##_swapped(SPACE T* p, T v) {                                                                            \
    T seen = tc_atomic_load(p);                                                                                         \
    while (true) {                                                                                                      \
      const T before = tc_atomic_cas(p, seen, tc_added(seen, v), tc_acq_rel);                                           \
      if (tc_to_word(before) == tc_to_word(seen)) return before;                                                        \
      seen = before;                                                                                                    \
    }                                                                                                                   \
  }                                                                                                                     \
  ATOMIC(PREFIX, SPACE, cas, NAME, T, PREFIX##_swapped(p, v))
#define OF_NUMBERS(PREFIX, SPACE, NAME, T) \
  KIND(PREFIX, SPACE, add, NAME, T) KIND(PREFIX, SPACE, max, NAME, T) KIND(PREFIX, SPACE, min, NAME, T) KIND(PREFIX, SPACE, exchange, NAME, T)
#define OF_BITS(PREFIX, SPACE, NAME, T) KIND(PREFIX, SPACE, and, NAME, T) KIND(PREFIX, SPACE, or, NAME, T) KIND(PREFIX, SPACE, xor, NAME, T)
#define ATOMICS_OF(PREFIX, SPACE)                                                                                            \
  OF_NUMBERS(PREFIX, SPACE, int8, char) OF_NUMBERS(PREFIX, SPACE, uint8, uchar) OF_NUMBERS(PREFIX, SPACE, int16, short)                      \
  OF_NUMBERS(PREFIX, SPACE, uint16, ushort) OF_NUMBERS(PREFIX, SPACE, int32, int) OF_NUMBERS(PREFIX, SPACE, uint32, uint)                    \
  OF_NUMBERS(PREFIX, SPACE, float32, float) OF_NUMBERS(PREFIX, SPACE, float16, half) OF_NUMBERS(PREFIX, SPACE, bfloat16, bfloat)             \
  OF_NUMBERS(PREFIX, SPACE, bool, bool) OF_NUMBERS(PREFIX, SPACE, float8_e5m2, tc_fp8_e5m2)                                          \
  OF_BITS(PREFIX, SPACE, int8, char) OF_BITS(PREFIX, SPACE, uint16, ushort) OF_BITS(PREFIX, SPACE, int32, int) OF_BITS(PREFIX, SPACE, uint32, uint)  \
  CHANGED_BY_CAS(PREFIX, SPACE, float16, half) CHANGED_BY_CAS(PREFIX, SPACE, float32, float) CHANGED_BY_CAS(PREFIX, SPACE, uint8, uchar)
ATOMICS_OF(of_device, device)
ATOMICS_OF(of_threadgroup, threadgroup)
ATOMICS_OF(of_coherent, coherent_device)

#define MOVED(NAME, TO, FROM)                                                                       \
  extern "C" void move_##NAME(int bytes, void* to, const void* from) {                 \
    if (bytes == 16) tc_move<16>((TO uchar*)to, (const FROM uchar*)from);                     \
    if (bytes == 8) tc_move<8>((TO uchar*)to, (const FROM uchar*)from);                       \
    if (bytes == 4) tc_move<4>((TO uchar*)to, (const FROM uchar*)from);                       \
    if (bytes == 2) tc_move<2>((TO uchar*)to, (const FROM uchar*)from);                       \
  }
MOVED(from_threadgroup, device, threadgroup)
MOVED(to_threadgroup, threadgroup, device)
MOVED(to_coherent, coherent_device, device)
MOVED(from_coherent, device, coherent_device)
