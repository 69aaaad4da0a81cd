"""The values of a kernel as users hold them: buffers, mutable variables, expressions."""

from __future__ import annotations

import numbers
from typing import Any

from tilecore.dtypes import dtype
from tilecore.errors import LanguageError
from tilecore.frontend.builder import Builder, current
from tilecore.ir.nodes import (
    Analyzer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Cast,
    Expr,
    FloatImm,
    IntImm,
    Range,
    TensorLoad,
    TensorRegion,
    Var,
    is_buffer_var,
    is_prim_expr,
    tirx,
)
from tilecore.language.symbols import ConstDim

_LAZY = (tirx.expr.EqualOp, tirx.expr.NotEqualOp)  # what == and != of expressions return


class _Arithmetic:
    """Python's operators on a value that becomes an expression when used."""

    def expr(self) -> Expr:
        raise NotImplementedError

    def __tvm_ffi_object__(self) -> Expr:
        """TVM's own operators, with this on their right, take it as the expression."""
        return self.expr()

    def __add__(self, other: Any) -> Expr:
        return self.expr() + as_expr(other)

    def __radd__(self, other: Any) -> Expr:
        return as_expr(other) + self.expr()

    def __sub__(self, other: Any) -> Expr:
        return self.expr() - as_expr(other)

    def __rsub__(self, other: Any) -> Expr:
        return as_expr(other) - self.expr()

    def __mul__(self, other: Any) -> Expr:
        return self.expr() * as_expr(other)

    def __rmul__(self, other: Any) -> Expr:
        return as_expr(other) * self.expr()

    def __truediv__(self, other: Any) -> Expr:
        return self.expr() / as_expr(other)

    def __rtruediv__(self, other: Any) -> Expr:
        return as_expr(other) / self.expr()

    def __floordiv__(self, other: Any) -> Expr:
        return self.expr() // as_expr(other)

    def __rfloordiv__(self, other: Any) -> Expr:
        return as_expr(other) // self.expr()

    def __mod__(self, other: Any) -> Expr:
        return self.expr() % as_expr(other)

    def __rmod__(self, other: Any) -> Expr:
        return as_expr(other) % self.expr()

    def __neg__(self) -> Expr:
        return -self.expr()

    def __invert__(self) -> Expr:
        return ~self.expr()

    def __lshift__(self, other: Any) -> Expr:
        return self.expr() << as_expr(other)

    def __rlshift__(self, other: Any) -> Expr:
        return as_expr(other) << self.expr()

    def __rshift__(self, other: Any) -> Expr:
        return self.expr() >> as_expr(other)

    def __rrshift__(self, other: Any) -> Expr:
        return as_expr(other) >> self.expr()

    def __and__(self, other: Any) -> Expr:
        return self.expr() & as_expr(other)

    def __rand__(self, other: Any) -> Expr:
        return as_expr(other) & self.expr()

    def __or__(self, other: Any) -> Expr:
        return self.expr() | as_expr(other)

    def __ror__(self, other: Any) -> Expr:
        return as_expr(other) | self.expr()

    def __xor__(self, other: Any) -> Expr:
        return self.expr() ^ as_expr(other)

    def __rxor__(self, other: Any) -> Expr:
        return as_expr(other) ^ self.expr()

    def __lt__(self, other: Any) -> Expr:
        return self.expr() < as_expr(other)

    def __le__(self, other: Any) -> Expr:
        return self.expr() <= as_expr(other)

    def __gt__(self, other: Any) -> Expr:
        return self.expr() > as_expr(other)

    def __ge__(self, other: Any) -> Expr:
        return self.expr() >= as_expr(other)

    def __eq__(self, other: Any) -> Any:
        return as_expr(self.expr() == as_expr(other))

    def __ne__(self, other: Any) -> Any:
        return as_expr(self.expr() != as_expr(other))

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise LanguageError(
            "a value of the kernel is used as a Python condition",
            hint="decide with `if` directly in the kernel or a T.macro, or with T.if_then_else",
        )


