"""Random statements in which a thread reads what other threads wrote to shared memory: shifted reads, and conditions
and bounds of loops that the body overwrites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilecore.testing.fuzz.expressions import Value, index_value
from tilecore.testing.fuzz.flow import store_loop_results
from tilecore.testing.fuzz.nests import Nest
from tilecore.testing.fuzz.outputs import store_unread
from tilecore.testing.fuzz.program import Alloc, Assign, Buffer, Expr, If, Load, Loop, Name, Num, Op, While
from tilecore.testing.fuzz.statements import initialised_tile, shape_of
from tilecore.testing.fuzz.types import is_float, is_integer

if TYPE_CHECKING:
    from tilecore.testing.fuzz.scope import Scope

MOST_STEPS = 3  # of a loop whose bound is a value in shared memory


def shifted(scope: Scope) -> None:
    """Copies shifted elements of a tile to a new tile; often overwrites the source then."""
    rng = scope.rng
    source = initialised_tile(scope, shape_of(scope), scopes=("shared",))
    if any("*" in size for size in source.shape) or len(set(source.shape)) < len(source.shape):
        return
    target = scope.tile(source.shape, source.dtype, cap=source.cap)
    nest = Nest(scope, source.shape)
    index = list(nest.index(source.shape))
    for axis in rng.sample(range(len(index)), rng.randint(1, len(index))):
        index[axis] = _shifted_index(scope, index[axis], source.shape[axis])
    seen: Expr = Load(source.name, tuple(index))
    scope.emit(nest.loop(Assign(Load(target.name, nest.index(target.shape)), seen)))
    scope.ready.add(target.name)
    if rng.random() < 0.6 and source.name not in scope.room:
        _overwrite(scope, source, target)


def _shifted_index(scope: Scope, at: Expr, size: str) -> Expr:
    rng = scope.rng
    count = scope.world.size(size)
    kind = rng.random()
    if kind < 0.5:
        return Op("%", (Op("+", (at, Num(rng.randint(1, max(1, count - 1))))), Name(size)))
    if kind < 0.75:
        return Op("-", (Op("-", (Name(size), Num(1))), at))
    if kind < 0.9:
        return Op("min", (Op("+", (at, Num(1))), Op("-", (Name(size), Num(1)))))
    return Num(rng.randrange(count))


def _overwrite(scope: Scope, tile: Buffer, other: Buffer | None = None) -> None:
    """Overwrites all of a tile with new values, which may be computed from its elements and those of another tile."""
    nest = Nest(scope, tile.shape)
    nest.busy.add(tile.name)  # an iteration reads only its own element of it
    smooth = is_float(tile.dtype) and not scope.world.exact
    for seen in (tile, other):
        if seen is not None and seen.shape == tile.shape:
            nest.extra += [Value(Load(seen.name, nest.index(seen.shape)), seen.dtype, seen.cap, smooth)] * 3
    value = nest.maker().stored(tile.dtype, tile.cap, max(nest.depth, 1))
    scope.emit(nest.loop(Assign(Load(tile.name, nest.index(tile.shape)), value.expr)))


def _cell(scope: Scope) -> tuple[Buffer, Load] | None:
    """An element of a tile of integers in shared memory, which may be overwritten."""
    tiles = [t for t in scope.initialised(scopes=("shared",)) if is_integer(t.dtype) and t.name not in scope.room]
    tiles = [t for t in tiles if not any("*" in size for size in t.shape)]
    if not tiles:
        kinds = [dtype for dtype in ("int32", "int16", "uint8") if dtype in scope.world.allowed]
        if not kinds:
            return None
        tiles = [initialised_tile(scope, shape_of(scope, 1), scope.rng.choice(kinds), ("shared",))]
    tile = scope.rng.choice(tiles)
    place = tuple(Num(scope.rng.randrange(scope.world.size(size))) for size in tile.shape)
    return tile, Load(tile.name, place)


def _steps(cell: Load) -> Expr:
    """The value in shared memory as a number of iterations, from 0 to MOST_STEPS."""
    value = Op("min", (Op("cast", (cell,), "int32"), Num(MOST_STEPS)))
    return Op("max", (value, Num(0)))


def condition_of_shared(scope: Scope) -> None:
    """An ``if`` on a value in shared memory that its sides overwrite."""
    chosen = _cell(scope) if scope.depth <= 2 else None
    if chosen is None:
        return
    rng = scope.rng
    tile, cell = chosen
    test = Op(rng.choice((">", "<=", "!=")), (cell, Num(rng.randint(0, 20))))
    sides = []
    for _ in range(rng.choice((1, 1, 2))):
        with scope.inner(certain=False) as below:
            if rng.random() < 0.3:
                below.several(1)
            _overwrite(below, tile)
            if rng.random() < 0.5:
                shifted(below)
            store_unread(below)
        sides.append(tuple(below.body))
    scope.emit(If(test, *sides))


def while_of_shared(scope: Scope) -> None:
    """A ``while`` on a value in shared memory that its body overwrites; it has at most MOST_STEPS iterations."""
    chosen = _cell(scope) if scope.depth <= 1 else None
    if chosen is None:
        return
    tile, cell = chosen
    name = scope.world.fresh("w")
    with scope.inner(MOST_STEPS, certain=False) as below:
        below.uniform.append(index_value(name, MOST_STEPS))
        if scope.rng.random() < 0.5:
            shifted(below)
        _overwrite(below, tile)
        store_loop_results(below)
    start = Alloc(Buffer(name, (), "int32", "var", MOST_STEPS), Num(0))
    scope.emit(start, While(name, _steps(cell), tuple(below.body)))


def loop_of_shared(scope: Scope) -> None:
    """A loop whose bound is a value in shared memory that its body overwrites."""
    chosen = _cell(scope) if scope.depth <= 1 else None
    if chosen is None:
        return
    tile, cell = chosen
    name = scope.world.fresh("t")
    with scope.inner(MOST_STEPS, certain=False) as below:
        below.uniform.append(index_value(name, MOST_STEPS))
        _overwrite(below, tile)
        if scope.rng.random() < 0.5:
            shifted(below)
        store_loop_results(below)
    scope.emit(Loop("serial", (name,), (_steps(cell),), tuple(below.body)))
