/* Operands of commands. */
#ifndef TILECORE_TPU_COMMANDS_H
#define TILECORE_TPU_COMMANDS_H

/* Extents or strides along n, c, h, w; where a parameter is a pointer. */
#define DIM4(...) (&(const dim4){__VA_ARGS__})
#define DIM2(...) (&(const dim2){__VA_ARGS__})
#define NO_PADDING (&(const padding_t){0, 0, 0, 0})

/* Numbers as scalars of a type. */
#define SCALAR_F32(value) ((scalar_t){.f32 = (value)})
#define SCALAR_F16(value) ((scalar_t){.u16 = tc_half_from(value).bits})
#define SCALAR_BF16(value) ((scalar_t){.u16 = tc_bfloat16_from(value).bits})
#define SCALAR_F8E4M3(value) ((scalar_t){.u8 = tc_fp8_e4m3_from(value).bits})
#define SCALAR_F8E5M2(value) ((scalar_t){.u8 = tc_fp8_e5m2_from(value).bits})
#define SCALAR_OF_F8E5M2(value) ((scalar_t){.u8 = (value).bits})  // as it is: an infinity stays one
#define SCALAR_S32(value) ((scalar_t){.s32 = (value)})
#define SCALAR_U32(value) ((scalar_t){.u32 = (value)})
#define SCALAR_S16(value) ((scalar_t){.s16 = (value)})
#define SCALAR_U16(value) ((scalar_t){.u16 = (value)})
#define SCALAR_S8(value) ((scalar_t){.s8 = (value)})
#define SCALAR_U8(value) ((scalar_t){.u8 = (value)})

/* Operands of selections. */
#define IN_MEMORY(address) (&(const variable_t){.type = TENSOR, .context = {.addr = (address)}})
#define A_NUMBER(value) (&(const variable_t){.type = SCALAR, .context = {.scalar = (value)}})

#endif
