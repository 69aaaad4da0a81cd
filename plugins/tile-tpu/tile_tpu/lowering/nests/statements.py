"""Lowers the statements of a nest in order, each for all iterations."""

from __future__ import annotations

from typing import Any

from tile_tpu.lowering.commands.emitter import Emitter
from tile_tpu.lowering.commands.forward_result import forward_result
from tile_tpu.lowering.commands.frames import NotTensor, Tile
from tile_tpu.lowering.expressions.conditions import choose
from tile_tpu.lowering.expressions.values import COMPUTED, Values
from tile_tpu.lowering.nests.overwrites import Overwrites
from tile_tpu.lowering.nests.parallel_nests import Layouts
from tile_tpu.lowering.views.global_views import GlobalAccess, global_access, load_into, store_from
from tile_tpu.lowering.views.local_views import LocalAccess, direct_view, write
from tile_tpu.lowering.views.masks import with_masks
from tilecore.ir.build import const, constant, dtype_of, is_nothing, load, seq
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferStore,
    Call,
    Cast,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    SeqStmt,
    TensorLoad,
    Var,
    tirx,
)

MOST_ELEMENTS = 16  # of an array that each iteration has


class Body:
    """Lowers the body of a nest.

    overwrites: the values that must be copies. masks: the divergent conditions around the current statement.
    """

    def __init__(self, emit: Emitter, layouts: Layouts, safe: dict[Var, Any], overwrites: Overwrites) -> None:
        self.emit = emit
        self.overwrites = overwrites
        self.values = Values(emit, dict(layouts), safe)
        self.layouts = layouts
        self.masks: list[Any] = []

    def run(self, node: Any) -> None:
        """Lowers one statement. Raises NotTensor where the tensor unit does not support it."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise NotTensor(f"the parallel loop contains a statement that is not supported: {type(node).__name__}")
        span = getattr(node, "span", None)
        before, self.emit.span = self.emit.span, span if span is not None else self.emit.span
        handler(self, node)
        self.emit.span = before

    def _seq(self, node: SeqStmt) -> None:
        for part in node.seq:
            self.run(part)

    def _evaluate(self, node: Evaluate) -> None:
        if not is_nothing(node):
            raise NotTensor("the parallel loop has a side effect other than a store")

    def _attr(self, node: AttrStmt) -> None:
        raise NotTensor(f"the parallel loop contains the attribute {node.attr_key}")

    def _alloc(self, node: AllocBuffer) -> None:
        """An array that each iteration has: each of its elements becomes a tile."""
        buffer = node.buffer
        size = constant(buffer.shape[0]) if len(buffer.shape) == 1 else None
        if size is None or size > MOST_ELEMENTS or dtype_of(buffer) not in COMPUTED:
            raise NotTensor(
                f"{buffer.name}, an array of each iteration, has over {MOST_ELEMENTS} elements or an unsupported type"
            )
        self.values.private_buffers.add(buffer)
        for index in range(size):
            self.values.private_tiles[(buffer, index)] = self.emit.new(
                self.emit.frame.all_axes, dtype_of(buffer), str(buffer.name)
            )
            self.values.unwritten.add((buffer, index))

    def _bind(self, node: Bind) -> None:
        self.values.name_index(node)
        value = self.values.value(node.value)
        if self.overwrites.needs_copy(node):
            value = self.values.copied(value)
        self.values.bound[node.var] = value
        self.values.computed = [pair for pair in self.values.computed if pair[1] is not value]

    def _for(self, node: For) -> None:
        """An inner loop, which all iterations run in step."""
        if not self.values.is_uniform(node.extent) or not self.values.is_uniform(node.min):
            raise NotTensor("the iterations have inner loops of different lengths")
        self.values.forget()
        unwritten = set(self.values.unwritten)
        with self.emit.inner() as statements:
            self.run(node.body)
        self.values.forget()
        self.values.unwritten |= unwritten  # the loop may have no iterations
        self.emit.add(
            For(node.loop_var, node.min, node.extent, ForKind.SERIAL, seq(statements), annotations=None, span=node.span)
        )

    def _if(self, node: IfThenElse) -> None:
        if self.values.is_uniform(node.condition):
            self._uniform_branch(node)
            return
        condition = node.condition
        if self.overwrites.needs_copy(node):
            condition = Var("holds", "bool")
            self.values.bound[condition] = self.values.copied(self.values.tile(node.condition))
        self._masked_branch(condition, node.then_case)
        if node.else_case is not None:
            self._masked_branch(tirx.Not(condition), node.else_case)

    def _masked_branch(self, mask: Any, branch: Any) -> None:
        self.masks.append(mask)
        with self.values.guard():
            self.run(branch)
        self.masks.pop()

    def _uniform_branch(self, node: IfThenElse) -> None:
        branches, unwritten = [], []
        before = set(self.values.unwritten)
        for part in (node.then_case, node.else_case):
            computed_before = list(self.values.computed)
            with self.emit.inner() as statements:
                if part is not None:
                    self.run(part)
            branches.append(seq(statements))
            self.values.computed = computed_before
            unwritten.append(self.values.unwritten)
            self.values.unwritten = set(before)
        self.values.unwritten = unwritten[0] | unwritten[1]
        self.values.forget()
        other = None if node.else_case is None else branches[1]
        self.emit.add(IfThenElse(self.values.expanded(node.condition), branches[0], other, span=node.span))

    # -- stores -------------------------------------------------------------------------------------------------

    def _store(self, node: BufferStore) -> None:
        buffer = node.buffer
        if any(isinstance(index, Call) for index in node.indices):
            raise NotTensor(f"a call computes the index of a store to {buffer.name}")
        if buffer in self.values.private_buffers:
            self._store_private(node)
        elif buffer in self.layouts:
            self._store_local(node, self.values.local_access(node))
        elif str(buffer.scope()) == "global":
            self._store_global(node)
        else:
            raise NotTensor(f"{buffer.name} is a variable of the control core")
        self.values.forget()

    def _masked(self, node: BufferStore) -> Any:
        """The value to store: the old value of the element where a mask does not hold."""
        dtype = dtype_of(node.buffer)
        value = self.values.value(_as(node.value, dtype))
        if not self.masks:
            return value
        old = self.values.value(load(node.buffer, list(node.indices)))
        for mask in reversed(self.masks):
            value = choose(self.values, mask, value, old, dtype)
        return value

    def _store_private(self, node: BufferStore) -> None:
        index = constant(node.indices[0])
        destination = self.values.private_tiles.get((node.buffer, index)) if index is not None else None
        if destination is None:
            raise NotTensor(f"{node.buffer.name} is written at an index that is not a compile-time constant")
        self.emit.assign(destination, self._masked(node))
        self.values.unwritten.discard((node.buffer, index))

    def _store_local(self, node: BufferStore, access: LocalAccess) -> None:
        destination = direct_view(self.emit, access)
        if destination is not None and not self.masks and self._loaded_directly(node.value, destination):
            return
        axes = destination.axes if destination is not None else access.axes()
        with self.emit.inner() as statements:
            value = self._masked(node)
        if isinstance(value, Tile) and not value.axes <= axes:
            raise NotTensor(f"several iterations write the same element of {node.buffer.name}")
        if destination is not None:
            for statement in statements:
                self.emit.add(statement)
            if not forward_result(self.emit, value, destination, self.values.live_buffers()):
                self.emit.assign(destination, value)
            return
        for statement in statements:
            self.emit.add(statement)
        whole = value if isinstance(value, Tile) and value.axes == axes else self.emit.new(axes, dtype_of(node.buffer))
        if whole is not value:
            self.emit.assign(whole, value)
        write(self.emit, access, whole)

    def _loaded_directly(self, value: Any, destination: Tile) -> bool:
        """Lowers a store of a plain load from a tensor to DMA; False where the store is something else."""
        if not isinstance(value, TensorLoad) or str(value.source.scope()) != "global":
            return False
        if dtype_of(value) != destination.dtype or value.source in self.layouts:
            return False
        if any(self.values.reads_memory(index) for index in value.indices):  # a gather
            return False
        access = global_access(self.emit, value.source, self.values.indices_of(value))
        if access.axes(self.emit.frame) != destination.axes:
            return False
        safe = self.values.safe_values.get(value.source, const(0, destination.dtype))
        load_into(self.emit, access, destination.view, safe)
        return True

    def _store_global(self, node: BufferStore) -> None:
        access = global_access(self.emit, node.buffer, self.values.indices_of(node))
        access = self._clipped(access)
        dtype = dtype_of(node.buffer)
        value = self.values.value(_as(node.value, dtype))
        axes = access.axes(self.emit.frame)
        if isinstance(value, Tile) and not value.axes <= axes:
            raise NotTensor(f"several iterations write the same element of {node.buffer.name}")
        if not isinstance(value, Tile) or value.axes != axes:
            whole = self.emit.new(axes, dtype)
            self.emit.assign(whole, value)
            value = whole
        store_from(self.emit, access, value)

    def _clipped(self, access: GlobalAccess) -> GlobalAccess:
        return with_masks(self.emit, access, self.masks) if self.masks else access


def _as(value: Any, dtype: str) -> Any:
    return value if dtype_of(value) == dtype else Cast(dtype, value)


_HANDLERS: dict[type, Any] = {
    SeqStmt: Body._seq,
    Evaluate: Body._evaluate,
    AttrStmt: Body._attr,
    AllocBuffer: Body._alloc,
    Bind: Body._bind,
    For: Body._for,
    IfThenElse: Body._if,
    BufferStore: Body._store,
}
