"""Flattens every buffer to one axis: indices become linear offsets in elements."""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.contract.records import Capabilities
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import cast, const, constant
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferLoad,
    BufferStore,
    DeclBuffer,
    Expr,
    For,
    IntImm,
    PrimFunc,
    TensorLoad,
    Var,
    is_buffer_var,
    structural_mutate,
    tirx,
)
from tilecore.ir.ranges import binding_loops
from tilecore.ir.scopes import is_global
from tilecore.ir.sizes import symbols_in
from tilecore.ir.views import source_of
from tilecore.lowering.normalize.check_tile_sizes import require_offsets

MAX_INT32 = 2**31 - 1


def flatten_buffers(func: PrimFunc, env: PassEnv) -> PrimFunc:
    require_offsets(func.body, env)
    flat = _Flatten(env.capabilities)
    params = [flat.buffer(p) if is_buffer_var(p) else p for p in func.params]
    body = structural_mutate(
        func.body,
        [
            (For, binding_loops(flat.analyzer)),
            (TensorLoad, flat.load),
            (BufferStore, flat.store),
            (AllocBuffer, flat.alloc),
            (DeclBuffer, flat.alias),
            (Var, flat.buffer_name),
        ],
    )
    flattened = PrimFunc(params, body, func.ret_type, func.attrs, func.span)
    return flattened.with_attr(FunctionAttr.SYMBOLS, symbols_in(func.params))  # some stood in strides only


class _Flatten:
    def __init__(self, capabilities: Capabilities) -> None:
        self.index_dtype = f"int{capabilities.index_bits}"  # of offsets in tensors whose size the call gives
        has_wide = capabilities.index_bits == 64 or "int64" in capabilities.dtypes
        self.large_dtype = "int64" if has_wide else "int32"  # in tensors that are known to be large
        self.flat_buffers: dict[Var, Var] = {}
        self.analyzer = Analyzer()

    def buffer(self, old: Var) -> Var:
        """The flat buffer that replaces ``old``."""
        new = self.flat_buffers.get(old)
        if new is None:
            span = _elements(old, self.index_dtype)
            new = tirx.decl_buffer([span], str(old.dtype), str(old.name), scope=str(old.scope()), layout=None)
            self.flat_buffers[old] = new
        return new

    def offset(self, buffer: Var, indices: list[Expr]) -> Expr:
        """The linear offset of an element.

        It is an int32 for on-chip and for small global buffers. For other global buffers it has ``index_dtype``, or
        ``large_dtype`` if their size is known.
        """
        strides = strides_of(buffer, self.index_dtype)
        last = _last_offset(buffer)
        wide = is_global(buffer) and (last is None or last > MAX_INT32)
        dtype = (self.index_dtype if last is None else self.large_dtype) if wide else "int32"
        total: Any = const(0, dtype)
        for index, stride in zip(indices, strides, strict=True):
            if wide:
                index, stride = cast(index, dtype), cast(stride, dtype)
            total = total + index * stride
        return self.analyzer.simplify(total)

    def load(self, node: TensorLoad, mutator: Any) -> Any:
        indices = [mutator.mutate(i) for i in node.indices]
        return BufferLoad(self.buffer(node.source), [self.offset(node.source, indices)], span=node.span)

    def store(self, node: BufferStore, mutator: Any) -> Any:
        indices = [mutator.mutate(i) for i in node.indices]
        value = mutator.mutate(node.value)
        return BufferStore(self.buffer(node.buffer), value, [self.offset(node.buffer, indices)], span=node.span)

    def alloc(self, node: AllocBuffer, mutator: Any) -> Any:
        return AllocBuffer(self.buffer(node.buffer), span=node.span)

    def buffer_name(self, node: Var, mutator: Any) -> Any:
        """A buffer as a whole, as an operand of a target's own call."""
        return self.flat_buffers.get(node, node)

    def alias(self, node: DeclBuffer, mutator: Any) -> Any:
        source, flat = source_of(node), self.buffer(node.buffer)
        if source is None:
            return DeclBuffer(flat, data=mutator.mutate(node.data), span=node.span)
        return DeclBuffer(flat, data=tirx.buffer_data(self.buffer(source)), span=node.span)


def strides_of(buffer: Var, dtype: str = "int64") -> list[Expr]:
    """The strides of a buffer in elements; row-major if the buffer has no strides of its own.

    dtype: the type of strides that are computed from sizes of the call.
    """
    if len(buffer.strides):
        return list(buffer.strides)
    strides: list[Expr] = []
    step: Any = IntImm("int32", 1)
    for size in reversed(list(buffer.shape)):
        strides.append(step)
        step = cast(step, dtype) * cast(size, dtype) if constant(size) is None else step * size
    return list(reversed(strides))


def _elements(buffer: Var, dtype: str) -> Expr:
    if all(constant(size) is not None for size in buffer.shape):
        dtype = "int64"
    total: Any = const(1, dtype)
    for size in buffer.shape:
        total = total * cast(size, dtype)
    total = Analyzer().simplify(total)
    count = constant(total)
    return IntImm("int32", count) if count is not None and count <= MAX_INT32 else total


def _last_offset(buffer: Var) -> int | None:
    """The offset of the last element; None if it depends on sizes of the call."""
    sizes, strides = [constant(s) for s in buffer.shape], [constant(s) for s in strides_of(buffer)]
    if any(s is None for s in [*sizes, *strides]):
        return None
    return sum((size - 1) * abs(stride) for size, stride in zip(sizes, strides, strict=True))  # type: ignore[operator, arg-type, misc]


FLATTEN_BUFFERS = Pass("flatten_buffers", flatten_buffers)
