/* What the native launcher checks and computes at a call, on plain C data: nothing here touches Python objects.
 *
 * Every function returns TC_OK, or TC_ASK when the call is not plainly right. The launcher then asks the checker in
 * arguments.py, which decides: it accepts the call or raises the error. So nothing here makes messages, and nothing
 * here may accept what that checker would refuse. */
#ifndef TILECORE_CHECKS_H_
#define TILECORE_CHECKS_H_

#include <stddef.h>
#include <stdint.h>

#include "_dlpack.h"

enum { TC_OK = 0, TC_ASK = 1 };
enum { TC_STACK = 32 };

/* The opcodes of dim_program.py. */
enum {
    TC_CONST = 0, TC_SYMBOL = 1, TC_JUMP = 2, TC_JUMP_IF_ZERO = 3,
    TC_ADD = 8, TC_SUB, TC_MUL, TC_FLOORDIV, TC_MOD, TC_MIN, TC_MAX, TC_LT, TC_LE, TC_EQ, TC_NE, TC_AND, TC_OR
};

/* A size: a constant, a symbol, or a program. */
typedef struct {
    int64_t value;       /* the constant, or the symbol's index */
    const int64_t *code; /* NULL unless a program */
    int32_t length;
    int32_t is_symbol;
} tc_dim;

typedef struct {
    const tc_dim *shape;
    const tc_dim *strides; /* NULL: contiguous */
    int64_t align;
    int32_t rank;
    int32_t packed;
    uint8_t code, other_code, bits; /* other_code: the second storage type that is accepted */
    uint8_t written;
} tc_tensor_spec;

enum { TC_FROM_SHAPE = 0, TC_FROM_STRIDE = 1, TC_FROM_SCALAR = 2 };

typedef struct {
    int64_t scale, offset, low, high;
    int32_t source, index, axis; /* index: of the tensor, or of the scalar */
} tc_symbol_spec;

typedef struct {
    tc_dim grid[3];
    tc_dim shared;
    int64_t longest; /* nanoseconds of a block at most, 0: nothing bounds them */
} tc_entry_spec;

typedef struct {
    char *low, *high; /* the bytes that it spans, high exclusive; equal when it has no elements */
} tc_span;

static inline int tc_binary(int64_t op, int64_t a, int64_t b, int64_t *out) {
    int64_t rest;
    switch (op) {
    case TC_ADD: return __builtin_add_overflow(a, b, out) ? TC_ASK : TC_OK;
    case TC_SUB: return __builtin_sub_overflow(a, b, out) ? TC_ASK : TC_OK;
    case TC_MUL: return __builtin_mul_overflow(a, b, out) ? TC_ASK : TC_OK;
    case TC_FLOORDIV:
    case TC_MOD:
        if (b == 0) return TC_ASK;
        if (b == -1 && op == TC_MOD) return *out = 0, TC_OK; /* the smallest integer % -1 traps */
        if (b == -1) return __builtin_sub_overflow(0, a, out) ? TC_ASK : TC_OK;
        rest = a % b;
        *out = op == TC_MOD ? (rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest)
                            : a / b - (rest != 0 && (rest < 0) != (b < 0));
        return TC_OK;
    case TC_MIN: *out = a < b ? a : b; return TC_OK;
    case TC_MAX: *out = a > b ? a : b; return TC_OK;
    case TC_LT: *out = a < b; return TC_OK;
    case TC_LE: *out = a <= b; return TC_OK;
    case TC_EQ: *out = a == b; return TC_OK;
    case TC_NE: *out = a != b; return TC_OK;
    case TC_AND: *out = a && b; return TC_OK;
    case TC_OR: *out = a || b; return TC_OK;
    default: return TC_ASK;
    }
}

