/* Memory as the control core sees it, and what only it can do. */
#ifndef TILECORE_TPU_MEMORY_H
#define TILECORE_TPU_MEMORY_H

/* Local addresses hold the lane. */
#define LANE(lane) ((local_addr_t)(lane) * (local_addr_t)LOCAL_MEM_SIZE)
/* Element `offset` of a lane's memory, from `address` on. */
#define ELEMENT(T, address, lane, offset) \
  (*(T *)tpu_local_mem_addr_unified((address) + LANE(lane) + (local_addr_t)(offset) * (local_addr_t)sizeof(T)))

/* The control core's cache, whole lines of it: what it reads next is what is in memory; what it has written is there. */
#define CACHE_LINE 64
#define TC_BYTES_OF_LINES(first, bytes) (((bytes) + (first) % CACHE_LINE + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE)
TC_FN void tc_invalidate_cache(system_addr_t first, long long bytes) {
  if (bytes > 0) tpu_invalidate_cache(first / CACHE_LINE * CACHE_LINE, TC_BYTES_OF_LINES(first, bytes));
}
TC_FN void tc_flush_cache(system_addr_t first, long long bytes) {
  if (bytes > 0) tpu_flush_cache(first / CACHE_LINE * CACHE_LINE, TC_BYTES_OF_LINES(first, bytes));
}

/* Atomics on global memory: a kernel that has some runs on one core, whose control core does one thing at a time. Each
 * has the value before. Narrow floats round once. */
#define TC_UPDATE(p, expression)              \
  ({                                          \
    __auto_type p_ = (p);                     \
    __typeof__(*p_) old_ = *p_;               \
    *p_ = (expression);                       \
    old_;                                     \
  })
#define TC_NARROW_UPDATE(T, NAME, EXPRESSION)                      \
  TC_FN T T##_##NAME(T old_, T value_) {                           \
    const float old = T##_single(old_), value = T##_single(value_); \
    return T##_of(EXPRESSION);                                     \
  }
#define TC_PLAIN_UPDATE(SUFFIX, T, NAME, EXPRESSION) \
  TC_FN T tc_##SUFFIX##_##NAME(T old, T value) { return (T)(EXPRESSION); }
#define TC_OF_FLOATS(NAME, EXPRESSION)               \
  TC_NARROW_UPDATE(tc_half, NAME, EXPRESSION)        \
  TC_NARROW_UPDATE(tc_bfloat16, NAME, EXPRESSION)    \
  TC_NARROW_UPDATE(tc_fp8_e4m3, NAME, EXPRESSION)    \
  TC_NARROW_UPDATE(tc_fp8_e5m2, NAME, EXPRESSION)    \
  TC_PLAIN_UPDATE(float32, float, NAME, EXPRESSION)  \
  TC_PLAIN_UPDATE(float64, double, NAME, EXPRESSION)
#define TC_OF_INTEGERS(NAME, EXPRESSION)                            \
  TC_PLAIN_UPDATE(int8, signed char, NAME, EXPRESSION)              \
  TC_PLAIN_UPDATE(int16, short, NAME, EXPRESSION)                   \
  TC_PLAIN_UPDATE(int32, int, NAME, EXPRESSION)                     \
  TC_PLAIN_UPDATE(int64, long long, NAME, EXPRESSION)               \
  TC_PLAIN_UPDATE(uint8, unsigned char, NAME, EXPRESSION)           \
  TC_PLAIN_UPDATE(uint16, unsigned short, NAME, EXPRESSION)         \
  TC_PLAIN_UPDATE(uint32, unsigned, NAME, EXPRESSION)               \
  TC_PLAIN_UPDATE(uint64, unsigned long long, NAME, EXPRESSION)     \
  TC_PLAIN_UPDATE(bool, bool, NAME, EXPRESSION)
TC_OF_FLOATS(sum, old + value)
TC_OF_FLOATS(difference, old - value)
TC_OF_FLOATS(larger, value > old || old != old ? value : old)
TC_OF_FLOATS(smaller, value < old || old != old ? value : old)
TC_OF_INTEGERS(sum, (unsigned long long)old + (unsigned long long)value)
TC_OF_INTEGERS(difference, (unsigned long long)old - (unsigned long long)value)
TC_OF_INTEGERS(larger, value > old ? value : old)
TC_OF_INTEGERS(smaller, value < old ? value : old)
#undef TC_NARROW_UPDATE
#undef TC_PLAIN_UPDATE
#undef TC_OF_FLOATS
#undef TC_OF_INTEGERS
#define TC_INTEGER_FORM(name)                                                                              \
  signed char: tc_int8_##name, short: tc_int16_##name, int: tc_int32_##name, long: tc_int64_##name,        \
      long long: tc_int64_##name, unsigned char: tc_uint8_##name, unsigned short: tc_uint16_##name,        \
      unsigned: tc_uint32_##name, unsigned long: tc_uint64_##name, unsigned long long: tc_uint64_##name,   \
      bool: tc_bool_##name
#define TC_FORM(value, name)                                                                              \
  _Generic((value), tc_half: tc_half_##name, tc_bfloat16: tc_bfloat16_##name, tc_fp8_e4m3:                \
           tc_fp8_e4m3_##name, tc_fp8_e5m2: tc_fp8_e5m2_##name, float: tc_float32_##name,                 \
           double: tc_float64_##name, TC_INTEGER_FORM(name))

enum { tc_relaxed, tc_acquire, tc_release, tc_acq_rel, tc_seq_cst };
/* the order of memory comes after the operands, where it is no relaxed one; one core needs none */
#define tc_atomic_add(p, value, ...) TC_UPDATE(p, TC_FORM(old_, sum)(old_, value))
#define tc_atomic_sub(p, value, ...) TC_UPDATE(p, TC_FORM(old_, difference)(old_, value))
#define tc_atomic_max(p, value, ...) TC_UPDATE(p, TC_FORM(old_, larger)(old_, value))
#define tc_atomic_min(p, value, ...) TC_UPDATE(p, TC_FORM(old_, smaller)(old_, value))
#define tc_atomic_and(p, value, ...) TC_UPDATE(p, old_ & (value))
#define tc_atomic_or(p, value, ...) TC_UPDATE(p, old_ | (value))
#define tc_atomic_xor(p, value, ...) TC_UPDATE(p, old_ ^ (value))
#define tc_atomic_exchange(p, value, ...) TC_UPDATE(p, value)
#define tc_atomic_store(p, value, ...) ((void)TC_UPDATE(p, value))
#define tc_atomic_load(p, ...) (*(p))

#define tc_print(...) printf(__VA_ARGS__)
#define tc_assert(condition, number, text) TPUKERNEL_ASSERT_INFO(condition, "%s", text)
#define tc_assume(condition) ((condition) ? (void)0 : __builtin_unreachable())

#endif
