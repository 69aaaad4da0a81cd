"""Operations across the threads of a block: thread indices, reductions, shuffles and votes.

The index of a thread in its block varies fastest along x. A warp is WARP_SIZE consecutive threads; a target whose
hardware has other groups still executes these operations for groups of this size.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, UnsupportedError, WrongTypeError
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import constant
from tilecore.ir.nodes import BufferStore, Expr, IntImm, Var, tirx
from tilecore.ir.tile_ops import tile_call
from tilecore.language.buffers import as_load
from tilecore.language.conditions import as_predicate, select
from tilecore.language.conversions import convert
from tilecore.language.copies import require_block
from tilecore.language.kernel import Kernel, open_kernel
from tilecore.language.keywords import also_named
from tilecore.language.values import as_expr, is_kernel_value
from tilecore.tracing.current import current

WARP_SIZE = 32


def thread_number(kernel: Kernel) -> Expr:
    """The index of the running thread in its block; it varies fastest along x."""
    total: Any = IntImm("int32", 0)
    step = 1
    for var, extent in zip(kernel.thread_vars, kernel.threads, strict=True):
        if extent > 1:
            total = var * step + total
            step *= extent
    return total


def get_lane_idx(warp_size: int | None = None) -> Expr:
    """The index of the running thread in its warp, an int32 from 0 to warp_size - 1 (warp_size is 32 by default)."""
    return thread_number(open_kernel("T.get_lane_idx")) % _size(warp_size)


def get_warp_idx(warp_size: int | None = None) -> Expr:
    """The index of the running thread's warp in the block, an int32."""
    return thread_number(open_kernel("T.get_warp_idx")) // _size(warp_size)


get_warp_idx_sync = get_warp_idx


def get_warp_group_idx(warp_size: int | None = None, warps_per_group: int | None = None) -> Expr:
    """The index of the running thread's group of warps (4 by default) in the block, an int32."""
    group = 4 if warps_per_group is None else int(warps_per_group)
    if group < 1:
        raise LanguageError(f"warps_per_group is {group}", expected="at least 1")
    return thread_number(open_kernel("T.get_warp_group_idx")) // (_size(warp_size) * group)


def _size(warp_size: int | None) -> int:
    size = WARP_SIZE if warp_size is None else int(warp_size)
    if size < 1:
        raise LanguageError(f"warp_size is {size}", expected="at least 1")
    return size


# -- reductions ----------------------------------------------------------------------------------------------


def allreduce(value: Any, kind: str, extent: int = 0, stride: int = 1, subject: str = "T.allreduce") -> Expr:
    """Combines one value of every thread of a group; every thread of the group gets the result.

    kind: sum, prod, max, min, bitand, bitor or bitxor. The group: ``extent`` threads, ``stride`` apart; extent 0: all.
    """
    open_kernel(subject)
    require_block(subject.removeprefix("T."))
    expression = as_expr(value)
    dtype = str(expression.ty.dtype)
    if kind.startswith("bit") and "float" in dtype:
        raise WrongTypeError(f"{subject} is not defined for {dtype} values", expected="integers or bool")
    if kind == "sum" and dtype == "bool":
        expression, dtype = convert(expression, "int32"), "int32"
    operands = [expression, kind, extent, stride]
    builder = current(subject)
    call = tile_call("allreduce", operands, dtype=dtype, hints={CallAttr.CALLED: subject}, span=builder.span)
    return builder.bind("joined", call)


def _warp_reduce(kind: str, doc: str) -> Callable[[Any], Expr]:
    def op(value: Any) -> Expr:
        return allreduce(value, kind, WARP_SIZE, 1, f"T.warp_reduce_{kind}")

    op.__name__ = op.__qualname__ = f"warp_reduce_{kind}"
    op.__doc__ = (
        f"{doc} of ``value`` over the threads of the warp; each of them gets it. All threads of a warp call it."
    )
    return op


