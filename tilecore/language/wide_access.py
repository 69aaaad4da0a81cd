"""Loads and stores of 32 to 256 bits at once by name: T.ldg128, T.stg64, T.lds32, T.sts128 and the others, and T.__ldg.

They are accesses of vectors of the buffer's elements that promise the alignment of the whole access. What a load gives
counts as unsigned integers of 32 bits, of which T.reinterpret makes vectors of other types without cost.
"""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.nodes import BufferLoad, BufferStore, Expr, IfThenElse, IntImm, TensorRegion, Var, tirx
from tilecore.ir.scopes import is_global, is_shared
from tilecore.language.buffers import BufferHandle, as_load
from tilecore.language.conditions import as_condition
from tilecore.language.conversions import convert
from tilecore.language.debugging import assume
from tilecore.language.lanes import Bits, reinterpret_vector
from tilecore.language.regions import region_of, tile_shape
from tilecore.language.slices import slice_text
from tilecore.language.values import as_expr
from tilecore.tracing.builder import Builder
from tilecore.tracing.current import current
from tilecore.tracing.vectors import lane_of, over_vector, vector_memory


class _Place:
    """The elements in memory that an access of ``bits`` bits takes, from the given one on."""

    def __init__(self, subject: str, value: Any, bits: int, scope: str) -> None:
        self.builder = current(subject)
        region = self._region(subject, value)
        self.buffer = region.source
        element = DType(str(self.buffer.dtype))
        if not (is_global if scope == "global" else is_shared)(self.buffer):
            raise LanguageError(
                f"{subject} accesses {scope} memory",
                found=f"{self.buffer.name}, in {self.buffer.scope()}",
                expected=f"a buffer in {scope} memory",
                hint="index the buffer, A[T.Ramp(i, 1, n)], for memory of any kind",
            )
        self.count = bits // element.bits
        if element.bits < 8 or not self.count or self.count * element.bits != bits:
            raise LanguageError(
                f"{subject} takes {bits} bits, which are no whole number of elements",
                found=f"{self.buffer.name}, of {element}",
                expected=f"elements of 8 to {bits} bits",
            )
        self._check_slice(subject, value, region, element)
        self.kind = DType(element if self.count == 1 else f"{element}x{self.count}")
        self.indices = [r.min for r in region.region]
        self.first = self.indices[-1]
        self.lanes: tuple[int, Var] | None = None
        if self.count > 1:
            self.lanes = self.count, lane_of(self.builder, self.count)
            self.indices[-1] = Analyzer().simplify(self.indices[-1] + self.lanes[1])

    def promise(self, subject: str, pred: Any) -> None:
        """Promise, which the interpreter checks, that the place is aligned to the access. Raises LanguageError where it
        is known not to be."""
        if self.lanes is None:
            return
        shape = list(self.buffer.shape)
        strides = list(self.buffer.strides) or [reduce(mul, shape[axis + 1 :], 1) for axis in range(len(shape))]
        starts = [*self.indices[:-1], self.first]
        offset: Any = sum((index * stride for index, stride in zip(starts, strides, strict=True)), as_expr(0))
        rest = Analyzer().simplify(offset % self.count)
        if isinstance(rest, IntImm) and int(rest):
            raise LanguageError(
                f"{subject} accesses memory that is not aligned",
                found=f"element {Analyzer().simplify(offset)} of {self.buffer.name}",
                expected=f"a multiple of {self.count} elements, which are {self.kind.bytes} bytes",
                hint="A[T.Ramp(i, 1, n)] loads and stores elements from any place on",
            )
        if not isinstance(rest, IntImm):
            assume(rest == 0 if pred is None else tirx.any(tirx.Not(pred), as_expr(rest == 0)))

    def _region(self, subject: str, value: Any) -> TensorRegion:
        if not isinstance(value, (BufferHandle, TensorRegion)) and as_load(value) is None:
            raise LanguageError(
                f"{subject} takes a place in memory",
                found=f"{type(value).__name__} {str(value)[:60]}",
                expected="an element A[i], from which on it accesses, a slice A[i:j], or a buffer",
            )
        return region_of(value, "T.access_ptr")

    def _check_slice(self, subject: str, value: Any, region: TensorRegion, element: DType) -> None:
        """Raise LanguageError for a slice of another size, and where the elements may lie in several rows."""
        sizes = tile_shape(region)
        is_slice = isinstance(value, TensorRegion) and all(isinstance(size, int) for size in sizes)
        if is_slice and sizes and sizes != [self.count]:
            raise LanguageError(
                f"{subject} is given a slice of another size",
                found=slice_text(region),
                expected=f"{self.count} elements of {element} along one axis, or the first element alone",
            )
        row = self.buffer.shape[-1]
        if len(self.buffer.shape) > 1 and isinstance(row, IntImm) and int(row) % self.count:
            raise LanguageError(
                f"{subject} may access elements of several rows of {self.buffer.name}",
                found=f"rows of {int(row)} elements",
                expected=f"a multiple of {self.count} elements, which one access takes",
                hint=f"T.view({self.buffer.name}, ...) gives it one axis",
            )