class LocalVar(_Arithmetic):
    """A mutable scalar of the kernel (``T.alloc_var``): assigning to its name stores, reading it loads."""

    def __init__(self, buffer: Var, fresh: bool = True) -> None:
        self.buffer = buffer
        self.fresh = fresh

    @property
    def dtype(self) -> dtype:
        return dtype(str(self.buffer.dtype))

    def name_once(self, builder: Builder, name: str) -> bool:
        """True the first time: the assignment that names it."""
        was_fresh, self.fresh = self.fresh, False
        return was_fresh

    def expr(self) -> Expr:
        return BufferLoad(self.buffer, [0], span=current().span)

    def store(self, value: Any) -> None:
        builder = current()
        builder.emit(BufferStore(self.buffer, convert(value, self.dtype), [IntImm("int32", 0)], span=builder.span))

    def write(self, index: Any, value: Any) -> None:
        self._check_index(index)
        self.store(value)

    def __getitem__(self, index: Any) -> Expr:
        self._check_index(index)
        return self.expr()

    def _check_index(self, index: Any) -> None:
        if not (isinstance(index, int) and index == 0):
            raise LanguageError("a T.alloc_var holds one value", found=f"index {index}", expected="its name, or [0]")


class BufferHandle:
    """A buffer of the kernel: a parameter, or memory from ``T.alloc_*``.

    shape: a tuple of ints and expressions. ``A[i, j]`` loads, ``A[i, j] = v`` stores, ``A[i0:i1, j]`` is a region.
    """

    def __init__(self, buffer: Var) -> None:
        self.buffer = buffer
        self.fresh = False

    @property
    def name(self) -> str:
        return str(self.buffer.name)

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(int(d) if isinstance(d, IntImm) else d for d in self.buffer.shape)

    @property
    def strides(self) -> tuple[Any, ...]:
        return tuple(int(d) if isinstance(d, IntImm) else d for d in self.buffer.strides)

    @property
    def dtype(self) -> dtype:
        return dtype(str(self.buffer.dtype))

    @property
    def ndim(self) -> int:
        return len(self.buffer.shape)

    def scope(self) -> str:
        return str(self.buffer.scope())

    def name_once(self, builder: Builder, name: str) -> bool:
        return True

    def __getitem__(self, index: Any) -> Any:
        indices, is_region = self._indices(index)
        span = current(f"{self.name}[...]").span
        if not is_region:
            return BufferLoad(self.buffer, [i.min for i in indices], span=span)
        return BufferRegion(self.buffer, indices)

    def write(self, index: Any, value: Any) -> None:
        builder = current()
        indices, is_region = self._indices(index)
        if is_region:
            from tilecore.language.copies import write_region

            write_region(BufferRegion(self.buffer, indices), value)
            return
        where = [i.min for i in indices]
        builder.emit(BufferStore(self.buffer, convert(value, self.dtype), where, span=builder.span))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.write(index, value)

    def __iter__(self) -> Any:
        raise LanguageError(f"{self.name} is a buffer of the kernel and cannot be iterated by Python")

    def _indices(self, index: Any) -> tuple[list[Range], bool]:
        items = list(index) if isinstance(index, (tuple, list)) else [index]
        rank = self.ndim
        if any(item is Ellipsis for item in items):
            at = next(i for i, item in enumerate(items) if item is Ellipsis)
            items[at : at + 1] = [slice(None)] * (rank - len(items) + 1)
        if len(items) > rank:
            raise LanguageError(
                f"{self.name} has {rank} axes and is indexed with {len(items)}",
                found=f"{self.name}[{', '.join(map(str, items))}]",
                expected=f"at most {rank} indices, for shape {self.shape}",
            )
        is_region = len(items) < rank or any(isinstance(item, slice) for item in items)
        items += [slice(None)] * (rank - len(items))
        return [self._range(item, axis) for axis, item in enumerate(items)], is_region

    def _range(self, item: Any, axis: int) -> Range:
        extent = self.shape[axis]
        if not isinstance(item, slice):
            return Range.from_min_extent(as_expr(self._index(item, axis, extent)), IntImm("int32", 1))
        if item.step not in (None, 1):
            raise LanguageError(
                f"{self.name} is sliced with step {item.step}",
                expected="step 1",
                hint="loop over it with T.Parallel, or declare a T.StridedTensor",
            )
        start = 0 if item.start is None else self._bound(item.start, axis, extent)
        stop = extent if item.stop is None else self._bound(item.stop, axis, extent)
        size = Analyzer().simplify(as_expr(stop) - as_expr(start))
        if isinstance(size, IntImm) and int(size) <= 0:
            raise LanguageError(f"the slice of axis {axis} of {self.name} is empty", found=f"{start}:{stop}")
        self._check_slice(start, stop, extent, axis)
        return Range.from_min_extent(as_expr(start), size)

    def _check_slice(self, start: Any, stop: Any, extent: Any, axis: int) -> None:
        """A slice of a global buffer may end outside it (that part is masked), but must start inside."""
        if not isinstance(extent, int):
            return
        outside = isinstance(start, int) and not 0 <= start < extent
        if outside or (isinstance(stop, int) and stop > extent and self.scope() != "global"):
            raise LanguageError(
                f"the slice of axis {axis} of {self.name} {'starts' if outside else 'ends'} outside it",
                found=f"{start}:{stop}",
                expected=f"within 0:{extent}, for shape {self.shape}",
            )

    def _index(self, item: Any, axis: int, extent: Any) -> Any:
        """The index of an element: an int within the axis, or an expression."""
        value = self._bound(item, axis, extent)
        if isinstance(value, int) and isinstance(extent, int) and not 0 <= value < extent:
            raise LanguageError(
                f"index {item} of axis {axis} is outside {self.name}",
                found=f"index {item}",
                expected=f"{-extent} to {extent - 1}, for shape {self.shape}"
                if extent
                else "nothing: the axis is empty",
            )
        return value

    def _bound(self, item: Any, axis: int, extent: Any) -> Any:
        """An index, or an end of a slice: an int counted from the start, or an expression."""
        if isinstance(item, ConstDim):
            item = item.value
        if isinstance(item, IntImm):
            item = int(item)
        if isinstance(item, (bool, float, FloatImm)):
            raise LanguageError(f"axis {axis} of {self.name} is indexed with {item!r}", expected="an integer")
        if isinstance(item, numbers.Integral):
            return int(item) + extent if int(item) < 0 else int(item)
        value = as_expr(item)
        if str(value.ty.dtype)[:3] not in ("int", "uin", "boo"):
            raise LanguageError(
                f"axis {axis} of {self.name} is indexed with a {value.ty.dtype}",
                found=str(value),
                expected="an integer expression",
                hint='cast it: T.cast(x, "int32")',
            )
        return value

    def _no_arithmetic(self, other: Any = None) -> Any:
        raise LanguageError(
            f"arithmetic on the whole buffer {self.name}",
            found=repr(self),
            hint="loop over its elements with T.Parallel",
        ).at(current().location)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_arithmetic
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _no_arithmetic

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype}{list(self.shape)} in {self.scope()}"


