"""The types of parameters in signatures: T.Tensor, T.StridedTensor, T.Buffer, T.ptr."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Iterator, Sequence
from typing import Any

from tilecore.caller import placed
from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, WrongTypeError
from tilecore.language.vector_shapes import with_lanes
from tilecore.signatures import signature_of


class TensorType:
    """A tensor parameter: shape (ints, T.dynamic sizes, expressions of them), element type and, if not contiguous
    and row-major, strides in elements. of_pointers: its elements are addresses (T.ptr), of type int64.

    A tensor of vectors has the shape and the element type of its lanes (vector_shapes.py); lanes: of each vector."""

    def __init__(
        self, shape: Any, dtype: Any = "float32", strides: Any = None, *, scope: str | None = None, name: str = "Tensor"
    ) -> None:
        self.of_pointers = is_pointer(dtype) or str(dtype) == "handle"
        kind = DType("int64" if self.of_pointers else dtype)
        self.shape = tuple(with_lanes(shape if isinstance(shape, (tuple, list)) else (shape,), kind))
        self.dtype, self.lanes = kind.element, kind.lanes
        if strides is not None and not isinstance(strides, (tuple, list)):
            raise WrongTypeError(
                f"T.{name}: strides is not a list or a tuple",
                found=repr(strides)[:80],
                expected="one stride for each axis, in elements",
            )
        self.strides = None if strides is None else tuple(strides)
        self.scope = scope or "global"
        if self.strides is not None and self.lanes > 1:
            raise LanguageError(
                f"T.{name} has strides and elements of the vector type {kind}",
                expected="an element type",
                hint=f"declare elements of {kind.element}, and load vectors of them: A[T.Ramp(i, 1, {kind.lanes})]",
            )
        for size in [*self.shape, *(self.strides or ())]:
            _check_size(size, f"T.{name}", self.shape)
        if self.strides is not None and len(self.strides) != len(self.shape):
            raise LanguageError(
                f"T.{name} has {len(self.shape)} axes and {len(self.strides)} strides",
                found=f"shape {self.shape}, strides {self.strides}",
            )

    def __repr__(self) -> str:
        strides = "" if self.strides is None else f", strides={self.strides}"
        return f"T.Tensor({self.shape}, {str(self.dtype)!r}{strides})"


def row_major_strides(shape: Sequence[Any]) -> tuple[Any, ...]:
    """The strides of a contiguous tensor of this shape, in elements."""
    strides: list[Any] = []
    step: Any = 1
    for size in reversed(shape):
        strides.append(step)
        step = step * size
    return tuple(reversed(strides))


def _check_size(size: Any, subject: str, shape: tuple[Any, ...]) -> None:
    """Raise LanguageError for a value that cannot be the size of an axis. Expressions are checked when used."""
    plain = isinstance(size, numbers.Number)
    right = isinstance(size, numbers.Integral) and not isinstance(size, bool) and 0 <= int(size) < 2**63
    foreign = (
        size is None
        or inspect.isroutine(size)
        or isinstance(size, (str, bytes, slice, Iterator, list, tuple, dict, set, type))
    )
    if foreign or (plain and not right):
        raise LanguageError(
            f"{subject}: {size!r} is not a size",
            found=f"shape {shape}",
            expected="ints from 0 to 2**63 - 1, and T.dynamic sizes",
            hint=f'{size} = T.dynamic("{size}") is a size of that name; in an eager kernel {size} = T.const("{size}")'
            if isinstance(size, str) and size.isidentifier()
            else None,
        )


def _is_size(argument: Any) -> bool:
    """Whether a subscript of T.Tensor is the size of an axis: neither a shape nor an element type."""
    if isinstance(argument, numbers.Integral):
        return True
    return not (isinstance(argument, (str, list, tuple, type)) or is_pointer(argument) or hasattr(argument, "itemsize"))


class BufferData:
    """``buffer.data``: the memory of a buffer. ``T.Tensor(shape, dtype, buffer.data)`` in a kernel is that memory in
    another shape, as T.view gives it."""

    def __init__(self, buffer: Any) -> None:
        self.buffer = buffer

    def as_shape(self, shape: Any, dtype: Any) -> Any:
        from tilecore.language.memory import view  # it imports this module

        return view(self.buffer, shape, dtype)


class _TensorFactory:
    """Called or subscripted in annotations: ``T.Tensor((M, N), "float16")``, ``T.Tensor[[M, N], T.float16]``."""

    def __init__(self, name: str, strided: bool, scope: str | None = None) -> None:
        self.name = name
        self.strided = strided
        self.scope = scope

    @placed
    def __call__(self, *args: Any, **kwargs: Any) -> TensorType:
        build = self._with_strides if self.strided else self._plain
        try:
            signature_of(build).bind(*args, **kwargs)
        except TypeError as error:
            order = "shape, strides, dtype" if self.strided else "shape, dtype"
            raise LanguageError(f"T.{self.name}: {error}", expected=f"T.{self.name}({order})") from None
        return build(*args, **kwargs)

    def _plain(
        self,
        shape: Any,
        dtype: Any = "float32",
        data: Any = None,
        strides: Sequence[Any] | None = None,
        scope: str | None = None,
        **others: Any,
    ) -> Any:
        if isinstance(data, BufferData):
            return data.as_shape(shape, dtype)
        unknown = set(others) - {"elem_offset", "align", "offset_factor", "buffer_type", "axis_separators"}
        if unknown or data is not None or others.get("elem_offset") is not None:
            wrong = sorted(unknown) or (["data"] if data is not None else ["elem_offset"])
            raise LanguageError(
                f"T.{self.name} does not take {', '.join(wrong)} here", expected=f"T.{self.name}(shape, dtype)"
            )
        return TensorType(shape, dtype, strides or None, scope=scope or self.scope, name=self.name)

    def _with_strides(
        self, shape: Any, strides: Any = None, dtype: Any = "float32", scope: str | None = None, *, data: Any = None
    ) -> TensorType:
        if strides is None or data is not None:
            raise LanguageError(f"T.{self.name} takes (shape, strides, dtype)")
        return TensorType(shape, dtype, strides, scope=scope, name=self.name)

    def __getitem__(self, arguments: Any) -> TensorType:
        """``T.Tensor[[M, N], "float16"]`` is the call with these arguments. ``T.Tensor[M, N]``, of sizes alone, is a
        tensor of this shape."""
        if not isinstance(arguments, tuple):
            return self(arguments)
        return self(arguments) if all(map(_is_size, arguments)) else self(*arguments)

    def from_ptr(self, pointer_var: Any, shape: Any, dtype: Any = "float32", strides: Any = None) -> Any:
        """The tensor that a pointer points to: T.make_tensor."""
        from tilecore.language.pointers import make_tensor  # it imports this module

        return make_tensor(pointer_var, shape, dtype, strides)

    def __repr__(self) -> str:
        return f"T.{self.name}"


Tensor = _TensorFactory("Tensor", strided=False)
Buffer = _TensorFactory("Buffer", strided=False)
StridedTensor = _TensorFactory("StridedTensor", strided=True)
# of a macro's parameters, for the reader; what is passed decides
SharedBuffer = _TensorFactory("SharedBuffer", strided=False, scope="shared.dyn")
FragmentBuffer = _TensorFactory("FragmentBuffer", strided=False, scope="local.fragment")
LocalBuffer = _TensorFactory("LocalBuffer", strided=False, scope="local")


class Ref:
    """Annotation of a macro's parameter that is a T.alloc_var, passed by reference: ``x: T.Ref``."""


class PtrType:
    """A raw pointer parameter."""

    @placed
    def __init__(self, dtype: Any = None, storage_scope: str = "global", *, is_size_var: bool = False) -> None:
        self.dtype = None if dtype is None else DType(dtype)
        self.scope = storage_scope


ptr = PtrType


def is_pointer(annotation: Any) -> bool:
    """Is it T.ptr, or T.ptr(dtype)?"""
    return annotation is PtrType or isinstance(annotation, PtrType)
