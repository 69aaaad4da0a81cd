/* Types of the kernel interface: values and layouts are those of the vendor's tpu_defs.h (PPL 1.7). */
#ifndef TILE_TPU_TYPES_H
#define TILE_TPU_TYPES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned int local_addr_t;
typedef unsigned int static_addr_t;
typedef unsigned long long l2_sram_addr_t;
typedef unsigned long long system_addr_t;
typedef unsigned long long global_addr_t;
typedef unsigned long long addr_t;
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned int u32;

#define NO_USE 0

/* bit 0: signed (of fp8: 1), bits 1-4: kind, bit 5: which fp8 */
typedef enum {
  DT_UINT8 = 0,
  DT_INT8 = 1,
  DT_FP16 = 3,
  DT_FP32 = 5,
  DT_UINT16 = 6,
  DT_INT16 = 7,
  DT_UINT32 = 8,
  DT_INT32 = 9,
  DT_BFP16 = 11,
  DT_UINT4 = 12,
  DT_INT4 = 13,
  DT_FP8E5M2 = 15,
  DT_FP20 = 17,
  DT_TF32 = 19,
  DT_FP8E4M3 = 47,
} data_type_t;

typedef enum {
  RM_HALF_TO_EVEN = 0,
  RM_HALF_AWAY_FROM_ZERO = 1,
  RM_TOWARDS_ZERO = 2,
  RM_DOWN = 3,
  RM_UP = 4,
  RM_HALF_UP = 5,
  RM_HALF_DOWN = 6,
} rounding_mode_t;

typedef struct {
  int n, c, h, w;
} dim4;
typedef struct {
  int h, w;
} dim2;
typedef struct {
  int top, bottom, left, right;
} padding_t;
typedef struct {
  int start, end;
} range_t;

typedef union {
  unsigned short bits;
  struct {
    unsigned short frac : 10, exp : 5, sign : 1;
  } format;
} float16;
typedef union {
  unsigned short bits;
  struct {
    unsigned short frac : 7, exp : 8, sign : 1;
  } format;
} bfloat16;
typedef union {
  unsigned short bits;
} float20;
typedef union {
  unsigned char bits;
} float8e5m2;
typedef union {
  unsigned char bits;
} float8e4m3;

typedef union {
  char s4;
  unsigned char u4;
  char s8;
  unsigned char u8;
  float8e5m2 f8e5m2;
  float8e4m3 f8e3m4; /* the vendor's spelling */
  short s16;
  unsigned short u16;
  float16 f16;
  bfloat16 bf16;
  int s32;
  unsigned int u32;
  float f32;
  float20 f20;
} scalar_t;

typedef enum { TENSOR, SCALAR, VECTOR } var_type_t;
typedef union {
  scalar_t scalar;
  local_addr_t addr;
} var_context_t;
typedef struct {
  var_type_t type;
  var_context_t context;
} variable_t;

typedef enum { FUNC_TYPE_1, FUNC_TYPE_2 } func_type_t;

#endif
