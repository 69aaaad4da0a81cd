"""Nests of T.Parallel loops, and the ways to map their loops to the axes of views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tile_tpu.chips import Chip
from tile_tpu.ir.layouts import LANE, PARTITIONED, ROW, TILE, TileLayout
from tile_tpu.lowering.commands.frames import Frame, NotTensor
from tilecore.ir.affine import coefficient
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import BufferStore, For, ForKind, Stmt, TensorLoad, Var, structural_walk
from tilecore.ir.visit import collect, variables

Layouts = Mapping[Var, tuple[Var, TileLayout]]
MOST = 65535  # the largest extent of a view


@dataclass(frozen=True)
class Nest:
    """Perfectly nested T.Parallel loops. loops: outermost first. body: the body of the innermost loop."""

    loops: tuple[For, ...]
    body: Stmt

    @property
    def variables(self) -> tuple[Var, ...]:
        return tuple(loop.loop_var for loop in self.loops)


def nest_of(node: For) -> Nest:
    loops = [node]
    while isinstance(loops[-1].body, For) and is_parallel(loops[-1].body) and not repeats(loops[-1].body):
        loops.append(loops[-1].body)
    return Nest(tuple(loops), loops[-1].body)


def repeats(node: For) -> bool:
    """Whether ``node`` is a T.vectorized loop whose iterations store to the same element, in order."""
    if node.kind != ForKind.VECTORIZED:
        return False
    stores = collect(node.body, BufferStore)
    return any(not any(node.loop_var in variables(index) for index in store.indices) for store in stores)


def is_parallel(node: For) -> bool:
    return node.kind in (ForKind.PARALLEL, ForKind.VECTORIZED)


def accesses_in(body: Stmt) -> list[tuple[Var, list]]:
    """The reads and writes of a body: for each the buffer and the indices."""
    accesses: list[tuple[Var, list]] = []
    structural_walk(
        body,
        [
            (TensorLoad, lambda n: accesses.append((n.source, list(n.indices)))),
            (BufferStore, lambda n: accesses.append((n.buffer, list(n.indices)))),
        ],
        order="pre",
    )
    return accesses


def frames(nest: Nest, layouts: Layouts, chip: Chip) -> Iterator[Frame]:
    """The ways to map a nest to the axes of views, the most promising first. Raises NotTensor where the extents of its
    loops are not constants."""
    if repeats(nest.loops[0]):
        raise NotTensor("the iterations of a T.vectorized loop store to the same element")
    extents = {}
    for loop in nest.loops:
        size = constant(loop.extent)
        if size is None or constant(loop.min) != 0:
            raise NotTensor("the range of a parallel loop is not a compile-time constant that begins at 0")
        if size < 1:
            raise NotTensor("a parallel loop has no iterations")
        extents[loop.loop_var] = size
    accesses = accesses_in(nest.body)
    lanes, columns = _votes(nest, layouts, accesses)
    if len(nest.loops) == 1 and not lanes and not columns:
        yield from _partitioned_frames(nest.variables[0], extents, layouts, accesses, chip)
    yield from _frames_of_planes(nest, extents, lanes, columns, chip)


def _votes(nest: Nest, layouts: Layouts, accesses: list[tuple[Var, list]]) -> tuple[dict[Var, int], dict[Var, int]]:
    """How often each loop runs over the lane axis of a tile, and over its columns."""
    lanes: dict[Var, int] = {}
    columns: dict[Var, int] = {}
    for buffer, indices in accesses:
        if buffer not in layouts:
            continue
        layout = layouts[buffer][1]
        if layout.kind not in (TILE, LANE, ROW):
            continue
        last = len(indices) - 1
        for var in nest.variables:
            if layout.lane_axis is not None and coefficient(indices[layout.lane_axis], var):
                lanes[var] = lanes.get(var, 0) + 1
            if layout.lane_axis != last and coefficient(indices[last], var):
                columns[var] = columns.get(var, 0) + 1
    return lanes, columns


def _partitioned_frames(
    var: Var, extents: dict[Var, int], layouts: Layouts, accesses: list[tuple[Var, list]], chip: Chip
) -> Iterator[Frame]:
    count = extents[var]
    chunks = {layouts[b][1].chunk for b, _ in accesses if b in layouts and layouts[b][1].kind == PARTITIONED}
    chunk = chunks.pop() if len(chunks) == 1 else -(-count // chip.lanes)
    if chunks or chunk > MOST:
        return
    parts = -(-count // chunk)
    yield Frame({var: "c"}, {"n": 1, "c": parts, "h": 1, "w": chunk}, chip.lanes, var, count, chunk)


def _frames_of_planes(
    nest: Nest, extents: dict[Var, int], lanes: dict[Var, int], columns: dict[Var, int], chip: Chip
) -> Iterator[Frame]:
    variables = list(nest.variables)
    if len(variables) > 4 or any(extents[v] > MOST for v in variables):
        return

    def score(c: Var | None, w: Var | None) -> float:
        total = 2.0 * (lanes.get(c, 0) - lanes.get(w, 0)) + columns.get(w, 0) - columns.get(c, 0)
        if w is not None:
            total += 0.1 * variables.index(w) / len(variables)
        return total + (0.05 if c is not None else 0)

    choices = [(c, w) for c in [*variables, None] for w in [*variables, None] if c is None or c is not w]
    choices = [(c, w) for c, w in choices if len(variables) - (c is not None) - (w is not None) <= 2]
    choices.sort(key=lambda pair: -score(*pair))
    for c, w in choices[:4]:
        rest = [v for v in variables if v is not c and v is not w]
        axes = {}
        for var, axis in zip(rest, ("n", "h") if len(rest) > 1 else ("h",), strict=False):
            axes[var] = axis
        if c is not None:
            axes[c] = "c"
        if w is not None:
            axes[w] = "w"
        sizes = dict.fromkeys("nchw", 1) | {axis: extents[var] for var, axis in axes.items()}
        if c is None:
            sizes["c"] = chip.lanes
        yield Frame(axes, sizes, chip.lanes)


__all__ = ["Layouts", "Nest", "accesses_in", "dtype_of", "frames", "is_parallel", "nest_of"]
