"""The values of a nest's expressions: each operation on tiles becomes an instruction, its result a temporary."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tile_tpu.ir.layouts import TileLayout
from tile_tpu.lowering.commands.emitter import Emitter
from tile_tpu.lowering.commands.frames import NotTensor, Tile, Value, over
from tile_tpu.lowering.expressions.conversions import converted
from tile_tpu.lowering.expressions.dispatch import lower_expression
from tile_tpu.lowering.views.local_views import LocalAccess, local_access
from tilecore.dtypes import FACTS
from tilecore.ir.build import cast, dtype_of
from tilecore.ir.nodes import Bind, BufferStore, Expr, TensorLoad, Var, structural_equal
from tilecore.ir.visit import loads, substitute, variables

COMPUTED = ("float32", "float16", "bfloat16", "int32", "int16", "int8", "uint32", "uint16", "uint8")
_SCALAR_SCOPES = ("local", "local.var")


class Values:
    """layouts: of the buffers in local memory, {the kernel's: (the LOCAL one, its layout)}. safe: what reads outside of
    a tensor give, by buffer. own: memory of an iteration, by (buffer, index). bound: values of variables."""

    def __init__(self, emit: Emitter, layouts: dict[Var, tuple[Var, TileLayout]], safe: dict[Var, Any]) -> None:
        self.emit = emit
        self.frame = emit.frame
        self.layouts = layouts
        self.safe = safe
        self.own: dict[tuple[Var, int], Tile] = {}
        self.owned: set[Var] = set()
        self.bound: dict[Var, Value] = {}
        self.computed: list[tuple[Any, Tile]] = []  # what was computed, until something is written
        self.numbers: set[Var] = set()  # temporaries of floats that hold no NaN
        self.indices: dict[Var, Expr] = {}  # index arithmetic that has a name
        self.guards = 0  # conditions around what is computed that do not hold in all iterations
        self.guarded: set[Var] = set()  # buffers in local memory that are used under one
        self.unset: set[tuple[Var, int]] = set()  # memory of an iteration that may hold nothing yet

    # -- what is the same everywhere ----------------------------------------------------------------------------

    def is_uniform(self, node: Any) -> bool:
        """Whether it has one value for all iterations, which the control core can compute without looking at memory
        that commands work on."""
        if isinstance(node, int):
            return True
        inside = variables(node)
        if any(var in inside for var in self.frame.axes) or any(
            isinstance(value, Tile) for var, value in self.bound.items() if var in inside
        ):
            return False
        return all(
            str(load.source.scope()) in _SCALAR_SCOPES
            and load.source not in self.owned
            and self.is_uniform_index(load)
            for load in loads(node)
        )  # fmt: skip

    def is_uniform_index(self, load: TensorLoad) -> bool:
        return not any(var in variables(index) for index in load.indices for var in self.frame.axes)

    # -- values -------------------------------------------------------------------------------------------------

    def value(self, node: Any) -> Value:
        """The value of an expression. Raises NotTensor."""
        if self.is_uniform(node):
            return self.expanded(node)
        for expression, tile in self.computed:
            if structural_equal(expression, node, map_free_vars=False):
                return tile
        value = lower_expression(self, node)
        if isinstance(value, Tile):
            self.computed.append((node, value))
        return value

    def tile(self, node: Any, dtype: str | None = None) -> Tile:
        """The value as a tile."""
        return self.emit.as_tile(self.value(node), dtype or dtype_of(node))

    def copied(self, value: Value) -> Value:
        """A value that stays as it is when memory is written."""
        shared = {new for new, _ in self.layouts.values()} | {tile.view.buffer for tile in self.own.values()}
        if not isinstance(value, Tile) or value.view.buffer not in shared:
            return value
        copy = self.emit.new(value.axes, value.dtype, "kept")
        self.emit.emit("copy", copy.view, value.view)
        return copy

    def live_buffers(self) -> set[Var]:
        """Temporaries that are read later."""
        tiles = [value for value in self.bound.values() if isinstance(value, Tile)]
        return {tile.view.buffer for tile in (*tiles, *self.own.values())}

    def fill_unset(self, buffer: Var, index: int) -> None:
        """Memory of an iteration that is used where nothing may have been written to it begins with 0."""
        if (buffer, index) in self.unset:
            self.emit.fill_new(self.own[(buffer, index)].view)

    def forget(self) -> None:
        """Memory was written: what was computed from it may not hold."""
        self.computed.clear()

    def expanded(self, node: Any) -> Expr:
        scalars = {var: value for var, value in self.bound.items() if not isinstance(value, Tile)}
        return substitute(node, scalars) if scalars and not isinstance(node, int) else node

    def name_index(self, node: Bind) -> None:
        """Notes a name for index arithmetic."""
        value = self.index_of(node.value)
        if not loads(value) and dtype_of(value) in ("int32", "int64") and not self.is_looked_up(value):
            self.indices[node.var] = value

    def is_looked_up(self, index: Any) -> bool:
        """Whether an index is read from memory, by the iteration or before, under a name."""
        index = self.index_of(index)
        return bool(loads(index)) or any(isinstance(self.bound.get(var), Tile) for var in variables(index))

    def index_of(self, index: Any) -> Any:
        """With what names stand for, where that is index arithmetic."""
        return index if isinstance(index, int) else self.expanded(substitute(index, self.indices))

    def places(self, node: TensorLoad | BufferStore) -> list[Any]:
        """The indices of an access, in terms of the loops and of what is the same for all iterations. Raises NotTensor
        where they are read from memory."""
        indices = [self.index_of(index) for index in node.indices]
        looked_up = {var for index in indices for var in variables(index) if isinstance(self.bound.get(var), Tile)}
        if looked_up:
            names = ", ".join(sorted(str(var.name) for var in looked_up))
            raise NotTensor(f"an index that is computed from what is read: {names}")
        return indices

    def local_access(self, node: TensorLoad | BufferStore) -> LocalAccess:
        buffer = node.source if isinstance(node, TensorLoad) else node.buffer
        new, layout = self.layouts[buffer]
        if self.guards:
            self.guarded.add(new)
        return local_access(self.emit, new, layout, self.places(node), self.guards > 0)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """What is computed meanwhile does not count in all iterations."""
        self.guards += 1
        try:
            yield
        finally:
            self.guards -= 1

    # -- operations ---------------------------------------------------------------------------------------------

    def apply(self, name: str, operands: list[Value], dtype: str, to: Tile | None = None) -> Tile:
        """An instruction on operands of one dtype; narrow floats that have no arithmetic go through float32."""
        if dtype not in COMPUTED:
            if dtype in FACTS and FACTS[dtype].kind == "float" and FACTS[dtype].bits < 16:
                wide = [self.as_type(o, "float32", dtype) for o in operands]
                return self.converted(self.apply(name, wide, "float32"), dtype, "float32")
            raise NotTensor(f"arithmetic on {dtype}")
        if not any(isinstance(o, Tile) for o in operands):  # numbers that a choice between values left
            operands = [self.emit.as_tile(operands[0], dtype), *operands[1:]]
        tiles = [o for o in operands if isinstance(o, Tile)]
        axes = frozenset().union(*(t.axes for t in tiles))
        result = to if to is not None else self.emit.new(axes, dtype)
        self.emit.emit(name, result.view, *(self._operand(o, result.axes) for o in operands))
        return result

    def _operand(self, value: Value, axes: frozenset[str]) -> Any:
        return over(value, self.frame, axes) if isinstance(value, Tile) else value

    def as_type(self, value: Value, dtype: str, source: str) -> Value:
        """A value of ``source`` in another dtype."""
        return self.converted(value, dtype, source) if isinstance(value, Tile) else cast(value, dtype)

    def converted(self, tile: Tile, dtype: str, source: str) -> Tile:
        """In another dtype, as the language defines it."""
        return converted(self, tile, dtype, source)