static inline int tc_run(const int64_t *code, int32_t length, const int64_t *symbols, int64_t *out) {
    int64_t stack[TC_STACK];
    int top = 0;
    int64_t at = 0;
    while (at < length) {
        int64_t op = code[at++];
        switch (op) {
        case TC_CONST: stack[top++] = code[at++]; break;
        case TC_SYMBOL: stack[top++] = symbols[code[at++]]; break;
        case TC_JUMP: at = code[at]; break;
        case TC_JUMP_IF_ZERO: at = stack[--top] ? at + 1 : code[at]; break;
        default:
            top--;
            if (tc_binary(op, stack[top - 1], stack[top], &stack[top - 1])) return TC_ASK;
        }
    }
    *out = stack[0];
    return TC_OK;
}

static inline int tc_size(const tc_dim *dim, const int64_t *symbols, int64_t *out) {
    if (dim->code) return tc_run(dim->code, dim->length, symbols, out);
    *out = dim->is_symbol ? symbols[dim->value] : dim->value;
    return TC_OK;
}

/* Element type and rank; what can be said before the symbols are known. */
static inline int tc_check_kind(const tc_tensor_spec *spec, const tc_tensor *t) {
    int same_code = t->dtype.code == spec->code || t->dtype.code == spec->other_code;
    return same_code && t->dtype.bits == spec->bits && t->dtype.lanes == 1 && t->rank == spec->rank ? TC_OK : TC_ASK;
}

/* The size of an axis as the kernel sees it: the last axis of a packed tensor counts its elements, not its bytes. */
static inline int64_t tc_axis(const tc_tensor_spec *spec, const tc_tensor *t, int axis) {
    return axis == spec->rank - 1 ? t->shape[axis] * spec->packed : t->shape[axis];
}

static inline int64_t tc_stride(const tc_tensor_spec *spec, const tc_tensor *t, int axis) {
    return axis == spec->rank - 1 ? t->strides[axis] : t->strides[axis] * spec->packed;
}

static inline int tc_bind_symbol(
    const tc_symbol_spec *s, const tc_tensor_spec *specs, const tc_tensor *tensors, const int64_t *scalars, int64_t *out
) {
    int64_t size;
    if (s->source == TC_FROM_SCALAR) {
        size = scalars[s->index];
    } else {
        const tc_tensor *t = &tensors[s->index];
        if (s->source == TC_FROM_STRIDE && !t->strides) return TC_ASK;
        size = s->source == TC_FROM_SHAPE ? tc_axis(&specs[s->index], t, s->axis) : tc_stride(&specs[s->index], t, s->axis);
    }
    if (s->scale != 1 || s->offset != 0) {
        if (__builtin_sub_overflow(size, s->offset, &size) || s->scale == -1 || size % s->scale) return TC_ASK;
        size /= s->scale;
    }
    *out = size;
    return size >= s->low && size <= s->high ? TC_OK : TC_ASK;
}

/* Whether each axis steps over all that the axes of smaller strides reach; then no two elements share memory. */
static inline int tc_is_nested(const tc_tensor_spec *spec, const tc_tensor *t) {
    for (int axis = 0; axis < spec->rank; axis++) {
        int64_t step = llabs(tc_stride(spec, t, axis)), reach = 0;
        if (tc_axis(spec, t, axis) == 1) continue;
        for (int other = 0; other < spec->rank; other++) {
            int64_t smaller = llabs(tc_stride(spec, t, other)), far;
            if (other == axis || smaller > step || (smaller == step && other < axis)) continue;
            if (__builtin_mul_overflow(tc_axis(spec, t, other) - 1, smaller, &far)) return 0;
            if (__builtin_add_overflow(reach, far, &reach)) return 0;
        }
        if (step <= reach) return 0;
    }
    return 1;
}

