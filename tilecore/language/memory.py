"""On-chip memory and workspaces: T.alloc_shared, T.alloc_fragment, T.alloc_local, T.alloc_var, T.alloc_global."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import FailedAssertError, LanguageError, UnsupportedError, WrongTypeError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.nodes import DeclBuffer, IntImm, tirx
from tilecore.language.buffers import BufferHandle, LocalVar
from tilecore.language.call_sizes import size_of_call, without_names
from tilecore.language.conversions import ir_dtype
from tilecore.language.values import as_expr
from tilecore.language.vector_shapes import with_lanes
from tilecore.tracing.current import current

_STEMS = {"shared.dyn": "shared", "shared": "shared", "local.fragment": "fragment", "local": "local"}


def _shape(shape: Any, subject: str, of_call: bool = False) -> list[Any]:
    """The sizes of memory: numbers. of_call: expressions of the sizes and scalars of the call, too."""
    sizes = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    sizes_out = []
    for size in sizes:
        value = Analyzer().simplify(as_expr(size))
        if not str(value.ty.dtype).startswith(("int", "uint")):
            raise WrongTypeError(f"{subject}: the size {size} is not an integer", found=f"shape {tuple(sizes)}")
        if not isinstance(value, IntImm) and of_call:
            value = Analyzer().simplify(size_of_call(current(), value, subject))
        elif not isinstance(value, IntImm):
            raise LanguageError(
                f"{subject}: the size {value} is not known when compiling",
                expected="constant sizes for on-chip memory",
                hint="choose a tile size and loop over the axis",
            )
        if isinstance(value, IntImm) and int(value) < 1:
            raise LanguageError(
                f"{subject}: a size is {int(value)}", found=f"shape {tuple(sizes)}", expected="at least 1"
            )
        sizes_out.append(value)
    return sizes_out


class Unnamed(BufferHandle):
    """A buffer from T.alloc_*, allocated at the assignment that names it or at its first use before."""

    def __init__(
        self, shape: list[Any], dtype: str, scope: str, after: Callable[[BufferHandle], None] | None = None
    ) -> None:
        self.lanes = DType(dtype).lanes
        self._facts = (with_lanes(shape, DType(dtype)), str(DType(dtype).element), scope)
        self._buffer: Any = None
        self._after = after
        current().pending.append(self)

    @property
    def buffer(self) -> Any:  # type: ignore[override]
        if self._buffer is None:
            self._make(_STEMS.get(self._facts[2], "buffer"))
        return self._buffer

    def _make(self, name: str) -> None:
        builder = current()
        shape, kind, scope = self._facts
        self._buffer = tirx.decl_buffer(shape, ir_dtype(kind), builder.unique(name), scope=scope, layout=None)
        builder.allocate(self._buffer)
        if self._after is not None:
            self._after(self)

    def name_once(self, builder: Any, name: str) -> bool:
        if self._buffer is None:
            self._make(name)
        return True


def allocate(
    shape: Any, dtype: Any, scope: str, subject: str, after: Callable[[BufferHandle], None] | None = None
) -> BufferHandle:
    """A buffer that gets its name from the assignment; ``after`` is called with it once it is allocated."""
    current(subject)
    sizes = _shape(shape, subject, of_call=scope.startswith("shared"))
    return Unnamed(sizes, str(DType(dtype)), scope, after)


def alloc_shared(shape: Any, dtype: Any = "float32", scope: str = "shared.dyn") -> BufferHandle:
    """Memory shared by the threads of a block; uninitialised. shape: constant sizes, or expressions of the sizes and
    the integer scalars of the call, on targets that can: then its size may vary between calls."""
    return allocate(shape, dtype, _in_memory("shared", scope, "T.alloc_shared"), "T.alloc_shared")


def alloc_fragment(shape: Any, dtype: Any = "float32", scope: str = "local.fragment") -> BufferHandle:
    """A tile held in the registers of the whole block, spread over its threads by the compiler; uninitialised."""
    return allocate(shape, dtype, _in_memory("local", scope, "T.alloc_fragment"), "T.alloc_fragment")


def alloc_local(shape: Any, dtype: Any = "float32", scope: str = "local") -> BufferHandle:
    """Memory of one thread; uninitialised."""
    return allocate(shape, dtype, _in_memory("local", scope, "T.alloc_local"), "T.alloc_local")


def _in_memory(memory: str, scope: Any, subject: str) -> str:
    """The scope, if it is one of the memory ("shared", "shared.dyn"). Raises LanguageError for others."""
    if isinstance(scope, str) and scope.partition(".")[0] == memory:
        return scope
    raise LanguageError(
        f"{subject}(scope=...) is not {memory} memory",
        found=repr(scope)[:80],
        expected=f"a scope that is or begins with {memory!r}",
        hint="T.alloc_buffer(shape, dtype, scope) allocates memory of any scope, T.alloc_global a workspace",
    )


def alloc_buffer(
    shape: Any, dtype: Any = "float32", scope: str = "global", annotations: Any = None, **others: Any
) -> BufferHandle:
    """Memory of the given scope ("shared", "local.fragment", "local"; "global" is a workspace). annotations: None, as
    TVM's annotations of memory have no meaning here."""
    if others or annotations:
        raise LanguageError(f"T.alloc_buffer does not take {', '.join(others) or 'annotations'}")
    if scope == "global":
        return _workspace(shape, dtype, scope, "T.alloc_buffer in global memory")
    return allocate(shape, dtype, scope, "T.alloc_buffer")