warp_reduce_sum = _warp_reduce("sum", "The sum")
warp_reduce_max = _warp_reduce("max", "The maximum")
warp_reduce_min = _warp_reduce("min", "The minimum")
warp_reduce_bitand = _warp_reduce("bitand", "The bitwise and")
warp_reduce_bitor = _warp_reduce("bitor", "The bitwise or")


def check_mask(mask: Any, subject: str) -> None:
    """Raises UnsupportedError for a mask that does not select all threads of the warp."""
    bits = mask.value if isinstance(mask, IntImm) else mask
    if mask is None or (isinstance(bits, int) and bits in (-1, 2**WARP_SIZE - 1)):
        return
    raise UnsupportedError(
        f"{subject} has a mask that leaves out threads of a warp",
        found=f"mask {mask if is_kernel_value(mask) else hex(int(mask))}",
        expected=f"no mask, or {hex(2**WARP_SIZE - 1)}: all threads",
        hint="let all threads take part, and give the threads that should not matter a neutral value",
    )


@also_named(condition="predicate")
def any_sync(predicate: Any, mask: Any = None) -> Expr:
    """Does ``predicate`` hold in any thread of the warp? mask: None or 0xffffffff, all threads."""
    check_mask(mask, "T.any_sync")
    return allreduce(as_predicate(predicate, "T.any_sync"), "bitor", WARP_SIZE, 1, "T.any_sync")


@also_named(condition="predicate")
def all_sync(predicate: Any, mask: Any = None) -> Expr:
    """Does ``predicate`` hold in every thread of the warp? mask: None or 0xffffffff, all threads."""
    check_mask(mask, "T.all_sync")
    return allreduce(as_predicate(predicate, "T.all_sync"), "bitand", WARP_SIZE, 1, "T.all_sync")


def _shuffle(value: Any, lane: Any, kind: str, width: int, mask: Any, subject: str) -> Expr:
    kernel = open_kernel(subject)
    require_block(subject.removeprefix("T."))
    check_mask(mask, subject)
    if width not in (1, 2, 4, 8, 16, 32):
        raise LanguageError(f"{subject}: width is {width}", expected="a power of two up to 32")
    if prod(kernel.threads) % WARP_SIZE:
        raise LanguageError(
            f"{subject} stands in a block of {prod(kernel.threads)} threads",
            expected=f"whole warps of {WARP_SIZE} threads",
        )
    distance = constant(as_expr(lane)) if kind != "idx" else None
    if distance is not None and distance >= WARP_SIZE:
        raise LanguageError(
            f"{subject}: {'lane_mask' if kind == 'xor' else 'delta'} is {distance}",
            expected=f"less than {WARP_SIZE}, the threads of a warp on every target",
            hint="exchange values with other warps in shared memory; T.reduce_sum and the like do it by themselves",
        )
    expression = as_expr(value)
    dtype = str(expression.ty.dtype)
    bits = DType(dtype).bits
    widened = convert(expression, "float32" if "float" in dtype else "int32") if bits < 16 else expression
    register_dtype = str(widened.ty.dtype)
    builder, operands = current(subject), [widened, convert(lane, "int32"), kind, width]
    call = tile_call("shuffle", operands, dtype=register_dtype, span=builder.span)
    return convert(builder.bind("shuffled", call), dtype)


@also_named(src_lane="srcLane")
def shfl_sync(value: Any, srcLane: Any, width: int = WARP_SIZE, mask: Any = None) -> Expr:
    """The ``value`` of lane ``srcLane`` of the warp. With a smaller ``width`` the warp is divided into segments of
    ``width`` lanes, and ``srcLane`` counts within the segment of the calling lane. All threads of a warp call it."""
    return _shuffle(value, srcLane, "idx", width, mask, "T.shfl_sync")


@also_named(lane_mask="delta")
def shfl_xor(value: Any, delta: Any, width: int = WARP_SIZE, mask: Any = None) -> Expr:
    """The ``value`` of the lane whose index is the calling lane's index xor ``delta``."""
    return _shuffle(value, delta, "xor", width, mask, "T.shfl_xor")


