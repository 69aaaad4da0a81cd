"""Parameters without a shape, T.ptr, and the tensor that the body makes of one: T.make_tensor."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.frontend.builder import current
from tilecore.language.annotations import PtrType, TensorType
from tilecore.language.buffers import BufferHandle


class Pointer:
    """A parameter ``p: T.ptr`` in the function's body. buffer: what T.make_tensor made of it."""

    def __init__(self, name: str, kind: PtrType) -> None:
        self.name = name
        self.kind = kind
        self.buffer: Any = None

    def declared(self) -> Any:
        """The parameter of the function's IR."""
        if self.buffer is None:
            raise LanguageError(
                f"parameter {self.name!r} is a T.ptr that nothing gives a shape",
                expected=f"A = T.make_tensor({self.name}, shape, dtype) in the body",
            )
        return self.buffer


def make_tensor(ptr: Any, shape: Any, dtype: Any = "float32", strides: Any = None) -> BufferHandle:
    """The tensor that a parameter ``ptr: T.ptr`` points to: once for each, its sizes ints, T.dynamic sizes or scalar
    parameters. The argument of a call is a tensor of that shape.

    strides: of its axes, in elements; None for row-major without gaps.
    """
    from tilecore.frontend.elaborate import tensor_var

    builder = current("T.make_tensor")
    if not isinstance(ptr, Pointer):
        raise LanguageError(
            "T.make_tensor takes a parameter that is a T.ptr", found=type(ptr).__name__, hint="T.view reshapes a tensor"
        )
    if ptr.buffer is not None:
        raise UnsupportedError(
            f"a second T.make_tensor of {ptr.name}", hint="T.view(tensor, shape, dtype) is the same memory otherwise"
        ).at(builder.location)
    if ptr.kind.dtype is not None and ptr.kind.dtype != DType(dtype):
        raise LanguageError(
            f"T.make_tensor of {ptr.name} has another element type",
            found=str(DType(dtype)),
            expected=str(ptr.kind.dtype),
        )
    ptr.buffer = tensor_var(ptr.name, TensorType(shape, dtype, strides, name="make_tensor"))
    return BufferHandle(ptr.buffer)
