"""Forms of TVM's script that TileLang re-exports and that mean something in a kernel: conditions, buffers.

Each stands for what the tile language has: T.If for ``if``, T.decl_buffer and T.match_buffer for T.alloc_buffer, T.view
and T.make_tensor.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.ir.nodes import Expr, IfThenElse, IntImm
from tilecore.language.annotations import BufferData
from tilecore.language.buffers import BufferHandle
from tilecore.language.conditions import as_condition
from tilecore.language.debugging import device_assert, sync_threads
from tilecore.language.integers import index_to_coordinates
from tilecore.language.memory import alloc_buffer, view
from tilecore.language.pointers import Pointer, access_ptr, make_tensor
from tilecore.language.threads import sync_warp
from tilecore.language.values import as_expr, is_kernel_value
from tilecore.tracing.current import current


class If:
    """``with T.If(condition):`` around ``with T.Then():`` and, after it, ``with T.Else():``: the statement ``if``."""

    def __init__(self, condition: Any) -> None:
        current("T.If")
        self.condition = as_condition(condition) if is_kernel_value(condition) else IntImm("bool", bool(condition))
        self.sides: dict[str, Any] = {}

    def __enter__(self) -> None:
        builder = current("T.If")
        self.span = builder.span
        builder.frame.facts.setdefault("conditions", []).append(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        builder = current("T.If")
        builder.frame.facts["conditions"].pop()
        if kind is not None:
            return
        if "then" not in self.sides:
            raise LanguageError("T.If has no T.Then", expected="with T.If(condition): with T.Then(): ...")
        builder.emit(IfThenElse(self.condition, self.sides["then"], self.sides.get("else"), span=self.span))


class _Side:
    """One side of a T.If."""

    name = ""

    def __enter__(self) -> None:
        builder = current(f"T.{self.name.title()}")
        conditions = builder.frame.facts.get("conditions")
        if not conditions or self.name in conditions[-1].sides:
            raise LanguageError(
                f"T.{self.name.title()} stands outside of T.If, or twice in one",
                expected="with T.If(condition): with T.Then(): ..., and at most one T.Else",
            )
        self.condition = conditions[-1]
        self.block = builder.block("branch")
        self.frame = self.block.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.block.__exit__(kind, error, trace)
        if kind is None:
            self.condition.sides[self.name] = self.frame.body()


class Then(_Side):
    """The statements of a T.If where its condition holds."""

    name = "then"


class Else(_Side):
    """The statements of a T.If where its condition does not hold."""

    name = "else"


class Assert(AbstractContextManager[None]):
    """``with T.Assert(condition, message):``, or as a statement: T.device_assert. error_kind: accepted; the launch
    raises what T.device_assert raises."""

    def __init__(self, condition: Any, message: Any, error_kind: str = "RuntimeError") -> None:
        texts = message if isinstance(message, (list, tuple)) else [message]
        device_assert(condition, "".join(map(str, texts)))

    def __exit__(self, *error: object) -> None:
        return None


def tvm_storage_sync(storage_scope: str) -> None:
    """TVM's barrier: T.sync_threads() for "shared" and "shared.dyn", T.sync_warp() for "warp"."""
    if storage_scope in ("shared", "shared.dyn"):
        sync_threads()
    elif storage_scope == "warp":
        sync_warp()
    else:
        raise UnsupportedError(
            f"T.tvm_storage_sync({storage_scope!r})", expected='"shared", "shared.dyn" or "warp"',
            hint="T.sync_grid() waits for all blocks",
        )  # fmt: skip


def decl_buffer(
    shape: Any, dtype: Any = "float32", data: Any = None, strides: Any = None, elem_offset: Any = None,
    scope: str = "global", align: int = 0, offset_factor: int = 0, buffer_type: str = "", axis_separators: Any = None,
) -> BufferHandle:  # fmt: skip
    """Memory of a scope, as T.alloc_buffer gives it; with ``data``, a buffer, its memory in another shape, as T.view
    gives it. align, offset_factor, buffer_type: accepted, as the compiler chooses where memory lies."""
    _check_plain("T.decl_buffer", strides, elem_offset, axis_separators)
    data = data.buffer if isinstance(data, BufferData) else data
    if data is not None:
        return view(data, shape, dtype)
    return alloc_buffer(shape, dtype, scope)


def match_buffer(
    param: Any, shape: Any = None, dtype: Any = "float32", data: Any = None, strides: Any = None,
    elem_offset: Any = None, scope: str = "global", align: int = -1, offset_factor: int = 0,
    buffer_type: str = "default", axis_separators: Any = None,
) -> BufferHandle:  # fmt: skip
    """The tensor that a parameter ``param: T.handle`` points to, as T.make_tensor declares it; of a buffer its memory
    in another shape. align, offset_factor, buffer_type: accepted, as for T.decl_buffer."""
    _check_plain("T.match_buffer", data, elem_offset, axis_separators)
    if isinstance(param, Pointer):
        return make_tensor(param, shape, dtype, strides or None)
    if not isinstance(param, BufferHandle):
        raise LanguageError(
            "T.match_buffer takes a parameter annotated T.handle, or a buffer", found=type(param).__name__
        )
    return view(param, param.shape if shape is None else shape, dtype)


def _check_plain(subject: str, *settings: Any) -> None:
    if any(setting is not None and setting not in ([], ()) for setting in settings):
        raise LanguageError(f"{subject} takes no offset, axis separators or strides of its own here", expected="None")


def type_annotation(dtype: Any) -> DType:
    """The element type, for T.tvm_access_ptr."""
    return DType(dtype)


def tvm_access_ptr(ptype: Any, data: Any, offset: Any, extent: Any, rw_mask: int) -> Expr:
    """TVM's form of T.access_ptr: a pointer to the element ``offset`` of a buffer, counted row by row. rw_mask: 1
    read, 2 written, 3 both. ptype: T.type_annotation of the buffer's element type; extent: accepted."""
    data = data.buffer if isinstance(data, BufferData) else data
    if not isinstance(data, BufferHandle):
        raise LanguageError("T.tvm_access_ptr takes a buffer", found=type(data).__name__, expected="A or A.data")
    if DType(ptype) != data.dtype:
        raise LanguageError(f"T.tvm_access_ptr: {data} has elements of {data.dtype}", found=str(DType(ptype)))
    indices = index_to_coordinates(as_expr(offset), list(data.shape))
    return access_ptr(data[tuple(indices)], int(rw_mask))


def bind(value: Any, type_annotation: Any = None) -> Expr:
    """A variable of the kernel with this value, which does not change. type_annotation: its element type."""
    expression = as_expr(value)
    if type_annotation is not None:
        from tilecore.language.numeric import cast

        expression = cast(expression, type_annotation)
    return current("T.bind").bind("v", expression)


def buffer_store(buffer: BufferHandle, value: Any, indices: Any, predicate: Any = None) -> None:
    """``buffer[indices] = value``. predicate: None, as masks of lanes are conditions here."""
    if predicate is not None:
        raise LanguageError("T.buffer_store has a predicate", hint="put the store into `if`")
    buffer[tuple(indices) if isinstance(indices, (list, tuple)) else indices] = value