def alloc_var(dtype: Any, *args: Any, scope: str = "local.var", init: Any = None) -> LocalVar:
    """A scalar of the running thread that can change: ``x = T.alloc_var("int32", init=0)``, then ``x = x + 1``.

    Without ``init`` it begins with 0. ``T.alloc_var(dtype, init)`` and ``T.alloc_var(dtype, scope)`` work too.
    """
    builder = current("T.alloc_var")
    scopes: list[str] = []
    values = [] if init is None else [init]
    for extra in args:
        (scopes if isinstance(extra, str) and extra.startswith("local") else values).append(extra)
    if len(values) > 1 or len(scopes) > 1:
        raise WrongTypeError(
            "T.alloc_var takes one initial value", found=f"{len(args)} arguments behind the type", expected="init=0"
        )
    scope, init = [*scopes, scope][0], [*values, None][0]
    return _FreshVar(builder, str(DType(dtype)), scope, init)


class _FreshVar(LocalVar):
    """A T.alloc_var, allocated at the assignment that names it or at its first use before."""

    def __init__(self, builder: Any, kind: str, scope: str, init: Any) -> None:
        self._facts = (kind, scope, init)
        self.lanes = DType(kind).lanes
        self._buffer: Any = None
        builder.pending.append(self)
        self.fresh = True

    @property
    def dtype(self) -> DType:
        return DType(self._facts[0])

    @property
    def buffer(self) -> Any:  # type: ignore[override]
        if self._buffer is None:
            self._make("var")
        return self._buffer

    def _make(self, name: str) -> None:
        builder = current()
        kind, scope, init = self._facts
        element, scope = (kind, scope) if self.lanes == 1 else (DType(kind).element, "local")
        shape = [self.lanes]
        self._buffer = tirx.decl_buffer(shape, ir_dtype(element), builder.unique(name), scope=scope, layout=None)
        builder.allocate(self._buffer)
        self.store(0 if init is None else init)

    def name_once(self, builder: Any, name: str) -> bool:
        if self._buffer is None:
            self._make(name)
        return super().name_once(builder, name)


def alloc_global(shape: Any, dtype: Any = "float32", scope: str = "global") -> BufferHandle:
    """Workspace in global memory for the length of a call; uninitialised. Sizes may be T.dynamic."""
    return _workspace(shape, dtype, scope, "T.alloc_global")


def _workspace(shape: Any, dtype: Any, scope: str, subject: str) -> BufferHandle:
    builder = current(subject)
    around = builder.enclosing("kernel")
    if around is not None and (around is not builder.frames[0] or builder.frame is not around):
        raise LanguageError(
            f"{subject} stands inside T.Kernel",
            expected="before `with T.Kernel(...)`",
            hint="T.alloc_shared, T.alloc_fragment and T.alloc_local allocate on-chip memory",
        )
    return _Workspace(_shape(shape, subject, of_call=True), str(DType(dtype)), scope)