def shfl_up(value: Any, delta: Any, width: int = WARP_SIZE, mask: Any = None) -> Expr:
    """The ``value`` of the lane ``delta`` below the calling lane; the first ``delta`` lanes of each segment of
    ``width`` lanes get their own."""
    return _shuffle(value, delta, "up", width, mask, "T.shfl_up")


def shfl_down(value: Any, delta: Any, width: int = WARP_SIZE, mask: Any = None) -> Expr:
    """The ``value`` of the lane ``delta`` above the calling lane; the last ``delta`` lanes of each segment of
    ``width`` lanes get their own."""
    return _shuffle(value, delta, "down", width, mask, "T.shfl_down")


@also_named(condition="predicate")
def ballot(predicate: Any, mask: Any = None) -> Expr:
    """A uint32 whose bit i tells whether ``predicate`` holds in lane i of the warp."""
    predicate = as_predicate(predicate, "T.ballot")
    kernel = open_kernel("T.ballot")
    require_block("ballot")
    check_mask(mask, "T.ballot")
    if prod(kernel.threads) % WARP_SIZE:
        raise LanguageError(
            f"T.ballot stands in a block of {prod(kernel.threads)} threads",
            expected=f"whole warps of {WARP_SIZE} threads",
        )
    builder = current("T.ballot")
    return builder.bind("votes", tile_call("ballot", [predicate], dtype="uint32", span=builder.span))


ballot_sync = ballot


@also_named(condition="predicate")
def syncthreads_or(predicate: Any) -> Expr:
    """T.sync_threads, and: does ``predicate`` hold in any thread of the block?"""
    return allreduce(as_predicate(predicate, "T.syncthreads_or"), "bitor", subject="T.syncthreads_or")


@also_named(condition="predicate")
def syncthreads_and(predicate: Any) -> Expr:
    """T.sync_threads, and: does ``predicate`` hold in every thread of the block?"""
    return allreduce(as_predicate(predicate, "T.syncthreads_and"), "bitand", subject="T.syncthreads_and")


@also_named(condition="predicate")
def syncthreads_count(predicate: Any) -> Expr:
    """T.sync_threads, and the number of threads of the block in which ``predicate`` holds."""
    return allreduce(as_predicate(predicate, "T.syncthreads_count"), "sum", subject="T.syncthreads_count")


def sync_warp(mask: Any = None) -> None:
    """Wait for the other threads of the warp. It emits nothing: the compiler places the barriers that are needed."""
    open_kernel("T.sync_warp")
    check_mask(mask, "T.sync_warp")


# -- TVM's form ----------------------------------------------------------------------------------------------


class CommReducer:
    """A reduction: ``kind`` as for T.reduce; ``identity``, the expression that it starts from."""

    def __init__(self, kind: str, identity: Expr) -> None:
        self.kind = kind
        self.identity = identity


_KINDS = {
    tirx.Add: "sum",
    tirx.Mul: "prod",
    tirx.Max: "max",
    tirx.Min: "min",
    tirx.BitwiseAnd: "bitand",
    tirx.BitwiseOr: "bitor",
    tirx.BitwiseXor: "bitxor",
}


def comm_reducer(combiner: Callable[[Any, Any], Any], identity: Any) -> CommReducer:
    """``T.comm_reducer(lambda x, y: x + y, [T.Cast(dtype, 0)])``: how T.tvm_thread_allreduce combines values.

    Supported are sums, products, T.max, T.min and the bitwise operations of x and y; others raise UnsupportedError.
    """
    values = list(identity) if isinstance(identity, (list, tuple)) else [identity]
    if len(values) != 1:
        raise UnsupportedError("T.comm_reducer combines several values at once", found=f"{len(values)} identities")
    start = as_expr(values[0])
    x, y = Var("x", start.ty), Var("y", start.ty)
    combined = as_expr(combiner(x, y))
    kind = _KINDS.get(type(combined))
    in_order = kind is not None and combined.a.same_as(x) and combined.b.same_as(y)
    swapped = kind is not None and combined.a.same_as(y) and combined.b.same_as(x)
    if kind is None or not (in_order or swapped):
        raise UnsupportedError(
            "the function of T.comm_reducer is not a sum, product, maximum, minimum or bitwise operation",
            found=str(combined),
            expected="lambda x, y: x + y, x * y, T.max(x, y), T.min(x, y), x & y, x | y or x ^ y",
        )
    return CommReducer(kind, start)


