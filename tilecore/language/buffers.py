"""Handles of a kernel's memory that users work with: buffers and mutable variables."""

from __future__ import annotations

import numbers
import warnings
from typing import TYPE_CHECKING, Any

from tilecore.dtypes import dtype
from tilecore.errors import LanguageError, UnsupportedError, WrongIndexError, WrongTypeError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.expression_classes import BufferLoad as BufferLoadClass
from tilecore.ir.nodes import (
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    FloatImm,
    IntImm,
    Range,
    TensorLoad,
    TensorRegion,
    Var,
    structural_equal,
)
from tilecore.language import slices as slices  # the operators of slices
from tilecore.language.annotations import BufferData
from tilecore.language.arithmetic import Arithmetic
from tilecore.language.conversions import convert
from tilecore.language.negative_indexes import from_end
from tilecore.language.symbols import ConstDim
from tilecore.language.values import KernelValue, as_expr, is_kernel_value
from tilecore.language.vector_shapes import indices_of_lane, with_lanes, without_lanes
from tilecore.tracing.current import active, current
from tilecore.tracing.vectors import find_lanes, lane_of

if TYPE_CHECKING:
    from tilecore.tracing.builder import Builder


def _is_element(value: Any, buffer: Var, where: list[Any]) -> bool:
    """Is the value a load of this element of the buffer?"""
    value, where = current().in_place(value), [current().in_place(index) for index in where]
    if not isinstance(value, TensorLoad) or not value.source.same_as(buffer):
        return False
    return all(structural_equal(a, b, map_free_vars=False) for a, b in zip(value.indices, where, strict=True))


def type_of(buffer: Var, lanes: int) -> dtype:
    """The type of the elements of a buffer whose vectors have so many lanes; 1: it has no vectors."""
    element = str(buffer.dtype)
    return dtype(element if lanes == 1 else f"{element}x{lanes}")


@BufferLoadClass.register
class LocalVar(Arithmetic):
    """A mutable value of the kernel (``T.alloc_var``): assigning to its name stores, reading it loads. lanes: those of
    a variable of a vector type, whose buffer has an element for each."""

    lanes = 1

    def __init__(self, buffer: Var, fresh: bool = True) -> None:
        self.buffer = buffer
        self.fresh = fresh

    @property
    def dtype(self) -> dtype:
        return type_of(self.buffer, self.lanes)

    def name_once(self, builder: Builder, name: str) -> bool:
        """True at the first call: the assignment that names the variable."""
        was_fresh, self.fresh = self.fresh, False
        return was_fresh

    def place(self) -> TensorLoad:
        """A load that denotes the memory itself."""
        return BufferLoad(self.buffer, [self._index()], span=current().span)

    def _index(self) -> Any:
        return IntImm("int32", 0) if self.lanes == 1 else lane_of(current(), self.lanes)

    def expr(self) -> Expr:
        return current().hold(self.place())

    def read(self) -> VariableRead:
        """The current value."""
        return VariableRead(self)

    def store(self, value: Any) -> None:
        builder = current()
        builder.emit(BufferStore(self.buffer, convert(value, self.dtype), [self._index()], span=builder.span))

    def write(self, index: Any, value: Any) -> None:
        self._check_index(index)
        self.store(value)

    def __getitem__(self, index: Any) -> VariableRead:
        self._check_index(index)
        return self.read()

    def __setitem__(self, index: Any, value: Any) -> None:
        self.write(index, value)

    def _check_index(self, index: Any) -> None:
        if not (isinstance(index, int) and index == 0):
            raise LanguageError(
                "a T.alloc_var holds one value", found=f"index {index}", expected="its name without an index, or [0]"
            )


class NoAttributeError(LanguageError, AttributeError):
    """A value of the kernel has no such attribute; an AttributeError, as in Python."""