class _Workspace(Unnamed):
    def _make(self, name: str) -> None:
        from tilecore.ir.nodes import AllocBuffer

        builder = current()
        shape, kind, scope = self._facts
        self._buffer = tirx.decl_buffer(shape, ir_dtype(kind), builder.unique(name), scope=scope, layout=None)
        builder.emit(AllocBuffer(self._buffer, span=builder.span))


def reshape(src: BufferHandle, shape: Any) -> BufferHandle:
    """The same memory with another shape; the number of elements stays."""
    return view(src, shape)


def view(src: BufferHandle, shape: Any = None, dtype: Any = None, strides: Any = None) -> BufferHandle:
    """The same memory with another shape or element type; the number of bytes stays."""
    builder = current("T.view")
    if not isinstance(src, BufferHandle):
        raise WrongTypeError("the first argument of T.view is not a buffer", found=type(src).__name__)
    if strides is not None:
        raise LanguageError("T.view(strides=...) is not supported", hint="declare the parameter as a T.StridedTensor")
    kind = str(src.dtype if dtype is None else DType(dtype))
    sizes = list(src.shape) if shape is None else (list(shape) if isinstance(shape, (tuple, list)) else [shape])
    source_bits, view_bits = (t.bits * t.lanes for t in (src.dtype, DType(kind)))
    if shape is None and view_bits != source_bits:
        sizes[-1] = _last_size(src, source_bits, view_bits, kind)
    if DType(kind).element != src.dtype.element and min(DType(kind).bits, src.dtype.bits) < 8:
        raise UnsupportedError(
            f"T.view changes the element type of {src.name}, which has elements of 4 bits",
            found=f"{src.dtype} as {kind}",
            expected="elements of one byte or more, because two elements of 4 bits share a byte",
            hint="pass the tensor as T.uint8 and extract the two halves with & 15 and >> 4",
        )
    sizes = [size if isinstance(size, int) else without_names(builder, as_expr(size)) for size in sizes]
    _check_same_bytes(src, sizes, kind)
    view_buffer = _View([as_expr(s) for s in sizes], kind, src.scope())
    view_buffer.source = src.buffer
    return view_buffer


def _last_size(src: BufferHandle, source_bits: int, view_bits: int, kind: str) -> Any:
    """The size of the last axis of a view with elements of view_bits."""
    size = src.shape[-1]
    if isinstance(size, int) and size * source_bits % view_bits:
        raise LanguageError(
            f"the rows of {src.name} are no whole number of {kind}",
            found=f"{size} elements of {src.dtype} in a row",
            expected=f"a multiple of {view_bits // gcd(view_bits, source_bits)}",
        )
    return size * source_bits // view_bits


def _check_same_bytes(src: BufferHandle, sizes: list[Any], kind: str) -> None:
    source_bits, view_bits = (as_expr(t.bits * t.lanes) for t in (src.dtype, DType(kind)))
    for size in src.shape:
        source_bits = source_bits * as_expr(size)
    for size in sizes:
        view_bits = view_bits * as_expr(size)
    difference = Analyzer().simplify(source_bits - view_bits)
    if isinstance(difference, IntImm) and int(difference) != 0:
        raise FailedAssertError(
            f"the size of a view of {src.name} does not match the buffer",
            found=f"shape {tuple(sizes)} of {kind}",
            expected=f"as many bytes as shape {src.shape} of {src.dtype}",
        )


class _View(Unnamed):
    source: Any = None

    def _make(self, name: str) -> None:
        builder = current()
        shape, kind, scope = self._facts
        self._buffer = tirx.decl_buffer(shape, ir_dtype(kind), builder.unique(name), scope=scope, layout=None)
        builder.emit(DeclBuffer(self._buffer, data=tirx.buffer_data(self.source), span=builder.span))


def empty(*shape: Any, dtype: Any = "float32") -> Any:
    """An output, which the call allocates and the function returns. ``T.empty((M, N), dtype)``."""
    builder = current("T.empty")
    assert builder.on_empty is not None
    sizes = list(shape)
    if sizes and isinstance(sizes[0], (tuple, list)):
        if len(sizes) == 2:
            dtype = sizes[1]
        sizes = list(sizes[0])
    elif len(sizes) > 1 and isinstance(sizes[-1], str):
        dtype = sizes.pop()
    return builder.on_empty(sizes, DType(dtype))
