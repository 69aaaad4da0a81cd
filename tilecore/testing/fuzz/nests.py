"""Makes random T.Parallel nests: what each iteration reads, computes and writes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tilecore.dtypes import FACTS
from tilecore.testing.fuzz.expressions import Expressions, Leaf, Value, index_value, plus
from tilecore.testing.fuzz.program import Alloc, Assign, Buffer, Expr, If, Let, Load, Loop, Name, Num, Op, Statement
from tilecore.testing.fuzz.types import is_float, is_integer, limit

if TYPE_CHECKING:
    from tilecore.testing.fuzz.scope import Scope

VARIABLES = ("i", "j", "l", "m")


class Nest:
    """A T.Parallel over tile sizes, under construction. names: size to loop variable."""

    def __init__(self, scope: Scope, shape: tuple[str, ...]) -> None:
        self.scope = scope
        self.shape = shape
        self.names = dict(zip(shape, VARIABLES, strict=False))
        self.depth = scope.rng.choice((0, 1, 1, 2, 2, 3))
        self.busy: set[str] = set()  # tiles that the nest writes, of which an iteration reads only its own element
        self.extra: list[Value] = []
        self.lets: list[Statement] = []

    def index(self, shape: tuple[str, ...]) -> tuple[Expr, ...]:
        return tuple(Name(self.names[name]) for name in shape)

    def loop(self, *body: Statement) -> Loop:
        """The loop around its statements; sometimes the last axes are loops of each iteration."""
        rng = self.scope.rng
        body = (*self.lets, *body)
        count = len(self.shape)
        outer = rng.randint(1, count - 1) if count > 1 and rng.random() < 0.18 else count
        names, sizes = tuple(self.names.values()), tuple(Name(name) for name in self.shape)
        inner = ("vectorized", "vectorized", "serial", "unroll") if count - outer == 1 else ("grid",)
        if outer < count:
            body = (Loop(rng.choice(inner), names[outer:], sizes[outer:], body),)
        return Loop("Parallel", names[:outer], sizes[:outer], body)

    def let(self) -> None:
        """Binds a value to a name, which expressions use."""
        scope = self.scope
        value = self.maker().of_type(scope.world.dtype(), self.depth)
        if isinstance(value.expr, (Name, Num)):
            return
        name = scope.world.fresh("x")
        self.lets.append(Let(name, value.expr))
        self.extra += [replace(value, expr=Name(name))] * 2

    def maker(self) -> Expressions:
        """A maker of expressions over the values that an iteration may read."""
        leaves: list[tuple[float, Leaf]] = [(1, self.constant), (1, self.number), (0.4, self.call_argument)]
        leaves.extend((1.0, lambda v=value: v) for value in self.extra)  # type: ignore[misc]
        tiles = [t for t in self.scope.initialised() if set(t.shape) <= set(self.shape) and t.name not in self.busy]
        leaves.extend((2.0, lambda t=tile: self.element(t)) for tile in tiles)  # type: ignore[misc]
        leaves.append((1.0 if tiles else 3.0, self.from_tensor))
        world = self.scope.world
        self.expressions = Expressions(self.scope.rng, world.exact, leaves, world.special)
        return self.expressions

    # -- leaves --------------------------------------------------------------------------------------------------

    def constant(self) -> Value:
        return self.expressions.constant(self.scope.world.dtype())

    def number(self) -> Value:
        """An index: of the iteration, of the block, of a loop, or of the element in the tensor."""
        rng = self.scope.rng
        kind = rng.random()
        if kind < 0.4 and self.scope.uniform:
            return rng.choice(self.scope.uniform)
        size = rng.choice(self.shape)
        if kind < 0.7:
            return index_value(self.names[size], self.scope.world.size(size))
        return Value(plus(self.scope.place(size)[1], Name(self.names[size])), "int32", 4096)

    def call_argument(self) -> Value:
        """A scalar argument of the call."""
        scope, dtype = self.scope, self.scope.world.dtype()
        dtype = dtype if FACTS[dtype].bits > 8 or FACTS[dtype].kind == "bool" else "int32"
        number = scope.scalar(dtype, scope.world.cap(dtype) if is_float(dtype) else 100.0)
        return Value(Name(number.name), dtype, number.cap, is_float(dtype) and not scope.world.exact)

    def element(self, tile: Buffer) -> Value:
        """An element of a tile on chip: this iteration's, or sometimes a neighbour's."""
        rng = self.scope.rng
        index = list(self.index(tile.shape))
        smooth = is_float(tile.dtype) and not self.scope.world.exact
        kind = rng.random() if tile.scope == "shared" else rng.random() * 0.74
        if kind < 0.7:
            return Value(Load(tile.name, tuple(index)), tile.dtype, tile.cap, smooth)
        axis = rng.randrange(len(index))
        size, at = Name(tile.shape[axis]), index[axis]
        if kind < 0.8:
            step = rng.choice((1, 2))
            index[axis] = Op("-", (at, Num(step)))
            load = Op("cast", (Load(tile.name, tuple(index)),), tile.dtype)
            guarded = Op("if_then_else", (Op(">=", (at, Num(step))), load, Op("cast", (Num(0),), tile.dtype)))
            return Value(guarded, tile.dtype, tile.cap, smooth)
        if kind < 0.87:
            index[axis] = Op("-", (Op("-", (size, Num(1))), at))
        elif kind < 0.94:
            index[axis] = Op("%", (Op("+", (at, Num(rng.choice((1, 3))))), size))
        else:
            index[axis] = Op("%", (Op("cast", (self.any_integer(),), "int32"), size))
        return Value(Load(tile.name, tuple(index)), tile.dtype, tile.cap, smooth)

    def any_integer(self) -> Expr:
        """An integer for an index: computed from a loop variable, or an element of a tile of integers."""
        tiles = [
            t
            for t in self.scope.initialised(scopes=("shared",))
            if is_integer(t.dtype) and set(t.shape) <= set(self.shape)
        ]
        tiles = [t for t in tiles if t.name not in self.busy]
        if tiles and self.scope.rng.random() < 0.7:
            tile = self.scope.rng.choice(tiles)
            return Load(tile.name, self.index(tile.shape))
        return Op("+", (Op("*", (Name(self.names[self.shape[0]]), Num(5))), Num(3)))

    def from_tensor(self) -> Value:
        """An element of a tensor in global memory; sometimes outside of it, where reads give 0."""
        rng, scope = self.scope.rng, self.scope
        picked = rng.sample(self.shape, rng.randint(1, len(self.shape))) if rng.random() < 0.3 else self.shape
        tensor = scope.tensor(tuple(picked), scope.world.dtype())
        index = [plus(scope.place(size)[1], Name(self.names[size])) for size in picked]
        kind = rng.random()
        axis = rng.randrange(len(index))
        if kind < 0.15:
            index[axis] = Op("+", (index[axis], Num(rng.choice((1, 2, 5)))))
        elif kind < 0.25:
            index[axis] = Op("-", (index[axis], Num(1)))
        elif kind < 0.3:
            index[axis] = Op("*", (index[axis], Num(2)))
        smooth = is_float(tensor.dtype) and not scope.world.exact
        return Value(Load(tensor.name, tuple(index)), tensor.dtype, tensor.cap, smooth)

    # -- what an iteration does ----------------------------------------------------------------------------------

    def stores(self, targets: list[Buffer]) -> list[Statement]:
        """One store to each target, to the element that belongs to the iteration."""
        body: list[Statement] = []
        self.busy |= {target.name for target in targets}
        if self.scope.rng.random() < 0.2:
            self.let()
        self.extra += [self.target_element(target) for target in targets if target.name in self.scope.ready]
        for target in targets:
            value = self.maker().stored(target.dtype, target.cap, self.depth)
            body.append(Assign(self.target_element(target).expr, value.expr))  # type: ignore[arg-type]
            if target.name not in self.scope.ready:
                self.extra.append(self.target_element(target))
        return body

    def target_element(self, target: Buffer) -> Value:
        """The iteration's element of a tile that the nest writes."""
        smooth = is_float(target.dtype) and not self.scope.world.exact
        return Value(Load(target.name, self.index(target.shape)), target.dtype, target.cap, smooth)

    def conditional(self, target: Buffer) -> list[Statement]:
        """A conditional store to a tile that holds values."""
        self.busy.add(target.name)
        self.extra.append(self.target_element(target))
        maker = self.maker()
        condition = maker.condition(self.depth)
        element = Load(target.name, self.index(target.shape))
        then = Assign(element, maker.stored(target.dtype, target.cap, self.depth).expr)
        orelse: tuple[Statement, ...] = ()
        if self.scope.rng.random() < 0.4:
            orelse = (Assign(element, maker.stored(target.dtype, target.cap, self.depth).expr),)
        return [If(condition.expr, (then,), orelse)]

    def summed(self, target: Buffer) -> list[Statement] | None:
        """A sum over a serial loop in each iteration, accumulated in a T.alloc_var."""
        scope, rng = self.scope, self.scope.rng
        others = [t for t in scope.initialised(scopes=("shared",)) if set(t.shape) - set(self.shape)]
        others = [t for t in others if len(set(t.shape) - set(self.shape)) == 1 and t.name != target.name]
        if not others:
            return None
        source = rng.choice(others)
        (size,) = set(source.shape) - set(self.shape)
        trips = scope.world.size(size)
        total_type = "float32" if is_float(source.dtype) and source.dtype != "float64" else source.dtype
        total_type = "int32" if total_type == "bool" else total_type
        if is_float(total_type) and scope.world.special:
            return None
        if is_float(total_type) and (source.cap * trips > limit(total_type) / 2 or not is_float(target.dtype)):
            return None
        name = scope.world.fresh("v")
        total = Buffer(name, (), total_type, "var", source.cap * trips)
        index = tuple(Name("r") if s == size else Name(self.names[s]) for s in source.shape)
        add = Assign(Name(name), Load(source.name, index), "+=")
        loop = Loop(rng.choice(("serial", "unroll")), ("r",), (Name(size),), (add,))
        self.busy.add(target.name)
        maker = self.maker()
        smooth = is_float(total_type) and not scope.world.exact
        bound = total.cap if is_float(total_type) else limit(total_type)
        value = maker.fitting(Value(Name(name), total_type, bound, smooth), target.dtype, target.cap)
        zero = Op("cast", (Num(0),), total_type)
        store = Assign(Load(target.name, self.index(target.shape)), value.expr)
        return [Alloc(total, zero), loop, store]