@BufferLoadClass.register
class Element(Arithmetic):
    """An element of memory that was read: its value at that time (``expr()``), and its place in memory (``place()``).

    Functions that take an element to write to, or where a tile starts, take its place. lanes: those of a buffer of
    vectors.
    """

    def __init__(self, load: TensorLoad, lanes: int = 1) -> None:
        self._load = load
        self.lanes = lanes
        self._builder = current()
        self._value = self._builder.hold(load)

    @property
    def dtype(self) -> dtype:
        return type_of(self._load.source, self.lanes)

    def place(self) -> TensorLoad:
        return self._load

    def expr(self) -> Expr:
        if active() is not self._builder:
            raise LanguageError(
                "a value of one kernel is used in another kernel, or outside kernels",
                found=str(self),
                hint="pass it through memory: store it to a tensor and read the tensor",
            )
        return self._value

    def __iter__(self) -> Any:
        raise self._scalar_error("a Python tuple or list")

    def __getitem__(self, index: Any) -> Any:
        raise self._scalar_error("a buffer to index")

    def _scalar_error(self, expected: str) -> LanguageError:
        hint = "T.extract_lane(v, 0) is the first lane of a vector" if self.lanes > 1 else None
        kind = f"an element of type {self.dtype}" if self.lanes > 1 else "a scalar"
        return LanguageError(f"a value of the kernel is {kind}", found=str(self), expected=expected, hint=hint).at(
            current().location
        )

    def __getattr__(self, name: str) -> Any:
        """What TVM's expressions have besides: ``astype``, and ``source`` and ``indices`` of a load."""
        if name.startswith("_"):
            raise AttributeError(name)
        holder = self._load if name in ("source", "indices", "span") else self.expr()
        if not hasattr(holder, name):
            raise NoAttributeError(
                f"a value of the kernel has no attribute {name!r}",
                found=f"{self}.{name}",
                hint="T.cast(x, dtype) converts it; the functions of values are in T, such as T.abs(x)",
            )
        return getattr(holder, name)

    def __str__(self) -> str:
        return str(self._load)

    __repr__ = __str__


