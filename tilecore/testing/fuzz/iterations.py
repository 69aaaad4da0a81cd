"""Random T.Parallel nests whose iterations run several statements, and nests that write only some elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilecore.testing.fuzz.bodies import BodyMaker
from tilecore.testing.fuzz.expressions import Value, plus
from tilecore.testing.fuzz.nests import Nest
from tilecore.testing.fuzz.outputs import MOST
from tilecore.testing.fuzz.program import Assign, Buffer, Expr, If, Let, Load, Loop, Name, Num, Op, Statement
from tilecore.testing.fuzz.statements import MOST_ELEMENTS, initialised_tile, shape_of
from tilecore.testing.fuzz.types import is_float

if TYPE_CHECKING:
    from tilecore.testing.fuzz.scope import Scope


def several_statements(scope: Scope) -> None:
    """A nest whose iterations run a few statements, on their own elements of tiles and sometimes of a tensor."""
    rng = scope.rng
    tensor = _tensor(scope) if rng.random() < 0.12 else None
    shape = tensor[1] if tensor else shape_of(scope)
    tiles = [
        t for t in scope.initialised() if set(t.shape) == set(shape) and t.scope != "local" and t.name not in scope.room
    ]
    targets = rng.sample(tiles, min(len(tiles), rng.randint(0, 2)))
    while len(targets) < rng.choice((1, 2, 2, 3)):
        dtype = scope.world.dtype()
        targets.append(initialised_tile(scope, shape, dtype) if rng.random() < 0.6 else scope.tile(shape, dtype))
        targets = [t for t in dict.fromkeys(targets) if t.name not in scope.room]
    nest = Nest(scope, shape)
    value = None
    if tensor:
        index = tuple(plus(b, n) for b, n in zip(scope.base(shape), nest.index(shape), strict=True))
        smooth = is_float(tensor[0].dtype) and not scope.world.exact
        value = Value(Load(tensor[0].name, index), tensor[0].dtype, tensor[0].cap, smooth)
    body = BodyMaker(nest, targets, value)
    statements = body.statements(rng.randint(2, 5))
    if statements:
        scope.emit(nest.loop(*statements))
        scope.ready |= body.written


def _tensor(scope: Scope) -> tuple[Buffer, tuple[str, ...]] | None:
    """A tensor that the kernel reads and writes: each block and iteration its own elements."""
    world = scope.world
    axes = [name for name in scope.axes if name != "BK"]
    shape = tuple(scope.rng.sample(axes, len(axes)))
    whole = tuple(scope.place(name)[0] for name in shape)
    if world.elements(whole) > MOST or world.elements(shape) > MOST_ELEMENTS or scope.depth:
        return None
    dtype = scope.fitting(world.dtype(), whole)
    tensor = Buffer(world.fresh("U"), whole, dtype, "global", world.cap(dtype), world.form())
    world.params.append(tensor)
    world.written[tensor.name] = scope.kernel
    return tensor, shape


def partly_written(scope: Scope) -> None:
    """A tile that only some iterations write, and that a later nest reads in the same iterations."""
    rng = scope.rng
    shape = shape_of(scope)
    size = rng.choice(shape)
    some = scope.tile(shape, scope.world.dtype())
    tests = []
    count = rng.randint(1, scope.world.size(size))
    word = rng.choice(("<", ">=", "%"))
    for _ in range(2):
        at = Name(Nest(scope, shape).names[size])
        whole: Expr = Op("==", (Op("%", (at, Num(2))), Num(count % 2)))
        tests.append(whole if word == "%" else Op(word, (at, Num(count))))
    first = Nest(scope, shape)
    first.busy.add(some.name)
    scope.emit(first.loop(If(tests[0], (Assign(first.target_element(some).expr, _value(first, some)),))))  # type: ignore[arg-type]
    target = scope.tile(shape, scope.world.dtype())
    second = Nest(scope, shape)
    second.busy |= {some.name, target.name}
    other = _value(second, target)
    second.extra = [second.target_element(some)] * 4
    chosen = _value(second, target)
    element = second.target_element(target).expr
    if rng.random() < 0.4:
        choice = Op("if_then_else", (tests[1], *(Op("cast", (v,), target.dtype) for v in (chosen, other))))
        scope.emit(second.loop(Assign(element, choice)))  # type: ignore[arg-type]
    else:
        scope.emit(second.loop(If(tests[1], (Assign(element, chosen),), (Assign(element, other),))))  # type: ignore[arg-type]
    scope.ready.add(target.name)


def _value(nest: Nest, target: Buffer) -> Expr:
    return nest.maker().stored(target.dtype, target.cap, nest.depth).expr


def exchange_pairs(scope: Scope) -> None:
    """A nest whose iterations exchange, or copy, the elements of a pair of a tile."""
    rng, world = scope.rng, scope.world
    tile = initialised_tile(scope, shape_of(scope), scopes=("shared",))
    candidates = [axis for axis, size in enumerate(tile.shape) if world.size(size) > 1]
    if not candidates or tile.name in scope.room:
        return
    axis = rng.choice(candidates)
    names = tuple(f"p{number}" for number in range(len(tile.shape)))
    sizes: list[Expr] = [Name(size) for size in tile.shape]
    half: Expr = Op("//", (sizes[axis], Num(2)))
    low: list[Expr]
    high: list[Expr]
    low, high = [*map(Name, names)], [*map(Name, names)]
    if rng.random() < 0.5:
        low[axis], high[axis] = Op("*", (low[axis], Num(2))), plus(Op("*", (high[axis], Num(2))), Num(1))
    else:
        high[axis] = plus(high[axis], half)
    sizes[axis] = half
    low_element, high_element = Load(tile.name, tuple(low)), Load(tile.name, tuple(high))
    smooth = is_float(tile.dtype) and not world.exact
    name = world.fresh("x")
    swap: tuple[Statement, ...] = (
        Let(name, low_element),
        Assign(low_element, high_element),
        Assign(high_element, Name(name)),
    )
    kind = rng.random()
    if kind < 0.35 and tile.dtype != "bool" and not smooth:
        swap = (If(Op(rng.choice((">", "<")), (low_element, high_element)), swap),)
    elif kind < 0.6:
        second = world.fresh("x")
        swap = (
            Let(name, low_element),
            Let(second, high_element),
            Assign(low_element, Name(second)),
            Assign(high_element, Name(name)),
        )
    scope.emit(Loop("Parallel", names, tuple(sizes), swap))


def every_second_element(scope: Scope) -> None:
    """Every second element of a tile gets a value of its neighbour."""
    rng, world = scope.rng, scope.world
    tile = initialised_tile(scope, shape_of(scope), scopes=("shared",))
    if tile.name in scope.room:
        return
    axis = rng.randrange(len(tile.shape))
    nest = Nest(scope, tile.shape)
    nest.busy.add(tile.name)
    index = list(nest.index(tile.shape))
    at = index[axis]
    is_second: Expr = Op("==", (Op("%", (at, Num(2))), Num(rng.randint(0, 1))))
    if rng.random() < 0.5:
        inside: Expr = Op(">", (at, Num(0)))
        index[axis] = Op("-", (at, Num(1)))
    else:
        inside = Op("<", (Op("+", (at, Num(1))), Name(tile.shape[axis])))
        index[axis] = Op("+", (at, Num(1)))
    smooth = is_float(tile.dtype) and not world.exact
    beside = Value(Load(tile.name, tuple(index)), tile.dtype, tile.cap, smooth)
    element = nest.target_element(tile)
    if rng.random() < 0.5:
        nest.extra = [beside, element] * 3
    maker = nest.maker()
    value = maker.stored(tile.dtype, tile.cap, nest.depth) if nest.extra else beside
    scope.emit(nest.loop(If(Op("and", (inside, is_second)), (Assign(element.expr, value.expr),))))  # type: ignore[arg-type]
