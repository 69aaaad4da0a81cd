"""Parameters without a shape (T.ptr), the tensor that the body declares for one (T.make_tensor), and addresses of
elements for functions in the user's own source text (T.access_ptr, T.address_of)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.ir.build import load
from tilecore.ir.intrinsics import address
from tilecore.ir.scopes import is_fragment
from tilecore.language.annotations import PtrType, TensorType
from tilecore.language.buffers import BufferHandle
from tilecore.language.regions import region_of
from tilecore.language.tensor_variables import tensor_var
from tilecore.language.values import as_expr
from tilecore.tracing.current import current

if TYPE_CHECKING:
    from tilecore.ir.nodes import Expr


class Pointer:
    """A parameter ``p: T.ptr`` in the function's body. buffer: the tensor that T.make_tensor declared."""

    def __init__(self, name: str, kind: PtrType) -> None:
        self.name = name
        self.kind = kind
        self.buffer: Any = None

    def declared(self) -> Any:
        """The parameter of the function's IR."""
        if self.buffer is None:
            raise LanguageError(
                f"parameter {self.name!r} is a T.ptr without a shape",
                expected=f"A = T.make_tensor({self.name}, shape, dtype) in the body",
            )
        return self.buffer


def make_tensor(ptr: Any, shape: Any, dtype: Any = "float32", strides: Any = None) -> BufferHandle:
    """Declares the tensor that a parameter ``ptr: T.ptr`` points to, once for each parameter. Its sizes are ints,
    T.dynamic sizes or scalar parameters. The argument of a call is a tensor of that shape.

    strides: of its axes, in elements; None for row-major without gaps.
    """
    builder = current("T.make_tensor")
    if not isinstance(ptr, Pointer):
        raise LanguageError(
            "the first argument of T.make_tensor is not a T.ptr parameter",
            found=type(ptr).__name__,
            hint="T.view reshapes a tensor",
        )
    if ptr.buffer is not None:
        raise UnsupportedError(
            f"T.make_tensor is called twice for {ptr.name}",
            hint="T.view(tensor, shape, dtype) gives the memory another shape",
        ).at(builder.location)
    if ptr.kind.dtype is not None and ptr.kind.dtype != DType(dtype):
        raise LanguageError(
            f"the element type of T.make_tensor does not match {ptr.name}",
            found=str(DType(dtype)),
            expected=str(ptr.kind.dtype),
        )
    kind = TensorType(shape, dtype, strides, name="make_tensor")
    ptr.buffer = tensor_var(ptr.name, kind)
    return BufferHandle(ptr.buffer, kind.lanes)


def access_ptr(
    base: Any, access_type: Any = "r", *extents: Any, offset: Any = 0, extent: Any = None, ignore_last_ndim: int = 0
) -> Expr:
    """A pointer to the first element of ``base``, a tensor, a slice or an element, as an argument of T.call_extern.

    access_type: "r", "w" or "rw" (or 1, 2, 3): what the function does with the memory. offset: in elements along the
    last axis. extents, extent, ignore_last_ndim: ignored; the function is taken to access all of the tensor.
    """
    current("T.access_ptr")
    access = {1: "r", 2: "w", 3: "rw"}.get(access_type, access_type) if isinstance(access_type, int) else access_type
    if access not in ("r", "w", "rw"):
        raise LanguageError(
            "T.access_ptr: the access type is unknown", found=str(access_type), expected='"r", "w" or "rw"'
        )
    region = region_of(base, "T.access_ptr")
    buffer = region.source
    if is_fragment(buffer):
        raise UnsupportedError(
            f"the fragment {buffer.name} has no address: its elements are in registers of many threads",
            hint="copy it to shared memory, or use T.alloc_local",
        )
    if DType(str(buffer.dtype)).bits < 8:
        raise UnsupportedError(f"an element of {buffer.name} has no address: two elements share a byte")
    indices = [r.min for r in region.region]
    indices[-1] = indices[-1] + as_expr(offset)
    return address(load(buffer, indices), str(access))


def address_of(element: Any) -> Expr:
    """A pointer to an element, through which a function may read and write."""
    return access_ptr(element, "rw")
