"""The values of a nest's expressions: each operation on tiles becomes an instruction whose result is a temporary."""

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
    """The values of a nest.

    layouts: for each tile its local buffer and its layout. safe_values: for each tensor the value of reads outside of
    it. private_buffers: the arrays that each iteration has. private_tiles: the tile of each of their elements, by
    (buffer, index). bound: the values of bound variables.
    """

    def __init__(self, emit: Emitter, layouts: dict[Var, tuple[Var, TileLayout]], safe: dict[Var, Any]) -> None:
        self.emit = emit
        self.frame = emit.frame
        self.layouts = layouts
        self.safe_values = safe
        self.private_tiles: dict[tuple[Var, int], Tile] = {}
        self.private_buffers: set[Var] = set()
        self.bound: dict[Var, Value] = {}
        self.computed: list[tuple[Any, Tile]] = []  # values of expressions, valid until the next write
        self.numbers: set[Var] = set()  # temporaries of floats that hold no NaN
        self.indices: dict[Var, Expr] = {}  # bound variables that are index arithmetic
        self.guards = 0  # the number of divergent conditions around the current expression
        self.guarded: set[Var] = set()  # local buffers that are accessed under a divergent condition
        self.unwritten: set[tuple[Var, int]] = set()  # elements of private buffers that may be unwritten

    # -- uniform values -----------------------------------------------------------------------------------------

    def is_uniform(self, node: Any) -> bool:
        """Whether the expression has the same value in all iterations, and the control core can compute it without
        access to memory that commands use."""
        if isinstance(node, int):
            return True
        inside = variables(node)
        if any(var in inside for var in self.frame.axes) or any(
            isinstance(value, Tile) for var, value in self.bound.items() if var in inside
        ):
            return False
        return all(
            str(load.source.scope()) in _SCALAR_SCOPES
            and load.source not in self.private_buffers
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
        """A value that later writes to memory do not change: a copy where it is a view of a buffer."""
        shared = {new for new, _ in self.layouts.values()} | {tile.view.buffer for tile in self.private_tiles.values()}
        if not isinstance(value, Tile) or value.view.buffer not in shared:
            return value
        copy = self.emit.new(value.axes, value.dtype, "kept")
        self.emit.emit("copy", copy.view, value.view)
        return copy

    def live_buffers(self) -> set[Var]:
        """Temporaries that are read later."""
        tiles = [value for value in self.bound.values() if isinstance(value, Tile)]
        return {tile.view.buffer for tile in (*tiles, *self.private_tiles.values())}

    def fill_unwritten(self, buffer: Var, index: int) -> None:
        """Fills an element of a private buffer with 0 before a use where it may be unwritten."""
        if (buffer, index) in self.unwritten:
            self.emit.fill_new(self.private_tiles[(buffer, index)].view)

    def forget(self) -> None:
        """Forgets the computed values, as memory that they were read from was written."""
        self.computed.clear()

    def expanded(self, node: Any) -> Expr:
        scalars = {var: value for var, value in self.bound.items() if not isinstance(value, Tile)}
        return substitute(node, scalars) if scalars and not isinstance(node, int) else node

    def name_index(self, node: Bind) -> None:
        """Records a bound variable that is index arithmetic."""
        value = self.index_of(node.value)
        if not loads(value) and dtype_of(value) in ("int32", "int64") and not self.reads_memory(value):
            self.indices[node.var] = value

    def reads_memory(self, index: Any) -> bool:
        """Whether an index is read from memory, directly or through a bound variable."""
        index = self.index_of(index)
        return bool(loads(index)) or any(isinstance(self.bound.get(var), Tile) for var in variables(index))

    def index_of(self, index: Any) -> Any:
        """The index with bound variables replaced by their index arithmetic."""
        return index if isinstance(index, int) else self.expanded(substitute(index, self.indices))

    def indices_of(self, node: TensorLoad | BufferStore) -> list[Any]:
        """The indices of an access, as expressions of loop variables and uniform values. Raises NotTensor where they
        are read from memory."""
        indices = [self.index_of(index) for index in node.indices]
        loaded = {var for index in indices for var in variables(index) if isinstance(self.bound.get(var), Tile)}
        if loaded:
            names = ", ".join(sorted(str(var.name) for var in loaded))
            raise NotTensor(f"an index is computed from values that are read from memory: {names}")
        return indices

    def local_access(self, node: TensorLoad | BufferStore) -> LocalAccess:
        buffer = node.source if isinstance(node, TensorLoad) else node.buffer
        new, layout = self.layouts[buffer]
        if self.guards:
            self.guarded.add(new)
        return local_access(self.emit, new, layout, self.indices_of(node), self.guards > 0)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Expressions that are lowered in this context are used in some iterations only."""
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
            raise NotTensor(f"the tensor unit has no arithmetic on {dtype}")
        if not any(isinstance(o, Tile) for o in operands):  # all operands are scalars
            operands = [self.emit.as_tile(operands[0], dtype), *operands[1:]]
        tiles = [o for o in operands if isinstance(o, Tile)]
        axes = frozenset().union(*(t.axes for t in tiles))
        result = to if to is not None else self.emit.new(axes, dtype)
        self.emit.emit(name, result.view, *(self._operand(o, result.axes) for o in operands))
        return result

    def _operand(self, value: Value, axes: frozenset[str]) -> Any:
        return over(value, self.frame, axes) if isinstance(value, Tile) else value

    def as_type(self, value: Value, dtype: str, source: str) -> Value:
        """A value of type ``source``, converted to ``dtype``."""
        return self.converted(value, dtype, source) if isinstance(value, Tile) else cast(value, dtype)

    def converted(self, tile: Tile, dtype: str, source: str) -> Tile:
        """A tile of type ``source``, converted to ``dtype`` as the language defines it."""
        return converted(self, tile, dtype, source)
