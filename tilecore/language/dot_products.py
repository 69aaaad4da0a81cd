"""T.dp4a: the dot product of four int8, added to an int32."""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.build import cast, const, dtype_of, load
from tilecore.ir.nodes import BufferStore, Expr, TensorRegion
from tilecore.language.buffers import BufferHandle
from tilecore.language.conversions import convert
from tilecore.language.regions import region_of
from tilecore.language.values import as_expr
from tilecore.tracing.current import current

_PACKED = ("int32", "uint32")


def dp4a(A: Any, B: Any, C: Any) -> Expr | None:
    """``C += A[0] * B[0] + ... + A[3] * B[3]``, of int8 and an int32.

    A, B: tensors of int8, slices of them, or elements, from which on four elements along the last axis are read.
    C: an element of an int32 tensor, or a tensor, whose first element it is. Returns None.

    With integers of 32 bits for A and B, each of which holds four int8, it returns C plus their dot product. Other
    element types raise LanguageError, a ValueError.
    """
    kinds = _kind(A), _kind(B), _kind(C)
    if kinds[0] in _PACKED and kinds[1] in _PACKED:
        return _of_packed(A, B, C)
    if kinds != ("int8", "int8", "int32"):
        raise LanguageError(
            "T.dp4a requires int8 inputs and an int32 accumulator", found=f"A {kinds[0]}, B {kinds[1]}, C {kinds[2]}"
        )
    builder = current("T.dp4a")
    a, b, c = (region_of(operand, "T.dp4a") for operand in (A, B, C))
    first = [r.min for r in c.region]
    total = load(c.source, first)
    for k in range(4):
        total = total + cast(_element(a, k), "int32") * cast(_element(b, k), "int32")
    builder.emit(BufferStore(c.source, total, first, span=builder.span))
    return None


def _kind(operand: Any) -> str:
    if isinstance(operand, (BufferHandle, TensorRegion)):
        return dtype_of(region_of(operand, "T.dp4a").source)
    return dtype_of(as_expr(operand))


def _element(region: TensorRegion, k: int) -> Expr:
    indices = [r.min for r in region.region]
    indices[-1] = indices[-1] + const(k, dtype_of(indices[-1]))
    return load(region.source, indices)


def _of_packed(A: Any, B: Any, C: Any) -> Expr:
    total = as_expr(C)
    for lane in range(4):
        x = convert((as_expr(A) << (24 - 8 * lane)) >> 24, "int32")
        y = convert((as_expr(B) << (24 - 8 * lane)) >> 24, "int32")
        total = total + x * y
    return total
