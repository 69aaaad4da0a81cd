"""Random loops and conditions around statements, which are the same for all threads of a block."""

from __future__ import annotations

from tilecore.testing.fuzz.expressions import index_value
from tilecore.testing.fuzz.outputs import store_unread
from tilecore.testing.fuzz.program import Alloc, Buffer, Expr, If, Leave, Loop, Name, Num, Op, Statement, While
from tilecore.testing.fuzz.scope import Axis, Scope


def k_axis(name: str) -> Axis:
    return Axis("BK", "K", Op("*", (Name(name), Name("BK"))))


def k_trips(scope: Scope) -> int:
    return -(-scope.world.size("K") // scope.world.size("BK"))


def store_loop_results(below: Scope) -> None:
    """Store results at the end of a loop's body: those in buffers that are allocated in it, and sometimes all."""
    top_names = {s.buffer.name for s in below.top if isinstance(s, Alloc)}
    inner_names = {tile.name for tile in below.tiles} - top_names
    store_unread(below, None if below.rng.random() < 0.3 else inner_names)


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
        store_loop_results(below)
    emit_loop(scope, kind, name, (Op("ceildiv", (Name("K"), Name("BK"))),), below.body)


def emit_loop(scope: Scope, kind: str, name: str, extents: tuple[Expr, ...], body: list[Statement]) -> None:
    if not body:
        return
    if kind != "Pipelined":
        scope.emit(Loop(kind, (name,), extents, tuple(body)))
        return
    stages = scope.rng.choice((0, 1, 2, 2, 3, 4, 7))
    scope.emit(Loop(kind, (name,), extents, tuple(body), stages, random_schedule(scope, len(body))))


def random_schedule(scope: Scope, count: int) -> tuple[tuple[int, ...], ...]:
    """Sometimes a schedule: the order of the statements, and the stage of each."""
    if scope.rng.random() > 0.12:
        return ()
    return tuple(scope.rng.sample(range(count), count)), tuple(scope.rng.randint(0, 2) for _ in range(count))


def counted_loop(scope: Scope) -> None:
    """A loop of a few iterations: their number is a constant or an argument, and they start at 0 or later."""
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
            add_jump(below, Name(name))
        store_loop_results(below)
    certain = not any(isinstance(statement, Leave) for statement in below.body)
    if not certain:
        scope.ready -= below.late
    emit_loop(scope, kind, name, extents, below.body)


def add_jump(below: Scope, name: Name) -> None:
    """A break or continue on a condition of the loop variable, and some statements after it."""
    before = set(below.ready)
    test = Op(below.rng.choice(("==", ">=", "<")), (name, Num(below.rng.randint(0, 4))))
    below.emit(Leave(below.rng.choice(("break", "continue")), test))
    below.several(below.rng.randint(1, 2))
    below.late |= below.ready - before


def while_loop(scope: Scope) -> None:
    """The statement ``while``, which counts up to a constant or an argument."""
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
        store_loop_results(below)
    if below.body:
        scope.emit(Alloc(Buffer(name, (), "int32", "var", trips), Num(0)), While(name, most, tuple(below.body)))


def condition(scope: Scope) -> None:
    """An ``if`` on the block's index, a loop variable or an argument, which are the same for all threads of a block."""
    if scope.depth > 2 or not scope.uniform:
        return
    rng = scope.rng
    test = _test(scope)
    with scope.inner(certain=False) as then:
        then.several(rng.randint(1, 2))
        store_unread(then)
    if not then.body:
        return
    orelse: tuple[Statement, ...] = ()
    if rng.random() < 0.4:
        with scope.inner(certain=False) as other:
            other.several(rng.randint(1, 2))
            store_unread(other)
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
