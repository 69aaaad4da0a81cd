"""The statements of a nest, one after the other, each for all iterations."""

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

_LOGIC = ("And", "Or", "Not", "LT", "LE", "GT", "GE", "EQ", "NE")


class Body:
    """masks: conditions around the statement at hand that are not the same for all iterations. overwrites: of the whole
    body."""

    def __init__(self, emit: Emitter, layouts: Layouts, safe: dict[Var, Any], overwrites: Overwrites) -> None:
        self.emit = emit
        self.overwrites = overwrites
        self.values = Values(emit, dict(layouts), safe)
        self.layouts = layouts
        self.masks: list[Any] = []

    def run(self, node: Any) -> None:
        """Raises NotTensor."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise NotTensor(f"{type(node).__name__} in a parallel loop")
        span = getattr(node, "span", None)
        before, self.emit.span = self.emit.span, span if span is not None else self.emit.span
        handler(self, node)
        self.emit.span = before

    def _seq(self, node: SeqStmt) -> None:
        for part in node.seq:
            self.run(part)

    def _evaluate(self, node: Evaluate) -> None:
        if not is_nothing(node):
            raise NotTensor("an effect in a parallel loop")

    def _attr(self, node: AttrStmt) -> None:
        raise NotTensor(f"{node.attr_key} in a parallel loop")

    def _alloc(self, node: AllocBuffer) -> None:
        """Memory of an iteration: each element becomes a tile."""
        buffer = node.buffer
        size = constant(buffer.shape[0]) if len(buffer.shape) == 1 else None
        if size is None or size > 16 or dtype_of(buffer) not in COMPUTED:
            raise NotTensor(f"{buffer.name}, an array of each iteration")
        self.values.owned.add(buffer)
        for index in range(size):
            self.values.own[(buffer, index)] = self.emit.new(
                self.emit.frame.all_axes, dtype_of(buffer), str(buffer.name)
            )
            self.values.unset.add((buffer, index))

    def _bind(self, node: Bind) -> None:
        self.values.name_index(node)
        value = self.values.value(node.value)
        if self.overwrites.keeps(node):
            value = self.values.copied(value)
        self.values.bound[node.var] = value
        self.values.computed = [pair for pair in self.values.computed if pair[1] is not value]

    def _for(self, node: For) -> None:
        """A loop inside an iteration: all iterations take its steps together."""
        if not self.values.is_uniform(node.extent) or not self.values.is_uniform(node.min):
            raise NotTensor("a loop inside whose length is not the same for all iterations")
        self.values.forget()
        unset = set(self.values.unset)
        with self.emit.inner() as statements:
            self.run(node.body)
        self.values.forget()
        self.values.unset |= unset  # it may have no steps
        self.emit.add(
            For(node.loop_var, node.min, node.extent, ForKind.SERIAL, seq(statements), annotations=None, span=node.span)
        )

    def _if(self, node: IfThenElse) -> None:
        if self.values.is_uniform(node.condition):
            self._by_control(node)
            return
        condition = node.condition
        if self.overwrites.keeps(node):
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

    def _by_control(self, node: IfThenElse) -> None:
        branches, unset = [], []
        before = set(self.values.unset)
        for part in (node.then_case, node.else_case):
            computed_before = list(self.values.computed)
            with self.emit.inner() as statements:
                if part is not None:
                    self.run(part)
            branches.append(seq(statements))
            self.values.computed = computed_before
            unset.append(self.values.unset)
            self.values.unset = set(before)
        self.values.unset = unset[0] | unset[1]
        self.values.forget()
        other = None if node.else_case is None else branches[1]
        self.emit.add(IfThenElse(self.values.expanded(node.condition), branches[0], other, span=node.span))

    # -- stores -------------------------------------------------------------------------------------------------

    def _store(self, node: BufferStore) -> None:
        buffer = node.buffer
        if any(isinstance(index, Call) for index in node.indices):
            raise NotTensor(f"a store to {buffer.name} at an index that is computed")
        if buffer in self.values.owned:
            self._store_own(node)
        elif buffer in self.layouts:
            self._store_local(node, self.values.local_access(node))
        elif str(buffer.scope()) == "global":
            self._store_global(node)
        else:
            raise NotTensor(f"{buffer.name} is memory of the control core")
        self.values.forget()

    def _masked(self, node: BufferStore) -> Any:
        """The stored value: where a mask does not hold, what is there already."""
        dtype = dtype_of(node.buffer)
        value = self.values.value(_as(node.value, dtype))
        if not self.masks:
            return value
        old = self.values.value(load(node.buffer, list(node.indices)))
        for mask in reversed(self.masks):
            value = choose(self.values, mask, value, old, dtype)
        return value

    def _store_own(self, node: BufferStore) -> None:
        index = constant(node.indices[0])
        destination = self.values.own.get((node.buffer, index)) if index is not None else None
        if destination is None:
            raise NotTensor(f"{node.buffer.name} at an index that is not known")
        self.emit.assign(destination, self._masked(node))
        self.values.unset.discard((node.buffer, index))

    def _store_local(self, node: BufferStore, access: LocalAccess) -> None:
        destination = direct_view(self.emit, access)
        if destination is not None and not self.masks and self._loaded_directly(node.value, destination):
            return
        axes = destination.axes if destination is not None else access.axes()
        with self.emit.inner() as statements:
            value = self._masked(node)
        if isinstance(value, Tile) and not value.axes <= axes:
            raise NotTensor(f"several iterations write one element of {node.buffer.name}")
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
        """Whether the store is a plain load from a tensor, which DMA puts where it belongs."""
        if not isinstance(value, TensorLoad) or str(value.source.scope()) != "global":
            return False
        if dtype_of(value) != destination.dtype or value.source in self.layouts:
            return False
        if any(self.values.is_looked_up(index) for index in value.indices):  # rows that a tile names
            return False
        access = global_access(self.emit, value.source, self.values.places(value))
        if access.axes(self.emit.frame) != destination.axes:
            return False
        safe = self.values.safe.get(value.source, const(0, destination.dtype))
        load_into(self.emit, access, destination.view, safe)
        return True

    def _store_global(self, node: BufferStore) -> None:
        access = global_access(self.emit, node.buffer, self.values.places(node))
        access = self._clipped(access)
        dtype = dtype_of(node.buffer)
        value = self.values.value(_as(node.value, dtype))
        axes = access.axes(self.emit.frame)
        if isinstance(value, Tile) and not value.axes <= axes:
            raise NotTensor(f"several iterations write one element of {node.buffer.name}")
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