def is_kernel_value(value: Any) -> bool:
    """Is it known only when the kernel runs? Integer and float constants of the IR count as Python's."""
    if isinstance(value, (IntImm, FloatImm)):
        return False
    return isinstance(value, (_Arithmetic, _LAZY, BufferHandle, TensorRegion)) or is_prim_expr(value)


def as_expr(value: Any, kind: str | None = None) -> Expr:
    """``value`` as an expression; Python numbers become constants of ``kind`` (int32, float32, bool by default)."""
    if isinstance(value, _Arithmetic):
        return value.expr()
    if isinstance(value, ConstDim):
        value = value.value
    if isinstance(value, bool):
        return tirx.const(value, kind or "bool")
    if isinstance(value, numbers.Integral):
        fits = -(2**31) <= int(value) < 2**31
        return tirx.const(int(value), kind or ("int32" if fits else "int64"))
    if isinstance(value, numbers.Real):
        return tirx.const(float(value), kind or "float32")
    if is_prim_expr(value):
        if is_buffer_var(value):
            raise LanguageError(f"{value} is a buffer, not a value", hint=f"index it: {value}[...]")
        return value
    if isinstance(value, _LAZY):
        return value.asobject()
    if isinstance(value, BufferHandle):
        raise LanguageError(
            f"{value.name} is a buffer, where a value is expected",
            found=repr(value),
            hint=f"index it: {value.name}[{', '.join('ijkl'[: value.ndim])}]",
        )
    if isinstance(value, TensorRegion):
        raise LanguageError("a slice of a buffer stands where a value is expected", found=str(value))
    raise LanguageError(
        f"a {type(value).__name__} stands where a value of the kernel is expected",
        found=repr(value)[:80],
        expected="a number or an expression",
    )


def as_condition(value: Any) -> Expr:
    """``value`` as a bool expression: numbers are compared with 0."""
    expression = as_expr(value)
    if str(expression.ty.dtype) == "bool":
        return expression
    return as_expr(expression != tirx.const(0, str(expression.ty.dtype)))


def convert(value: Any, kind: str) -> Expr:
    """``value`` as an expression of element type ``kind``, cast if need be; Python's integers are checked to fit."""
    if isinstance(value, ConstDim):
        value = value.value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        _check_fits(int(value), kind)
    if isinstance(value, numbers.Real):
        return _constant(value, kind)
    expression = as_expr(value)
    if str(expression.ty.dtype) == str(kind):
        return expression
    if isinstance(expression, (IntImm, FloatImm)):
        return _constant(expression.value, kind)
    return Cast(ir_dtype(kind), expression)


