"""Atomic operations on elements and tiles of shared or global memory."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import load
from tilecore.ir.nodes import Evaluate, Expr, TensorLoad
from tilecore.ir.reductions import has_meaning
from tilecore.ir.thread_calls import MEMORY_ORDERS
from tilecore.ir.tile_ops import tile_call, tile_statement
from tilecore.language.buffers import BufferHandle, Element, VariableRead, as_load
from tilecore.language.conversions import convert
from tilecore.language.copies import require_block
from tilecore.language.keywords import also_named
from tilecore.language.lanes import as_vector
from tilecore.language.regions import check_same_shape, describe, kind_of, region_of, region_pair
from tilecore.language.slice_stores import vector_indices, vector_size
from tilecore.tracing.current import current
from tilecore.tracing.vectors import at_lane, find_lanes, in_memory, lane_of, over_vector, place_at_lane

# Of C++ (atomics.types.operations): a load cannot release, a store cannot acquire.
_ORDERS_OF = {
    "T.atomic_load": ("relaxed", "consume", "acquire", "seq_cst"),
    "T.atomic_store": ("relaxed", "release", "seq_cst"),
}
_ORDER_INSTEAD = {
    "T.atomic_load": 'write memory_order="acquire", or "release" at the T.atomic_store that it reads from',
    "T.atomic_store": 'write memory_order="release", or "acquire" at the T.atomic_load that reads it',
}


def _atomic(kind: str, dst: Any, value: Any, order: str | None, return_prev: bool = False) -> Expr | None:
    subject = f"T.atomic_{kind}"
    order = _order(order, subject)
    element = as_load(dst)
    dtype = kind_of(region_of(dst, subject))
    if not has_meaning(kind, dtype):
        raise LanguageError(f"{subject} is not defined for {dtype} values")
    is_tile = element is None or isinstance(value, BufferHandle) or _is_region(value)
    if not is_tile:
        return _element(kind, element, value, order, return_prev)
    if return_prev:
        raise LanguageError(
            f"{subject}(return_prev=True) is applied to a tile",
            expected="one element",
            hint="loop over the elements with T.Parallel",
        )
    _tile(kind, dst, value, order)
    return None


def _element(kind: str, element: TensorLoad, value: Any, order: str, return_prev: bool) -> Expr | None:
    builder = current(f"T.atomic_{kind}")
    dtype = DType(str(element.source.dtype))
    call = tile_call(
        "atomic_element", [element, convert(value, dtype), kind, order], dtype=str(dtype), span=builder.span
    )
    if return_prev:
        return builder.bind("previous", call)
    builder.emit(Evaluate(call, span=builder.span))
    return None


def _tile(kind: str, dst: Any, value: Any, order: str) -> None:
    require_block(f"atomic_{kind}")
    builder = current(f"T.atomic_{kind}")
    is_start = isinstance(value, Element) and not isinstance(value, VariableRead)  # of a tile of the shape of dst
    if is_start or isinstance(value, (BufferHandle, TensorLoad)) or _is_region(value):
        source, target = region_pair(value, dst, f"T.atomic_{kind}")
        check_same_shape(source, target, f"T.atomic_{kind}")
        operand: Any = source
    else:
        target = region_of(dst, f"T.atomic_{kind}")
        operand = convert(value, kind_of(target))
    builder.emit(tile_statement("atomic", [target, operand, kind, order], span=builder.span))


def _is_region(value: Any) -> bool:
    from tilecore.ir.nodes import TensorRegion

    return isinstance(value, TensorRegion)


def atomic_add(
    dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False, use_tma: bool = False,
    annotations: dict[str, Any] | None = None,
) -> Expr | None:  # fmt: skip
    """``dst += value`` atomically; returns the previous value if asked.

    dst: an element ``A[i]``, or a tile (a buffer, a slice, or an element where a tile of ``value``'s shape starts).
    """
    return _atomic("add", dst, value, memory_order, return_prev)


def atomic_max(
    dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False,
    annotations: dict[str, Any] | None = None,
) -> Expr | None:  # fmt: skip
    """``dst = max(dst, value)`` atomically."""
    return _atomic("max", dst, value, memory_order, return_prev)


def atomic_min(
    dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False,
    annotations: dict[str, Any] | None = None,
) -> Expr | None:  # fmt: skip
    """``dst = min(dst, value)`` atomically."""
    return _atomic("min", dst, value, memory_order, return_prev)


def atomic_and(dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False) -> Expr | None:
    """``dst &= value`` atomically."""
    return _atomic("and", dst, value, memory_order, return_prev)


def atomic_or(dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False) -> Expr | None:
    """``dst |= value`` atomically."""
    return _atomic("or", dst, value, memory_order, return_prev)


def atomic_xor(dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False) -> Expr | None:
    """``dst ^= value`` atomically."""
    return _atomic("xor", dst, value, memory_order, return_prev)


def atomic_exchange(dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = True) -> Expr | None:
    """``dst = value`` atomically; returns the previous value."""
    return _atomic("exchange", dst, value, memory_order, return_prev)


def atomic_cas(dst: Any, compare: Any, value: Any, memory_order: str | None = None) -> Expr:
    """``dst = value`` if ``dst == compare``, atomically; returns the previous value, which tells whether it was stored.

    dst: an element of integers. Raises UnsupportedError for targets without compare-and-swap.
    """
    subject = "T.atomic_cas"
    element = as_load(dst)
    if element is None:
        raise LanguageError(
            f"{subject} takes one element", found=_text(dst), expected="A[i], with an index for each axis"
        )
    dtype = DType(str(element.source.dtype))
    if dtype.facts.kind not in ("int", "uint") or dtype.bits < 8:
        raise LanguageError(
            f"{subject} is not defined for {dtype} values",
            found=f"an element of {element.source.name}",
            expected="integers of one byte or more",
            hint='T.view(buffer, dtype="int32") compares the bits of a float32' if dtype.is_float else None,
        )
    builder = current(subject)
    operands = [element, convert(value, dtype), "cas", _order(memory_order, subject), convert(compare, dtype)]
    return builder.bind("previous", tile_call("atomic_element", operands, dtype=str(dtype), span=builder.span))


def _order(memory_order: str | None, subject: str) -> str:
    order = memory_order or "relaxed"
    orders = _ORDERS_OF.get(subject, MEMORY_ORDERS)
    if order in orders:
        return order
    kind = "reads" if subject == "T.atomic_load" else "writes"
    hint = f"{subject} only {kind} memory; {_ORDER_INSTEAD[subject]}" if order in MEMORY_ORDERS else None
    raise LanguageError(f"{subject} does not support memory_order={order!r}", expected=", ".join(orders), hint=hint)


def _text(value: Any) -> str:
    return repr(value)[:80] if isinstance(value, BufferHandle) else str(value)[:80]


@also_named(value="src")
def atomic_store(dst: Any, src: Any, memory_order: str = "seq_cst") -> None:
    """``dst = src`` atomically."""
    _atomic("store", dst, src, memory_order)


def atomic_load(src: Any, memory_order: str = "seq_cst") -> Expr:
    """The value of ``src``, loaded atomically."""
    element = as_load(src)
    if element is None:
        raise LanguageError("T.atomic_load reads one element", found=str(src), expected="A[i]")
    result = _element("load", element, 0, _order(memory_order, "T.atomic_load"), True)
    assert result is not None
    return result


def _vector_add(lanes: int) -> Any:
    subject = f"T.atomic_addx{lanes}"

    def op(dst: Any, value: Any, return_prev: bool = False) -> Expr | None:
        builder = current(subject)
        target, source = _vector(subject, dst, lanes), _vector(subject, value, lanes)
        if not isinstance(target, TensorLoad):
            raise LanguageError(f"{subject} adds to memory", found=_text(dst), expected=f"{lanes} elements of a tensor")
        dtype = DType(str(target.source.dtype))
        if not has_meaning("add", str(dtype)):
            raise LanguageError(f"{subject} is not defined for {dtype} values")
        hints = {CallAttr.CALLED: subject}

        def addition(place: Expr, term: Expr) -> Expr:
            return tile_call(
                "atomic_element", [place, term, "add", "relaxed"], dtype=str(dtype), hints=hints, span=builder.span
            )

        if return_prev:
            terms = [convert(at_lane(builder, source, lane), dtype) for lane in range(lanes)]
            places = [place_at_lane(builder, target, lane) for lane in range(lanes)]
            before = [builder.bind("previous", addition(*pair)) for pair in zip(places, terms, strict=True)]
            return in_memory(builder, "previous", before)
        statement = Evaluate(addition(target, convert(source, dtype)), span=builder.span)
        builder.emit(over_vector(builder, statement, (lanes, lane_of(builder, lanes))))
        return None

    op.__name__ = op.__qualname__ = f"atomic_addx{lanes}"
    op.__doc__ = (
        f"T.atomic_add of {lanes} neighbouring elements, each of which is updated atomically by itself; returns the "
        f"vector of the previous values if asked. dst, value: the first element, {lanes} elements as a slice or a "
        "buffer, or a vector, as A[T.Ramp(i, 1, n)] is."
    )
    return op


def _vector(subject: str, value: Any, lanes: int) -> Expr:
    """The elements that ``value`` stands for as a vector: a load of memory that is not held, or a value."""
    builder = current(subject)
    if isinstance(value, BufferHandle) or _is_region(value):
        region = region_of(value, "T.access_ptr")
        if vector_size(region) != lanes:
            raise LanguageError(
                f"{subject} takes {lanes} elements", found=describe(region), expected=f"{lanes} elements along one axis"
            )
        return load(region.source, vector_indices(builder, region))
    element = as_load(value)
    if element is not None and find_lanes(builder, element) is None:
        return load(element.source, [*element.indices[:-1], element.indices[-1] + lane_of(builder, lanes)])
    vector, count = (element, lanes) if element is not None else as_vector(value)
    counted = find_lanes(builder, vector)
    if (counted[0] if counted else count) != lanes:
        raise LanguageError(
            f"{subject} takes {lanes} elements",
            found=_text(value),
            expected=f"the first of {lanes} elements, a slice of them, or a vector of {lanes} lanes",
        )
    return vector


atomic_addx2 = _vector_add(2)
atomic_addx4 = _vector_add(4)
