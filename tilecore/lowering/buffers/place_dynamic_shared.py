"""Places shared buffers whose sizes only the call gives: one after another in one arena, behind all others.

Of each kernel, the buffers become views of an arena of bytes, the first allocation of the kernel, and their accesses
get the offset that is a sum of the sizes before. The attribute ``tile.dynamic_shared`` has the arena's bytes. Buffers
of constant sizes are where plan_shared, or the family's code generator, puts them.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import cast, const, dtype_of, nothing, seq
from tilecore.ir.nodes import (
    AllocBuffer,
    Broadcast,
    BufferLoad,
    BufferStore,
    DeclBuffer,
    Expr,
    IRModule,
    PrimFunc,
    Ramp,
    TensorLoad,
    Var,
    structural_mutate,
    tirx,
)
from tilecore.ir.scopes import ARENA
from tilecore.ir.sizes import has_dynamic_size
from tilecore.ir.visit import collect

ALIGN = 128  # bytes
NEGATIVE = -(2**31)  # bytes of the arena where a size is negative


def place_dynamic_shared(module: IRModule, env: PassEnv) -> IRModule:
    kernels = {str(var.name_hint): _place(func) for var, func in module.functions.items()}
    return IRModule(kernels)


def _place(func: PrimFunc) -> PrimFunc:
    buffers = [node.buffer for node in collect(func.body, AllocBuffer) if has_dynamic_size(node.buffer)]
    if not buffers:
        return func
    placement = _Placement(buffers)
    body = seq([*placement.declarations(), placement.rewritten(func.body)])
    return func.with_body(body).with_attr(FunctionAttr.DYNAMIC_SHARED, placement.bytes)


class _Placement:
    """Where the buffers of a kernel are. bytes: of the arena."""

    def __init__(self, buffers: list[Var]) -> None:
        self.arena = tirx.decl_buffer([1], "uint8", "sized_by_call", scope=ARENA, layout=None)
        self.views: dict[str, Var] = {}
        self.starts: dict[Var, Any] = {}  # in units of ALIGN bytes
        units: Any = const(0, "int32")
        for buffer in buffers:
            self.starts[buffer] = units
            units = Analyzer().simplify(units + _units(buffer))
        least = buffers[0].shape[0]
        for buffer in buffers[1:]:
            least = tirx.min(cast(least, "int64"), cast(buffer.shape[0], "int64"))
        self.bytes = tirx.Select(least < 0, const(NEGATIVE, "int32"), Analyzer().simplify(units * ALIGN))

    def view(self, buffer: Var) -> Var:
        """The arena as elements of the buffer's type."""
        dtype = dtype_of(buffer)
        if dtype not in self.views:
            self.views[dtype] = tirx.decl_buffer([1], dtype, f"{self.arena.name}_{dtype}", scope=ARENA, layout=None)
        return self.views[dtype]

    def declarations(self) -> list[Any]:
        for buffer in self.starts:
            self.view(buffer)
        views = [DeclBuffer(view, data=tirx.buffer_data(self.arena)) for view in self.views.values()]
        return [AllocBuffer(self.arena), *views]

    def rewritten(self, body: Any) -> Any:
        """The code with the buffers' accesses in the arena."""

        def load(node: TensorLoad, mutator: Any) -> Any:
            changed = mutator.default_mutate(node)
            if node.source not in self.starts:
                return changed
            return BufferLoad(self.view(node.source), [self._index(node.source, changed.indices[0])], span=node.span)

        def store(node: BufferStore, mutator: Any) -> Any:
            changed = mutator.default_mutate(node)
            if node.buffer not in self.starts:
                return changed
            index = self._index(node.buffer, changed.indices[0])
            return BufferStore(self.view(node.buffer), changed.value, [index], span=node.span)

        def alloc(node: AllocBuffer, mutator: Any) -> Any:
            return nothing() if node.buffer in self.starts else node

        def declare(node: DeclBuffer, mutator: Any) -> Any:
            return node

        rules = [(TensorLoad, load), (BufferStore, store), (AllocBuffer, alloc), (DeclBuffer, declare)]
        return structural_mutate(body, rules)

    def _index(self, buffer: Var, index: Expr) -> Expr:
        """The index in the arena's view of an index in the buffer."""
        if isinstance(index, Ramp):
            return Ramp(self._index(buffer, index.base), index.stride, index.lanes)
        start = self.starts[buffer] * (ALIGN // DType(dtype_of(buffer)).bytes)
        kind = DType(dtype_of(index))
        start = cast(start, kind.element)
        return Analyzer().simplify((start if kind.lanes == 1 else Broadcast(start, kind.lanes)) + index)


def _units(buffer: Var) -> Expr:
    """The size of a flat buffer, rounded up to whole units."""
    (count,) = buffer.shape
    each = ALIGN // DType(dtype_of(buffer)).bytes
    return tirx.floordiv(cast(count, "int32") + (each - 1), const(each, "int32"))


PLACE_DYNAMIC_SHARED = Pass("place_dynamic_shared", place_dynamic_shared)
