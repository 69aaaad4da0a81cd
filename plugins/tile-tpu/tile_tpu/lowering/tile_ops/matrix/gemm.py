"""gemm on the matrix unit.

The operands of the unit have their rows in lanes, from lane 0 on. It multiplies A by B, or by B transposed; a
transposed A is transposed in memory first. It accumulates in float32 and int32 only: other results are accumulated in
float32, and rounded once for each T.gemm.
"""

from __future__ import annotations

from typing import Any

from tile_tpu.ir.views import View
from tile_tpu.lowering.state import TileLayouts
from tile_tpu.lowering.tile_ops.emitter import Work, constant_shape_of, view_of, why_no_view, work_of
from tile_tpu.lowering.tile_ops.matrix import byte_products, float_splits
from tile_tpu.lowering.tile_ops.matrix.matrix_products import Product, add_or_put, multiply, only_if
from tile_tpu.options import ALLOW_TF32
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import Stmt, tirx
from tilecore.ir.tile_ops import TileCall

_HALVES = ("float16", "bfloat16")
_FP8 = ("float8_e4m3fn", "float8_e5m2")
_FLOATS = ("float32", *_HALVES, *_FP8)
_BYTES = ("int8", "uint8")


def declines(call: TileCall, env: PassEnv) -> str | None:
    reason = why_no_view(env, call.a, call.b, call.c)
    if reason is not None:
        return reason
    for region in (call.a, call.b, call.c):
        n, _, h, _ = constant_shape_of(view_of(region, env))
        if n != 1 or h != 1 or len(region.region) < 2:
            return f"the tile of {region.source.name} is not a matrix"
    if any(region.source.same_as(call.c.source) for region in (call.a, call.b)):
        return "C is one of its operands"
    return _no_types(call, env)


def _no_types(call: TileCall, env: PassEnv) -> str | None:
    a, b, c = (dtype_of(region.source) for region in (call.a, call.b, call.c))
    if a in _BYTES and b in _BYTES and c in byte_products.RESULTS:
        depth = constant_shape_of(view_of(call.a, env))[1 if call.transpose_a else 3]
        return byte_products.declines(a, b, c, depth)
    if a not in (*_FLOATS, *_BYTES) or b not in (*_FLOATS, *_BYTES):
        return f"the matrix unit has no product of {a} and {b}"
    if c not in ("float32", *_HALVES):
        return f"the matrix unit does not store a product of {a} and {b} as {c}"
    return None


def lower_gemm(call: TileCall, env: PassEnv) -> Stmt:
    work = work_of(call, env)
    result = view_of(call.c, env)
    a, b = view_of(call.a, env), view_of(call.b, env)
    if result.dtype in byte_products.RESULTS:
        _bytes(work, call, a, b, result)
        return work.statement()
    kind = common_type(a.dtype, b.dtype)
    if kind == "float32":
        products = _split_products(work, call, env, a, b)
    elif kind == "fp8":
        products = [(_left(work, call, a), work.aligned_operand(b))]
    else:
        products = [(_left(work, call, work.converted(a, kind)), work.aligned_operand(work.converted(b, kind)))]
    _accumulate(work, call, result, products)
    return work.statement()


def common_type(a: str, b: str) -> str:
    """The type to which both operands can be converted without loss: float16, bfloat16, float32, or "fp8" for two
    operands of 8-bit float types."""
    if a in _FP8 and b in _FP8:
        return "fp8"
    kinds = {kind for kind in (a, b) if kind not in (*_FP8, *_BYTES)}  # those fit into any other
    if not kinds:
        return "bfloat16"
    return kinds.pop() if len(kinds) == 1 else "float32"


def _left(work: Work, call: TileCall, a: View) -> View:
    """The aligned left operand with its rows in lanes; a transposed A is transposed first."""
    a = work.aligned_operand(a)
    return work.transposed(a) if call.transpose_a else a


def _split_products(work: Work, call: TileCall, env: PassEnv, a: View, b: View) -> list[tuple[View, View]]:
    allowed = bool(call.hints.get(CallAttr.ALLOW_TF32, ALLOW_TF32.value_in(env.config)))
    parts = 2 if allowed else 3
    left = float_splits.split(work, _left(work, call, work.converted(a, "float32")), parts)
    right = float_splits.split(work, work.aligned_operand(work.converted(b, "float32")), parts)
    return float_splits.pairs(left, right)


def _accumulate(work: Work, call: TileCall, result: View, products: list[tuple[View, View]]) -> None:
    """Stores or adds the sum of the products, which come smallest first, to the result."""
    adds = accumulates(call)
    kind = products[0][0].dtype
    narrow_type = "float16" if kind in _FP8 else kind  # the result type of the unit besides float32
    direct = len(products) == 1 and constant(adds) == 0 and result.dtype in (narrow_type, "float32")
    total = _total(work, result, "float32", direct, adds)
    for number, (left, right) in enumerate(products):
        multiply(work, Product(total, left, right, bool(call.transpose_b), adds if number == 0 else 1))
    _put(work, total, result)


def accumulates(call: TileCall) -> Any:
    """Whether the product is added to C: 1, 0 or an expression."""
    constant_flag = constant(call.clear_accum)
    return tirx.Not(call.clear_accum.astype("bool")) if constant_flag is None else int(not constant_flag)


def _total(work: Work, result: View, dtype: str, direct: bool, adds: Any) -> View:
    """The accumulator: the result itself where its type and layout allow, else a new buffer. Where the product is added
    to the result, the new buffer begins with a copy of it."""
    normalized = work.normalized(result)
    if work.is_aligned(normalized) and (direct or result.dtype == dtype):
        return normalized
    total = work.room(constant_shape_of(result), result.dtype if direct else dtype, f"{result.buffer.name}_sum")
    if constant(adds) == 0:
        return total
    with work.inner() as before:
        if result.dtype == dtype:
            work.transfer(total, result)
        else:
            old = result if constant(result.lane) == 0 else work.aligned_operand(result)
            work.emit("cast", total, old, "even")
    only_if(work, adds, before)
    return total


def _put(work: Work, total: View, result: View) -> None:
    if total.buffer.same_as(result.buffer):
        return
    if total.dtype == result.dtype:
        work.transfer(result, total)
    elif constant(result.lane) == 0:
        work.emit("cast", result, total, "even")
    else:
        work.transfer(result, work.converted(total, result.dtype))


def _bytes(work: Work, call: TileCall, a: View, b: View, result: View) -> None:
    adds, transposed = accumulates(call), bool(call.transpose_b)
    left, right = _left(work, call, a), work.aligned_operand(b)
    if result.dtype == "uint32":
        product = work.room(constant_shape_of(result), "int32", "product")
        multiply(work, Product(product, left, right, transposed, 0))
        total = _total(work, result, "uint32", False, adds)
        add_or_put(work, total, work.converted(product, "uint32"), adds)
    else:
        total = _total(work, result, "int32", False, adds)
        for number, (left_part, right_part, minus) in enumerate(byte_products.products(work, left, right)):
            multiply(work, Product(total, left_part, right_part, transposed, adds if number == 0 else 1, minus))
    _put(work, total, result)


IMPLEMENTATIONS = (TileOpImpl("gemm", "matrix unit", lower_gemm, declines, priority=10, needs=(TileLayouts,)),)