def _load(name: str, bits: int, scope: str) -> Any:
    subject = f"T.{name}"
    kind = DType("uint32" if bits == 32 else f"uint32x{bits // 32}")

    def load(src: Any, pred: Any = None) -> Bits:
        place = _Place(subject, src, bits, scope)
        condition = None if pred is None else as_condition(pred)
        place.promise(subject, condition)
        builder = place.builder
        value: Expr = BufferLoad(place.buffer, place.indices, span=builder.span)
        if condition is not None:
            value = tirx.if_then_else(condition, value, convert(0, place.kind))
        if place.lanes is None:
            return Bits(builder.hold(value), place.kind, kind)
        memory = vector_memory(builder, f"{place.buffer.name}_bits", str(place.buffer.dtype), place.count)
        store = BufferStore(memory, value, [place.lanes[1]], span=builder.span)
        builder.emit(over_vector(builder, store, place.lanes, aligned=True))
        return Bits(BufferLoad(memory, [place.lanes[1]]), place.kind, kind)

    def shared_load(src: Any) -> Bits:
        return load(src)

    function = load if scope == "global" else shared_load
    function.__name__ = function.__qualname__ = name
    masked = " Where ``pred`` does not hold, nothing is loaded and the value is 0." if scope == "global" else ""
    function.__doc__ = (
        f"{bits} bits of {scope} memory from an element (or the first one of a slice or a buffer) on, as {kind}. The "
        f"address is a multiple of {bits // 8} bytes.{masked}"
    )
    return function


def _store(name: str, bits: int, scope: str) -> Any:
    subject = f"T.{name}"

    def store(dst: Any, value: Any, pred: Any = None) -> None:
        place = _Place(subject, dst, bits, scope)
        elements = convert(reinterpret_vector(value, place.kind), place.kind)
        condition = None if pred is None else as_condition(pred)
        place.promise(subject, condition)
        if condition is None:
            _emit(place.builder, place, elements)
            return
        with place.builder.block("branch", condition=condition) as frame:
            _emit(place.builder, place, elements)
        place.builder.emit(IfThenElse(condition, frame.body(), None, span=place.builder.span))

    def shared_store(dst: Any, value: Any) -> None:
        store(dst, value)

    function = store if scope == "global" else shared_store
    function.__name__ = function.__qualname__ = name
    masked = " Where ``pred`` does not hold, nothing is stored." if scope == "global" else ""
    function.__doc__ = (
        f"Stores a value of {bits} bits to {scope} memory, from an element, or the first of a slice or a buffer, on. "
        f"The address is a multiple of {bits // 8} bytes.{masked}"
    )
    return function


def _emit(builder: Builder, place: _Place, elements: Expr) -> None:
    statement = BufferStore(place.buffer, elements, place.indices, span=builder.span)
    builder.emit(statement if place.lanes is None else over_vector(builder, statement, place.lanes, aligned=True))


ldg32, ldg64, ldg128, ldg256 = (_load(f"ldg{bits}", bits, "global") for bits in (32, 64, 128, 256))
stg32, stg64, stg128, stg256 = (_store(f"stg{bits}", bits, "global") for bits in (32, 64, 128, 256))
lds32, lds64, lds128 = (_load(f"lds{bits}", bits, "shared") for bits in (32, 64, 128))
sts32, sts64, sts128 = (_store(f"sts{bits}", bits, "shared") for bits in (32, 64, 128))


def __ldg(load_or_buf: Any, index: Any = None) -> Any:
    """An element of global memory that nothing writes while the kernel runs: ``T.__ldg(A[i])``, ``T.__ldg(A, i)``."""
    current("T.__ldg")
    value = load_or_buf if index is None else load_or_buf[index]
    load = as_load(value)
    if load is None or not is_global(load.source):
        raise LanguageError(
            "T.__ldg takes an element of global memory", found=str(load_or_buf)[:80], expected="A[i] of a tensor"
        )
    return value
