"""Finds the elements of tiles that lie beyond the edge of the tensor they were copied from: zeros, no data."""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import Add, BufferStore, Evaluate, Stmt, Sub, TensorRegion, Var
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect
from tilecore.profiler.work.spaces import Inside, Loop
from tilecore.profiler.work.values import DataDependentError, Values


class Fills:
    """Where the elements of on-chip buffers come from, for buffers that a single copy writes."""

    def __init__(self, body: Stmt, values: Values) -> None:
        self._values = values
        self._writers: dict[Var, list[TileCall | None]] = {}  # None: a store of elements
        for node in collect(body, BufferStore):
            self._writers.setdefault(node.buffer, []).append(None)
        for call in filter(None, map(as_tile_call, collect(body, Evaluate))):
            for name in call.op.writes:
                target = call.args.get(name)
                if isinstance(target, TensorRegion):
                    self._writers.setdefault(target.source, []).append(call)

    def product(self, call: TileCall) -> tuple[list[Loop], list[Inside]]:
        """The loops of a matrix product over rows, columns and the inner axis, with the conditions at which both
        operands have data there."""
        a, b = _axes(call.a)[-2:], _axes(call.b)[-2:]
        if len(a) < 2 or len(b) < 2:
            raise DataDependentError("a matrix of one axis")
        (row, inner), (inner_b, column) = (a[::-1] if call.transpose_a else a), (b[::-1] if call.transpose_b else b)
        i, j, k = (Var(name, "int32") for name in ("row", "column", "inner"))
        loops = [
            Loop(var, 0, region.region[axis].extent)
            for var, region, axis in ((i, call.a, row), (j, call.b, column), (k, call.a, inner))
        ]
        conditions = [
            *self._conditions(call.a, {row: i, inner: k}),
            *self._conditions(call.b, {inner_b: k, column: j}),
        ]
        return loops, conditions

    def _conditions(self, region: TensorRegion, at: dict[int, Any]) -> list[Inside]:
        """The conditions at which the element ``at``, an index in the region by axis, is data of a tensor."""
        buffer = region.source
        indices = [
            Add(part.min, _as(dtype_of(part.min), at[axis])) if axis in at else part.min
            for axis, part in enumerate(region.region)
        ]
        if is_global(buffer):
            try:
                sizes = [self._values.known(size) for size in buffer.shape]
            except DataDependentError:
                return []
            return [Inside(index, size) for index, size in zip(indices, sizes, strict=True)]
        writers = self._writers.get(buffer, [])
        copy = writers[0] if len(writers) == 1 else None
        if copy is None or copy.op.name.rpartition(".")[2] not in ("copy", "async_copy", "tma_copy"):
            return []
        targets, sources = _axes(copy.dst), _axes(copy.src)
        if len(targets) != len(sources):
            return []
        moved = {
            source: Sub(indices[target], _as(dtype_of(indices[target]), copy.dst.region[target].min))
            for source, target in zip(sources, targets, strict=True)
        }
        return self._conditions(copy.src, moved)


def _axes(region: TensorRegion) -> list[int]:
    """The axes that have more than one element; the last ones, where a matrix has rows or columns of one."""
    long = [axis for axis, part in enumerate(region.region) if constant(part.extent) != 1]
    if len(long) >= 2 or len(region.region) < 2:
        return long
    return sorted({*long, *range(len(region.region) - 2, len(region.region))})[-2:]


def _as(dtype: str, value: Any) -> Any:
    return value if dtype_of(value) == dtype else value.astype(dtype)
