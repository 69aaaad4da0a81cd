"""Random loops and conditions around statements, which all threads of a block see alike."""

from __future__ import annotations

from tilecore.testing.fuzz.expressions import index_value
from tilecore.testing.fuzz.outputs import flush
from tilecore.testing.fuzz.program import Alloc, Buffer, Expr, If, Leave, Loop, Name, Num, Op, Statement, While
from tilecore.testing.fuzz.scope import Axis, Scope


def k_axis(name: str) -> Axis:
    return Axis("BK", "K", Op("*", (Name(name), Name("BK"))))


def k_trips(scope: Scope) -> int:
    return -(-scope.world.size("K") // scope.world.size("BK"))


def leave(below: Scope) -> None:
    """At the end of a loop: what lives on may be read later, the rest leaves now, and sometimes all does."""
    top_names = {s.buffer.name for s in below.top if isinstance(s, Alloc)}
    inner_names = {tile.name for tile in below.tiles} - top_names
    flush(below, None if below.rng.random() < 0.3 else inner_names)


def k_loop(scope: Scope) -> None:
    """A loop over the tiles along K."""
    if "BK" not in scope.axes or scope.axes["BK"].base != Num(0) or scope.depth > 1:
        return
    trips = k_trips(scope)
    kind = scope.rng.choice(("Pipelined", "Pipelined", "serial", "unroll"))
    name = scope.world.fresh("k")
    with scope.inner(trips, axis=k_axis(name)) as below:
        below.uniform.append(index_value(name, trips))
        below.several(scope.rng.randint(1, 4))
        leave(below)
    emit_loop(scope, kind, name, (Op("ceildiv", (Name("K"), Name("BK"))),), below.body)


def emit_loop(scope: Scope, kind: str, name: str, extents: tuple[Expr, ...], body: list[Statement]) -> None:
    if not body:
        return
    if kind != "Pipelined":
        scope.emit(Loop(kind, (name,), extents, tuple(body)))
        return
    stages = scope.rng.choice((0, 1, 2, 2, 3, 4, 7))
    scope.emit(Loop(kind, (name,), extents, tuple(body), stages, a_schedule(scope, len(body))))


def a_schedule(scope: Scope, count: int) -> tuple[tuple[int, ...], ...]:
    """Sometimes: the order of the statements, and the stage of each."""
    if scope.rng.random() > 0.12:
        return ()
    return tuple(scope.rng.sample(range(count), count)), tuple(scope.rng.randint(0, 2) for _ in range(count))


def counted_loop(scope: Scope) -> None:
    """A few steps, by a number that is written out or given at the call, from 0 or later on."""
    if scope.depth > 1:
        return
    rng = scope.rng
    trips = rng.randint(1, 3)
    kind = rng.choice(("Pipelined", "serial", "serial", "unroll"))
    name = scope.world.fresh("t")
    draw = rng.random()
    is_argument = draw < 0.25
    extents: tuple[Expr, ...] = (Num(trips),)
    first = rng.randint(1, 3) if 0.25 < draw < 0.45 else 0
    if is_argument:
        trips, extents = 3, (Name(scope.scalar("int32", 3).name),)
        kind = "serial" if kind == "unroll" else kind
    elif first:
        extents = (Num(first), Num(first + trips))
        if kind != "Pipelined" and rng.random() < 0.4:
            extents = (Num(first + 2 * trips), Num(first), Num(-2))
    with scope.inner(trips, certain=not is_argument) as below:
        value = index_value(name, first + 2 * trips)
        below.uniform.append(value)
        below.several(rng.randint(1, 3))
        if kind == "serial" and rng.random() < 0.2:
            leaves_early(below, Name(name))
        leave(below)
    certain = not any(isinstance(statement, Leave) for statement in below.body)
    if not certain:
        scope.ready -= below.late
    emit_loop(scope, kind, name, extents, below.body)


def leaves_early(below: Scope, name: Name) -> None:
    """A break or continue on a loop variable, and some statements that come only without it."""
    before = set(below.ready)
    test = Op(below.rng.choice(("==", ">=", "<")), (name, Num(below.rng.randint(0, 4))))
    below.emit(Leave(below.rng.choice(("break", "continue")), test))
    below.several(below.rng.randint(1, 2))
    below.late |= below.ready - before


def while_loop(scope: Scope) -> None:
    """The statement ``while``, counting up to a number that is written out or given at the call."""
    if scope.depth > 1:
        return
    rng, world = scope.rng, scope.world
    is_argument = rng.random() < 0.6
    trips = 3 if is_argument else rng.randint(1, 3)
    most: Expr = Name(scope.scalar("int32", 3).name) if is_argument else Num(trips)
    name = world.fresh("w")
    with scope.inner(trips, certain=not is_argument) as below:
        below.uniform.append(index_value(name, trips))
        below.several(rng.randint(1, 3))
        leave(below)
    if below.body:
        scope.emit(Alloc(Buffer(name, (), "int32", "var", trips), Num(0)), While(name, most, tuple(below.body)))


def condition(scope: Scope) -> None:
    """By the block's index, a loop's variable or a number given at the call, which all threads of a block see alike."""
    if scope.depth > 2 or not scope.uniform:
        return
    rng = scope.rng
    test = _test(scope)
    with scope.inner(certain=False) as then:
        then.several(rng.randint(1, 2))
        flush(then)
    if not then.body:
        return
    orelse: tuple[Statement, ...] = ()
    if rng.random() < 0.4:
        with scope.inner(certain=False) as other:
            other.several(rng.randint(1, 2))
            flush(other)
        orelse = tuple(other.body)
    scope.emit(If(test, tuple(then.body), orelse))


def _test(scope: Scope) -> Expr:
    rng = scope.rng
    if rng.random() < 0.15 and "bool" in scope.world.allowed:
        flag: Expr = Name(scope.scalar("bool", 1).name)
        return Op("not", (flag,)) if rng.random() < 0.4 else flag
    value = rng.choice(scope.uniform)
    if rng.random() < 0.2:
        value = index_value(scope.scalar("int32", 3).name, 3)
    test: Expr = Op(rng.choice(("<", ">=", "==")), (value.expr, Num(rng.randint(0, 2))))
    if rng.random() < 0.3:
        test = Op("==", (Op("%", (value.expr, Num(2))), Num(rng.randint(0, 1))))
    return test