/* Strides of a tensor with elements: the declared ones, or row-major; axes of size 1 are free. */
static inline int tc_check_strides(const tc_tensor_spec *spec, const tc_tensor *t, const int64_t *symbols) {
    int64_t expected = 1;
    if (!t->strides) return spec->strides || spec->packed > 1 ? TC_ASK : TC_OK;
    if (spec->packed > 1 && t->shape[spec->rank - 1] != 1 && t->strides[spec->rank - 1] != 1) return TC_ASK;
    for (int axis = spec->rank - 1; axis >= 0; axis--) {
        if (t->shape[axis] != 1) {
            if (spec->strides) {
                if (tc_size(&spec->strides[axis], symbols, &expected)) return TC_ASK;
                if (tc_stride(spec, t, axis) != expected) return TC_ASK;
            } else if (t->strides[axis] != expected) {
                return TC_ASK;
            }
        }
        if (!spec->strides) expected *= t->shape[axis];
    }
    return spec->strides && spec->written && !tc_is_nested(spec, t) ? TC_ASK : TC_OK;
}

static inline tc_span tc_bytes_of(const tc_tensor_spec *spec, const tc_tensor *t, int64_t elements) {
    char *data = (char *)t->data + t->byte_offset;
    int64_t width = t->dtype.bits / 8;
    tc_span span = {data, data + elements * width};
    if (spec->strides && t->strides && elements) {
        span.high = data + width;
        for (int axis = 0; axis < t->rank; axis++) {
            int64_t reach = (t->shape[axis] - 1) * t->strides[axis] * width;
            *(reach < 0 ? &span.low : &span.high) += reach;
        }
    }
    return span;
}

/* Shape, strides and alignment against the bound symbols; gives the memory that the tensor spans. */
static inline int tc_check_tensor(const tc_tensor_spec *spec, const tc_tensor *t, const int64_t *symbols, tc_span *span) {
    int64_t elements = 1, expected;
    for (int axis = 0; axis < spec->rank; axis++) {
        if (tc_size(&spec->shape[axis], symbols, &expected) || tc_axis(spec, t, axis) != expected) return TC_ASK;
        if (__builtin_mul_overflow(elements, t->shape[axis], &elements)) return TC_ASK;
    }
    *span = tc_bytes_of(spec, t, elements);
    if (elements == 0) return TC_OK;
    if (!t->data) return TC_ASK;
    if (spec->align > 1 && (uintptr_t)((char *)t->data + t->byte_offset) % (uint64_t)spec->align) return TC_ASK;
    return tc_check_strides(spec, t, symbols);
}

/* A written tensor shares memory with no other, but for an argument that is only read and covers the same bytes. */
static inline int tc_check_overlap(const tc_tensor_spec *specs, const tc_span *spans, int count) {
    for (int w = 0; w < count; w++) {
        if (!specs[w].written || spans[w].low == spans[w].high) continue;
        for (int o = 0; o < count; o++) {
            if (o == w || spans[o].low == spans[o].high) continue;
            if (spans[o].high <= spans[w].low || spans[w].high <= spans[o].low) continue;
            int same = spans[o].low == spans[w].low && spans[o].high == spans[w].high;
            if (!same || specs[o].written || specs[o].strides || specs[w].strides) return TC_ASK;
        }
    }
    return TC_OK;
}

/* Blocks and shared bytes of every entry. work: nanoseconds of all at most, -1 not bounded. blocks: of all entries. */
static inline int tc_fill_grids(
    const tc_entry_spec *entries, int count, const int64_t *symbols, int64_t *grids, int64_t *work, int64_t *blocks
) {
    *work = *blocks = 0;
    for (int e = 0; e < count; e++, grids += 4) {
        int64_t all = 1, cost;
        for (int axis = 0; axis < 3; axis++) {
            if (tc_size(&entries[e].grid[axis], symbols, &grids[axis]) || grids[axis] < 0) return TC_ASK;
            if (__builtin_mul_overflow(all, grids[axis], &all)) return TC_ASK;
        }
        if (tc_size(&entries[e].shared, symbols, &grids[3]) || grids[3] < 0) return TC_ASK;
        if (all == 0) continue;
        if (__builtin_add_overflow(*blocks, all, blocks)) return TC_ASK;
        if (entries[e].longest == 0 || __builtin_mul_overflow(all, entries[e].longest, &cost)) *work = -1;
        if (*work >= 0 && __builtin_add_overflow(*work, cost, work)) *work = -1;
    }
    return TC_OK;
}

#endif
