"""Names of Triton, torch, numpy and C kernels that users may try, and the equivalent in the tile language."""

from __future__ import annotations

_TILE = "T.copy(A[i, j], tile) moves a tile between global memory and T.alloc_shared or T.alloc_fragment"
_MAKE = "T.alloc_fragment(shape, dtype) or T.alloc_shared makes a tile, "
_INDEX = "index in T.Parallel: dst[i, j] = src[...]"
_RAND = "T.rng_init(seed), and then T.rng_rand() or T.rng_rand_float()"
_OPERATOR = "write it with Python's operators, for each element in T.Parallel"
_OUTSIDE = "do it outside of the kernel, with torch or numpy"

_INSTEAD: dict[str, str] = {
    # Triton
    "arange": "`for i in T.Parallel(n)` gives the indices 0 to n - 1, one an iteration",
    "program_id": "`with T.Kernel(gx, gy) as (bx, by):` names the block's indices; T.get_block_binding(axis) gives one",
    "num_programs": "the extents given to T.Kernel are the number of blocks",
    "load": f"{_TILE}; A[i, j] in T.Parallel reads an element. Reads outside of a tensor give 0, without a mask",
    "store": f"{_TILE}; A[i, j] = x in T.Parallel writes an element. Writes outside of a tensor are dropped",
    "dot matmul mm bmm einsum dot_scaled addmm": "T.gemm(A, B, C) adds the product of the tiles A and B to the tile C",
    "make_block_ptr advance make_tensor_descriptor": _TILE,
    "constexpr": "arguments of the function around T.prim_func, and those of an eager kernel without a tensor type, "
    "are constants already",
    "zeros zeros_like": f"{_MAKE}T.clear(tile) sets it to 0",
    "full full_like ones ones_like": f"{_MAKE}T.fill(tile, value) sets all of it",
    "empty_like": "T.alloc_fragment(shape, dtype) or T.alloc_shared makes a tile",
    "trans permute swapaxes": "T.transpose(src, dst) transposes a tile; T.gemm has transpose_A and transpose_B",
    "broadcast_to broadcast expand_dims unsqueeze squeeze expand": "index in T.Parallel: dst[i, j] = row[i]",
    "static_range": "T.unroll(n), or a Python loop over a list or tuple, is unrolled",
    "range": "T.serial(n), or Python's range(n), is a loop of the kernel",
    "static_assert": "Python's assert on values that are known when compiling",
    "static_print": "Python's print",
    "device_print": "T.print(value, msg)",
    "multiple_of max_contiguous max_constancy": "T.assume(condition) promises it",
    "debug_barrier syncthreads __syncthreads barrier": "T.sync_threads()",
    "atomic_xchg": "T.atomic_exchange(A[i], value)",
    "atomic_sub": "T.atomic_add(A[i], -value)",
    "atomic_cmpxchg compare_and_swap atomic_compare_exchange": "T.atomic_cas(A[i], compare, value)",
    "cat concat concatenate stack join split interleave": "copy the parts into slices: T.copy(part, tile[0:8, :])",
    "flip roll gather take index_select scatter tril triu": _INDEX,
    "histogram bincount": "T.atomic_add(counts[x], 1) in T.Parallel counts",
    "associative_scan logcumsumexp cummin cumprod": "T.cumsum and T.cummax are the scans; T.serial over the axis makes "
    "others",
    "sort argsort topk": "a loop over pairs: T.serial over the steps and T.Parallel over the elements of shared memory",
    "argmax argmin": "T.reduce_max for the value, then T.reduce_min of the indices where it stands",
    "softmax log_softmax logsumexp": "T.reduce_max, T.exp and T.reduce_sum make it; see examples/softmax.py",
    "sum": "T.reduce_sum(tile, dim=...), of a tile",
    "prod product": "T.reduce_prod(tile, dim=...), of a tile",
    "mean reduce_mean var std norm": "T.reduce_sum(tile, out, dim=...) sums; divide it",
    "any reduce_any": "T.reduce_bitor of a bool tile; T.any_of of conditions",
    "all reduce_all": "T.reduce_bitand of a bool tile; T.all_of of conditions",
    "xor_sum": "T.reduce_bitxor(tile, out, dim=...)",
    "rand randint randn randint4x random": _RAND,
    "inline_asm_elementwise": "T.import_source and T.call_extern, where the target compiles source",
    "jit": "@tilecore.jit",
    "autotune": "@tilecore.autotune",
    "umulhi mul_hi": 'T.cast((T.cast(a, "int64") * T.cast(b, "int64")) >> 32, "int32")',
    "div_rn": "T.ieee_fdiv(x, y)",
    "sqrt_rn": "T.ieee_fsqrt(x)",
    # torch and numpy
    "maximum fmax amax": "T.max(a, b) of values, T.reduce_max of a tile",
    "minimum fmin amin": "T.min(a, b) of values, T.reduce_min of a tile",
    "absolute": "T.abs(x)",
    "relu": "T.max(x, 0)",
    "silu": "x * T.sigmoid(x)",
    "gelu": "0.5 * x * (1 + T.erf(x * 0.7071067811865476))",
    "square": "x * x",
    "expm1": "T.exp(x) - 1",
    "exp2f expf": "T.exp(x) and T.exp2(x)",
    "rsqrtf reciprocal": "T.rsqrt(x), or 1 / x",
    "sign": "T.if_then_else(x > 0, 1, T.if_then_else(x < 0, -1, 0))",
    "clip clamp_min clamp_max": "T.clamp(x, low, high), T.max or T.min",
    "masked_fill": "T.where(condition, a, b)",
    "logical_and": "`a and b`, or T.all_of",
    "logical_or": "`a or b`, or T.any_of",
    "logical_not": "`not a`",
    "add sub subtract mul multiply div divide true_divide floor_divide neg negative eq ne lt le gt ge": _OPERATOR,
    "remainder mod": "`a % b` of integers, T.fmod(a, b) of floats",
    "divmod": "`a // b` and `a % b`",
    "arctan2": "T.atan2(y, x)",
    "arcsin arccos arctan arcsinh arccosh arctanh": "T.asin, T.acos, T.atan, T.asinh, T.acosh, T.atanh",
    "float_power": "T.pow(x, y)",
    "ravel flatten": "T.reshape(buffer, shape)",
    "astype to type": "T.cast(x, dtype)",
    "bitcast": "T.reinterpret(x, dtype)",
    "linspace meshgrid nonzero unique": _OUTSIDE,
    "tensor array": "a tensor parameter, or T.alloc_local and one store an element",
    "shape": "buffer.shape",
    # kernels in C
    "threadIdx thread_id get_thread_id thread_idx get_local_id": "T.get_thread_binding(axis): 0 is x",
    "blockIdx block_id get_block_id block_idx get_group_id": "T.get_block_binding(axis), or the names of T.Kernel",
    "blockDim block_dim": "T.get_thread_extent(axis)",
    "gridDim grid_dim": "the extents given to T.Kernel",
    "shared": "T.alloc_shared(shape, dtype)",
    "laneid lane_id": "T.get_lane_idx()",
    "warp_id": "T.get_warp_idx()",
    "__shfl_sync __shfl_xor_sync __shfl_down_sync": "T.shfl_sync, T.shfl_xor and T.shfl_down",
    "__ballot_sync": "T.ballot_sync",
    "printf": "T.print(value, msg)",
}
INSTEAD = {name: instead for names, instead in _INSTEAD.items() for name in names.split()}


def written_here(name: str) -> str | None:
    """What to write in the tile language for a function that other libraries call ``name``; None if there is nothing
    to say."""
    if name in INSTEAD:
        return INSTEAD[name]
    import tilecore.language as language

    return f"T.{name}" if name in language._NAMES else None