def _constant(number: Any, kind: str) -> Expr:
    """A number as a constant of element type ``kind``, as a cast in the kernel would convert it."""
    facts = dtype(kind).facts
    if facts.kind == "float":
        return tirx.const(float(number), ir_dtype(kind))
    if facts.kind == "bool":
        return tirx.const(bool(number), "bool")
    low, high = _integer_range(kind)
    if isinstance(number, numbers.Integral):
        return tirx.const((int(number) - low) % (high - low + 1) + low, ir_dtype(kind))
    if number != number:
        return tirx.const(0, ir_dtype(kind))
    return tirx.const(int(min(max(float(number), low), high)), ir_dtype(kind))


def _integer_range(kind: str) -> tuple[int, int]:
    """Least and largest value of an integer type."""
    facts = dtype(kind).facts
    high = 2 ** (facts.bits - (facts.kind == "int")) - 1
    return (-high - 1 if facts.kind == "int" else 0), high


def _check_fits(value: int, kind: str) -> None:
    if dtype(kind).facts.kind not in ("int", "uint"):
        return
    low, high = _integer_range(kind)
    if not low <= value <= high:
        raise LanguageError(
            f"{value} does not fit in {kind}",
            expected=f"{low} to {high}",
            hint=f'T.cast(T.int64({value}), "{kind}") wraps',
        )


def ir_dtype(kind: str) -> str:
    """The element type as the IR knows it: tfloat32 is float32 whose matmuls may round."""
    name = str(dtype(kind))
    return "float32" if name == "tfloat32" else name


def select(test: Any, then: Any, orelse: Any) -> Expr:
    """``then if test else orelse`` with both sides in one element type; only the chosen side is evaluated."""
    left, right = unify(then, orelse)
    return tirx.if_then_else(as_condition(test), left, right)


def unify(left: Any, right: Any) -> tuple[Expr, Expr]:
    """Both as expressions of one element type: constants take the other's, else TVM's promotion decides."""
    if isinstance(left, numbers.Real) and not isinstance(right, numbers.Real):
        other = as_expr(right)
        return _take(left, other), other
    if isinstance(right, numbers.Real) and not isinstance(left, numbers.Real):
        other = as_expr(left)
        return other, _take(right, other)
    a, b = as_expr(left), as_expr(right)
    if str(a.ty.dtype) == str(b.ty.dtype):
        return a, b
    joined = str(promoted(str(a.ty.dtype), str(b.ty.dtype)))
    return convert(a, joined), convert(b, joined)


def _take(number: Any, other: Expr) -> Expr:
    kind = str(other.ty.dtype)
    whole = isinstance(number, numbers.Integral)
    if dtype(kind).is_float or (whole and not isinstance(number, bool)):
        return _constant(number, kind)
    return as_expr(number)


def promoted(a: str, b: str) -> str:
    """The element type that holds both: floats win over integers, wider over narrower, signed over unsigned."""
    left, right = dtype(a).facts, dtype(b).facts
    order = {"bool": 0, "uint": 1, "int": 2, "float": 3}
    if left.kind != right.kind and "float" in (left.kind, right.kind):
        return a if left.kind == "float" else b
    if left.bits != right.bits:
        return a if left.bits > right.bits else b
    if left.kind == right.kind == "float" and a != b:
        return "float32"
    return a if order[left.kind] >= order[right.kind] else b


def logical_and(a: Any, b: Any) -> Expr:
    return tirx.And(as_condition(a), as_condition(b))


def logical_or(a: Any, b: Any) -> Expr:
    return tirx.Or(as_condition(a), as_condition(b))


def logical_not(a: Any) -> Expr:
    return tirx.Not(as_condition(a))


def as_load(value: Any) -> Any:
    """The BufferLoad behind ``value``: an element of a buffer, or a T.alloc_var; None when it is none."""
    if isinstance(value, LocalVar):
        return value.expr()
    return value if isinstance(value, TensorLoad) else None


def _guard_truth() -> None:
    """``==`` of expressions is lazy in TVM, and its truth is identity: wrong in a helper that decides on it in Python.
    While a kernel is built, asking for it is an error."""
    for kind in _LAZY:
        plain = kind.__bool__

        def truth(self: Any, plain: Any = plain) -> bool:
            from tilecore.frontend.builder import active

            builder = active()
            if builder is None:
                return plain(self)
            raise LanguageError(
                "a comparison of kernel values is decided by plain Python",
                found=str(self.asobject()),
                hint="decide in the kernel itself or in a T.macro, or use T.if_then_else",
            ).at(builder.location)

        kind.__bool__ = truth


_guard_truth()
