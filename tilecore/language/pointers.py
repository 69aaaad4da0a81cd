"""Parameters without a shape (T.ptr), tensors that the body declares for them and for addresses (T.make_tensor), and
addresses of elements for functions in the user's own source text (T.access_ptr, T.address_of)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.ir.build import load
from tilecore.ir.intrinsics import address
from tilecore.ir.scopes import is_fragment
from tilecore.ir.views import at_address
from tilecore.language.annotations import PtrType, TensorType
from tilecore.language.buffers import BufferHandle
from tilecore.language.conversions import convert
from tilecore.language.memory import Unnamed
from tilecore.language.regions import region_of
from tilecore.language.tensor_variables import tensor_var
from tilecore.language.values import as_expr, is_kernel_value
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
    """Declares the tensor that a pointer points to.

    ptr: a parameter ``p: T.ptr``, once for each parameter; a call then passes a tensor of this shape, or its address.
    Or an int64, such as an element of a ``T.Tensor((n,), T.ptr)``: the address of the first element in global memory,
    which the call must keep alive; see :func:`make_tensor_from_addr`. Sizes are ints, T.dynamic sizes or scalar
    parameters. strides: of its axes, in elements; None for row-major without gaps.
    """
    builder = current("T.make_tensor")
    if not isinstance(ptr, Pointer):
        return _at_address(ptr, TensorType(shape, dtype, strides, name="make_tensor"), "T.make_tensor")
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


def make_tensor_from_addr(
    addr: Any, shape: Any, dtype: Any = "float32", strides: Any = None, storage_scope: str = "global"
) -> BufferHandle:
    """The tensor in global memory whose first element is at an address, an int64 that is the same in all threads of the
    block. It stands in T.Kernel. Only an access of an element needs memory there, so that an address of 0 may be
    declared and guarded by an ``if``.

    Targets with pointers in their kernels only. Nothing checks the address there; the interpreter and simulated devices
    refuse what is no tensor of the call and none that ``tilecore.reachable`` names.
    """
    builder, called = current("T.make_tensor_from_addr"), "T.make_tensor_from_addr"
    if storage_scope != "global":
        raise UnsupportedError(
            f"{called} makes a tensor in {storage_scope!r} memory",
            expected='"global" memory',
            hint="a slice of a T.alloc_shared with a name is a buffer",
        ).at(builder.location)
    return _at_address(addr, TensorType(shape, dtype, strides, name="make_tensor_from_addr"), called)


def _at_address(addr: Any, kind: TensorType, called: str) -> BufferHandle:
    """The tensor of a kind at an address. called: the function's name in errors."""
    builder = current(called)
    if isinstance(addr, (BufferHandle, Pointer)) or not is_kernel_value(addr):
        raise LanguageError(
            f"the first argument of {called} is not a T.ptr parameter, nor an address",
            found=type(addr).__name__,
            expected="a parameter p: T.ptr, or an int64 of the kernel, such as an element of a T.Tensor((n,), T.ptr)",
            hint="T.view reshapes a tensor, a slice with a name is a tensor too",
        )
    address = as_expr(addr)
    if str(address.ty.dtype) not in ("int64", "uint64"):
        raise LanguageError(
            f"an address of {called} has another type", found=f"{addr}, a {address.ty.dtype}", expected="an int64"
        )
    stands, expected = f"{called} of an address stands", "a call in T.Kernel, outside of T.Parallel"
    builder.kernel_frame(lambda: LanguageError(f"{stands} outside T.Kernel", expected=expected))
    if builder.in_parallel:
        raise LanguageError(f"{stands} inside T.Parallel", expected=expected)
    if kind.dtype.bits < 8:
        raise UnsupportedError(
            f"{called} makes a tensor of {kind.dtype}, whose elements share bytes",
            expected="elements of one byte or more",
            hint="make it of T.uint8, and extract the halves with & 15 and >> 4",
        ).at(builder.location)
    return _AtAddress(kind, convert(address, "int64"))


class _AtAddress(Unnamed):
    """A tensor at an address, declared at the assignment that names it or at its first use before."""

    def __init__(self, kind: TensorType, address: Expr) -> None:
        super().__init__([], str(kind.dtype), kind.scope)
        self._kind, self._address, self.lanes = kind, address, kind.lanes

    def _make(self, name: str) -> None:
        builder = current()
        self._buffer = tensor_var(builder.unique(name), self._kind)
        builder.emit(at_address(self._buffer, self._address, builder.span))


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
