"""T.dp4a: the dot product of four int8 and four int8, added to an int32.

Its operands are places in memory, as in TileLang, where it adds to the third one; or, where the bytes are packed in
int32 values, values, of which it returns the sum.
"""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.nodes import BufferLoad, Expr, IntImm, TensorRegion
from tilecore.language.buffers import BufferHandle, as_load
from tilecore.language.conversions import convert
from tilecore.language.keywords import also_named
from tilecore.language.regions import region_of, tile_shape
from tilecore.language.slices import slice_text
from tilecore.language.values import as_expr, is_kernel_value
from tilecore.tracing.current import current
from tilecore.tracing.vectors import at_lane, find_lanes

_BYTES = 4


@also_named(a="A", b="B", c="C")
def dp4a(A: Any, B: Any, C: Any) -> Expr | None:
    """``C += A[0] * B[0] + A[1] * B[1] + A[2] * B[2] + A[3] * B[3]`` of signed bytes.

    A, B: int8; the first of four elements of a row, a slice of four, a buffer, or a vector of four lanes. C: int32, an
    element, or a buffer or a slice, whose first element is added to. With A and B int32 values of four int8 each, it
    returns the sum of C, a value, and the dot product, and stores nothing. Raises LanguageError for other types.
    """
    builder = current("T.dp4a")
    if _is_packed(A) and _is_packed(B):
        return _of_packed(as_expr(A), as_expr(B), as_expr(C))
    factors = [_elements(builder, operand, name) for operand, name in ((A, "A"), (B, "B"))]
    place = _first(C, "C")
    if str(place.source.dtype) != "int32":
        raise LanguageError(
            "T.dp4a requires an int32 accumulator", found=f"C, of {place.source.dtype}", expected="memory of int32"
        )
    handle, where = BufferHandle(place.source), tuple(place.indices)
    total: Any = handle[where]
    for x, y in zip(*factors, strict=True):
        total = total + convert(x, "int32") * convert(y, "int32")
    handle.write(where, total)
    return None


def _is_packed(operand: Any) -> bool:
    """Is the operand four bytes in an int32 value, or a Python number?"""
    if isinstance(operand, (BufferHandle, TensorRegion)):
        return False
    return not is_kernel_value(operand) or str(as_expr(operand).ty.dtype) in ("int32", "uint32")


def _of_packed(a: Expr, b: Expr, total: Any) -> Expr:
    for lane in range(_BYTES):
        x, y = (convert((packed << (24 - 8 * lane)) >> 24, "int32") for packed in (a, b))
        total = total + x * y
    return total


def _elements(builder: Any, operand: Any, name: str) -> list[Any]:
    """The four bytes of an operand in memory, or the lanes of a vector."""
    load = as_load(operand)
    is_vector = load is not None and find_lanes(builder, load) is not None
    place = load if is_vector else _first(operand, name)
    assert place is not None
    if str(place.source.dtype) != "int8":
        raise LanguageError(
            "T.dp4a requires int8 inputs", found=f"{name}, of {place.source.dtype}", expected="memory of int8"
        )
    if is_vector:
        counted = find_lanes(builder, place)
        if counted is None or counted[0] != _BYTES:
            raise LanguageError(f"T.dp4a takes vectors of {_BYTES} lanes", found=f"{name} = {operand}")
        return [at_lane(builder, place, lane) for lane in range(_BYTES)]
    _check_row(operand, name, place)
    *outer, last = place.indices
    handle = BufferHandle(place.source)
    return [handle[(*outer, last + lane)] for lane in range(_BYTES)]


def _first(operand: Any, name: str) -> Any:
    """The first element of an operand in memory."""
    if not isinstance(operand, (BufferHandle, TensorRegion)) and as_load(operand) is None:
        raise LanguageError(
            f"T.dp4a: {name} is not in memory",
            found=str(operand)[:80],
            expected="an element A[i] of a buffer, a slice, or a buffer",
            hint="T.dp4a(a, b, c) of values takes a and b as int32, of four int8 each",
        )
    region = region_of(operand, "T.access_ptr")
    return BufferLoad(region.source, [r.min for r in region.region], span=current().span)


def _check_row(operand: Any, name: str, place: Any) -> None:
    """Raise LanguageError for a slice of another size, and where the four elements may lie in several rows."""
    region = region_of(operand, "T.access_ptr")
    sizes = tile_shape(region)
    if isinstance(operand, TensorRegion) and sizes and all(isinstance(n, int) for n in sizes) and sizes != [_BYTES]:
        raise LanguageError(
            f"T.dp4a: the slice {name} has another size",
            found=slice_text(region),
            expected=f"{_BYTES} elements along one axis, or the first element alone",
        )
    row = place.source.shape[-1]
    if isinstance(row, IntImm) and int(row) % _BYTES and (len(place.source.shape) > 1 or int(row) < _BYTES):
        raise LanguageError(
            f"T.dp4a: the elements of {name} may lie in several rows of {place.source.name}",
            found=f"rows of {int(row)} elements",
            expected=f"a multiple of {_BYTES} elements",
            hint=f"T.view({place.source.name}, ...) gives it one axis",
        )