class ReduceScope:
    """``with T.attr(reducer, "reduce_scope", ...)``: the reducer of the T.tvm_thread_allreduce calls inside."""

    def __init__(self, reducer: CommReducer) -> None:
        self.reducer = reducer

    def __enter__(self) -> None:
        open_kernel("T.attr").frame.facts.setdefault("reducers", []).append(self.reducer)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            open_kernel("T.attr").frame.facts["reducers"].pop()


def tvm_thread_allreduce(*freduce_args: Any, dtype: Any = None) -> Expr:
    """``(1, value, condition, result[i], *thread indices)`` in T.attr(reducer, "reduce_scope", ...): reduces ``value``
    of the threads where ``condition`` holds, along the axes of the named thread indices, and stores it in
    ``result[i]`` of each thread."""
    kernel = open_kernel("T.tvm_thread_allreduce")
    builder = current()
    reducers = kernel.frame.facts.get("reducers")
    if not reducers:
        raise LanguageError(
            "T.tvm_thread_allreduce is called without a reducer",
            expected='a call inside `with T.attr(T.comm_reducer(...), "reduce_scope", ...)`',
        )
    if len(freduce_args) < 5:
        raise LanguageError(
            "T.tvm_thread_allreduce has wrong arguments", expected="(1, value, condition, result[i], *thread indices)"
        )
    size, value, condition, target, *axes = freduce_args
    if is_kernel_value(size) or int(as_expr(size)) != 1:
        raise UnsupportedError("T.tvm_thread_allreduce reduces several values at once", found=str(size))
    element = as_load(target)
    if element is None:
        raise LanguageError(
            "the result of T.tvm_thread_allreduce is not an element", found=str(target), expected="result[i]"
        )
    reducer: CommReducer = reducers[-1]
    kind = str(reducer.identity.ty.dtype)
    contribution = convert(value, kind)
    if is_kernel_value(condition) or not condition:
        contribution = select(condition if is_kernel_value(condition) else False, contribution, reducer.identity)
    extent, stride = _span_of(kernel, axes)
    reduced = allreduce(contribution, reducer.kind, extent, stride, "T.tvm_thread_allreduce")
    result = convert(reduced, str(element.source.dtype))
    builder.emit(BufferStore(element.source, result, list(element.indices), span=builder.span))
    return IntImm("int32", 0)


def _span_of(kernel: Kernel, axes: list[Any]) -> tuple[int, int]:
    """Extent and stride of the group that ``axes`` (thread indices) span."""
    positions = []
    for axis in axes:
        position = next(
            (i for i, var in enumerate(kernel.thread_vars) if isinstance(axis, Var) and var.same_as(axis)), None
        )
        if position is None:
            raise LanguageError(
                "T.tvm_thread_allreduce reduces over something that is not a thread index", found=str(axis)
            )
        positions.append(position)
    wide = [i for i, extent in enumerate(kernel.threads) if extent > 1]
    reduced = [i for i in wide if i in positions]
    if not reduced:
        return 1, 1
    if wide[wide.index(reduced[0]) : wide.index(reduced[-1]) + 1] != reduced:
        raise UnsupportedError(
            "T.tvm_thread_allreduce reduces over the axes x and z, but not y", expected="neighbouring axes"
        )
    return prod(kernel.threads[i] for i in reduced), prod(kernel.threads[: reduced[0]])