class VariableRead(Element):
    """The value of a T.alloc_var when its name was read; ``variable`` is the variable itself, for T.Ref."""

    def __init__(self, variable: LocalVar) -> None:
        self.variable = variable
        super().__init__(variable.place(), variable.lanes)

    def is_current(self) -> bool:
        """Can nothing have written the variable since?"""
        reading = self._builder.readings.of(self._value)
        return reading is not None and reading.time == self._builder.writes

    def __str__(self) -> str:
        return str(self.variable.buffer.name)

    __repr__ = __str__

    def write(self, index: Any, value: Any) -> None:
        self.variable.write(index, value)

    def __getitem__(self, index: Any) -> Expr:
        return self.variable[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.write(index, value)


class ElementVariable(LocalVar):
    """An element of a buffer, passed by reference (T.Ref)."""

    def __init__(self, load: TensorLoad) -> None:
        super().__init__(load.source, fresh=False)
        self._load = load

    def place(self) -> TensorLoad:
        return self._load

    def store(self, value: Any) -> None:
        BufferHandle(self.buffer).write(tuple(self._load.indices), value)


def reference(value: Any, subject: str) -> LocalVar:
    """The variable that a parameter annotated T.Ref gets: a T.alloc_var, or an element of a buffer."""
    if isinstance(value, LocalVar):
        return value
    if isinstance(value, VariableRead):
        return value.variable
    if isinstance(value, Element):
        return ElementVariable(value.place())
    raise LanguageError(
        f"{subject} is given a value that cannot be stored to",
        found=f"{type(value).__name__} {str(value)[:60]}",
        expected="a T.alloc_var, or an element of a buffer",
        hint="remove the annotation T.Ref to pass a value",
    ).at(current().location)


class SliceWarning(UserWarning):
    """A slice of a tensor has no element inside of the tensor."""


class BufferHandle(KernelValue):
    """A buffer of the kernel: a parameter, or memory from ``T.alloc_*``.

    shape: a tuple of ints and expressions. ``A[i, j]`` loads, ``A[i, j] = v`` stores, ``A[i0:i1, j]`` is a region.
    lanes: those of a buffer of vectors; shape and indices are those of the vectors (vector_shapes.py).
    """

    lanes = 1

    def __init__(self, buffer: Var, lanes: int = 1) -> None:
        self.buffer = buffer
        self.lanes = lanes
        self.fresh = False

    @property
    def name(self) -> str:
        return str(self.buffer.name)

    @property
    def shape(self) -> tuple[Any, ...]:
        sizes = [int(d) if isinstance(d, IntImm) else d for d in self.buffer.shape]
        return tuple(without_lanes(sizes, str(self.buffer.dtype), self.lanes))

    @property
    def strides(self) -> tuple[Any, ...]:
        return tuple(int(d) if isinstance(d, IntImm) else d for d in self.buffer.strides)

    @property
    def dtype(self) -> dtype:
        return type_of(self.buffer, self.lanes)

    @property
    def data(self) -> BufferData:
        """Its memory, for ``T.Tensor(shape, dtype, buffer.data)``."""
        return BufferData(self)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def scope(self) -> str:
        return str(self.buffer.scope())

    def name_once(self, builder: Builder, name: str) -> bool:
        return True

    def expr(self) -> Expr:
        raise WrongTypeError(
            f"{self.name} is a buffer, where a value is expected",
            found=repr(self),
            hint=f"index it: {self.name}[{', '.join('ijkl'[: self.ndim])}]",
        )

    def __getitem__(self, index: Any) -> Any:
        indices, axes = self._indices(index)
        span = current(f"{self.name}[...]").span
        if not axes:
            return Element(BufferLoad(self.buffer, self._place([i.min for i in indices]), span=span), self.lanes)
        return slices.mark(self.region(indices), indices, axes, self.lanes)

    def _place(self, indices: list[Any]) -> list[Any]:
        """The indices of an element in the buffer; of a vector those of all its lanes."""
        if self.lanes == 1:
            return indices
        return indices_of_lane(indices, str(self.buffer.dtype), self.lanes, lane_of(current(), self.lanes))

    def region(self, ranges: list[Range]) -> TensorRegion:
        """The region of the buffer for the ranges of indices, with all lanes of its vectors."""
        if self.lanes == 1:
            return BufferRegion(self.buffer, ranges)
        current().vector_buffers[hash(self.buffer)] = self.dtype
        starts = indices_of_lane([r.min for r in ranges], str(self.buffer.dtype), self.lanes, IntImm("int32", 0))
        sizes = with_lanes([r.extent for r in ranges], self.dtype)
        return BufferRegion(
            self.buffer, [Range.from_min_extent(a, as_expr(n)) for a, n in zip(starts, sizes, strict=True)]
        )

    def write(self, index: Any, value: Any) -> None:
        builder = current()
        indices, is_region = self._indices(index)
        if is_region:
            from tilecore.language.slice_stores import store_slice

            store_slice(self.region(indices), value, is_complete=self._has_all_axes(index))
            return
        where = self._place([i.min for i in indices])
        if isinstance(value, Arithmetic) and value.lanes > 1:
            self._check_lanes(builder, where, value.lanes)
        statement = convert(value, self.dtype)
        if not (self._is_reducer(builder) and _is_element(statement, self.buffer, where)):  # r[i] += 0, which is folded
            builder.emit(BufferStore(self.buffer, statement, where, span=builder.span))

    def _check_lanes(self, builder: Builder, where: list[Any], lanes: int) -> None:
        """Raise LanguageError where a vector of ``lanes`` lanes is stored to a place of another number of elements."""
        counts = [found[0] for index in where if (found := find_lanes(builder, as_expr(index))) is not None]
        if lanes not in counts:
            raise LanguageError(
                f"a vector of {lanes} lanes is stored to {counts[0] if counts else 'one'} element(s) of {self.name}",
                expected=f"a place of {lanes} elements: {self.name}[T.Ramp(i, 1, {lanes})] = ...",
            ).at(builder.location)

    def _has_all_axes(self, index: Any) -> bool:
        items = index if isinstance(index, (tuple, list)) else (index,)
        return len(items) == self.ndim or any(item is Ellipsis for item in items)

    def _is_reducer(self, builder: Builder) -> bool:
        """Is it the memory of a T.alloc_reducer?"""
        kernel = builder.enclosing("kernel")
        return kernel is not None and self.buffer in kernel.facts["kernel"].frame.facts.get("operations", ())

    def __setitem__(self, index: Any, value: Any) -> None:
        self.write(index, value)

    def __iter__(self) -> Any:
        raise WrongTypeError(
            f"{self.name} is a buffer of the kernel and cannot be iterated by Python",
            hint="loop over its indices with T.Parallel or T.serial; T.reduce_sum, T.reduce_max and the like take a "
            "whole tile",
        )

    def _indices(self, index: Any) -> tuple[list[Range], tuple[int, ...]]:
        """The ranges along the buffer's axes, and the axes that are sliced: none for an element."""
        items = list(index) if isinstance(index, (tuple, list)) else [index]
        rank = self.ndim
        if any(item is Ellipsis for item in items):
            at = next(i for i, item in enumerate(items) if item is Ellipsis)
            items[at : at + 1] = [slice(None)] * (rank - len(items) + 1)
        if len(items) > rank:
            adds_axis = any(item is None for item in items)
            raise WrongIndexError(
                f"{self.name} has {rank} {'axis' if rank == 1 else 'axes'} and is indexed with {len(items)}",
                found=f"{self.name}[{', '.join(map(str, items))}]",
                expected=f"at most {rank} {'index' if rank == 1 else 'indices'}, for shape {self.shape}",
                hint="None adds no axis here: T.reshape gives a tile another shape" if adds_axis else None,
            )
        items += [slice(None)] * (rank - len(items))
        axes = tuple(axis for axis, item in enumerate(items) if isinstance(item, slice))
        return [self._range(item, axis) for axis, item in enumerate(items)], axes

    def _range(self, item: Any, axis: int) -> Range:
        extent = self.shape[axis]
        if not isinstance(item, slice):
            return Range.from_min_extent(as_expr(self._index(item, axis, extent)), IntImm("int32", 1))
        if item.step not in (None, 1):
            raise UnsupportedError(
                f"{self.name} is sliced with step {item.step}",
                expected="a step of 1",
                hint="loop over it with T.Parallel, or declare the parameter as a T.StridedTensor",
            )
        start = 0 if item.start is None else self._bound(item.start, axis, extent)
        stop = extent if item.stop is None else self._bound(item.stop, axis, extent)
        size = Analyzer().simplify(as_expr(stop) - as_expr(start))
        if not isinstance(size, IntImm):  # A[x[0] : x[0] + 4] reads x[0] twice
            simpler = Analyzer().simplify(current().in_place(size))
            size = simpler if isinstance(simpler, IntImm) else size
        if isinstance(size, IntImm) and int(size) <= 0:
            raise LanguageError(
                f"the slice of axis {axis} of {self.name} is empty",
                found=f"{start}:{stop}",
                expected="a stop that is greater than the start",
            )
        self._check_slice(start, stop, extent, axis)
        return Range.from_min_extent(as_expr(start), size)

    def _check_slice(self, start: Any, stop: Any, extent: Any, axis: int) -> None:
        """A slice of a global buffer may lie outside it, where it is masked; one that has no element inside is probably
        a mistake."""
        if not isinstance(extent, int):
            return
        starts_outside = isinstance(start, int) and not 0 <= start < extent
        ends_outside = isinstance(stop, int) and stop > extent
        is_masked = self.scope() == "global" and not (isinstance(start, int) and start < 0)
        if starts_outside and is_masked:
            warnings.warn(
                f"{current().location}: the slice {start}:{stop} of axis {axis} of {self.name} lies outside the axis, "
                f"which has {extent} elements: it reads as 0, and stores to it are dropped",
                SliceWarning,
                stacklevel=2,
            )
        elif starts_outside or (ends_outside and not is_masked):
            raise WrongIndexError(
                f"the slice of axis {axis} of {self.name} {'starts' if starts_outside else 'ends'} outside the axis",
                found=f"{start}:{stop}",
                expected=f"within 0:{extent}, for shape {self.shape}",
            )

    def _index(self, item: Any, axis: int, extent: Any) -> Any:
        """The index of an element: an int within the axis, or an expression."""
        value = self._bound(item, axis, extent)
        if isinstance(value, int) and isinstance(extent, int) and not 0 <= value < extent:
            raise WrongIndexError(
                f"index {item} of axis {axis} is outside {self.name}",
                found=f"index {item}",
                expected=f"{-extent} to {extent - 1}, for shape {self.shape}"
                if extent
                else "no index, because the axis is empty",
            )
        return value

    def _bound(self, item: Any, axis: int, extent: Any) -> Any:
        """An index, or an end of a slice: an int counted from the start, or an expression."""
        if isinstance(item, ConstDim):
            item = item.value
        if isinstance(item, IntImm):
            item = int(item)
        if isinstance(item, (bool, float, FloatImm)):
            raise WrongTypeError(f"axis {axis} of {self.name} is indexed with {item!r}", expected="an integer")
        if isinstance(item, numbers.Integral):
            return int(item) + extent if int(item) < 0 else int(item)
        value = as_expr(item)
        if str(value.ty.dtype) == "bool":
            raise WrongTypeError(
                f"axis {axis} of {self.name} is indexed with a bool, and masks do not select elements",
                found=str(value),
                expected="an integer expression",
                hint='store in an `if` where the condition holds; for 0 or 1 cast it: T.cast(condition, "int32")',
            )
        if str(value.ty.dtype)[:3] not in ("int", "uin"):
            raise WrongTypeError(
                f"axis {axis} of {self.name} is indexed with a {value.ty.dtype}",
                found=str(value),
                expected="an integer expression",
                hint='cast it: T.cast(x, "int32")',
            )
        return from_end(current(), value, extent)

    def _no_arithmetic(self, other: Any = None) -> Any:
        raise WrongTypeError(
            f"an operator is applied to the whole buffer {self.name}",
            found=repr(self),
            hint="loop over its elements with T.Parallel",
        ).at(current().location)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_arithmetic
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _no_arithmetic
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = _no_arithmetic
    __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __invert__ = __pos__ = __abs__ = _no_arithmetic

    def __eq__(self, other: object) -> bool:
        """Are they the same buffer? A comparison with a number or a value would be elementwise, and is refused."""
        if isinstance(other, numbers.Number) or (not isinstance(other, BufferHandle) and is_kernel_value(other)):
            self._no_arithmetic()
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype}{list(self.shape)} in {self.scope()}"


def as_load(value: Any) -> Any:
    """The place behind ``value``, as a BufferLoad: an element of a buffer, or a T.alloc_var; None when it is none."""
    if isinstance(value, (LocalVar, Element)):
        return value.place()
    return value if isinstance(value, TensorLoad) else None
