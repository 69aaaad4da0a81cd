"""Makes random bodies of iterations: several statements that read what others of them write.

There are names for values that change afterwards, conditions on values that their branches write, variables of an
iteration, inner loops, elements at computed indices, and first writes that only some iterations execute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tilecore.testing.fuzz.expressions import Value
from tilecore.testing.fuzz.program import Alloc, Assign, Buffer, Expr, If, Let, Load, Loop, Name, Num, Op, Statement
from tilecore.testing.fuzz.types import is_float, is_integer

if TYPE_CHECKING:
    from tilecore.testing.fuzz.nests import Nest

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class BodyMaker:
    """Makes the body of a nest's iterations.

    targets: the tiles of which each iteration writes its own element. written: those whose element holds a value at
    this point. names: the named values. numbers: the variables (T.alloc_var) of an iteration. tensor: an element of a
    tensor that the iteration reads and writes.
    """

    def __init__(self, nest: Nest, targets: list[Buffer], tensor: Value | None = None) -> None:
        self.nest = nest
        self.scope, self.rng = nest.scope, nest.scope.rng
        self.tensor = tensor
        self.targets = {target.name: target for target in targets}
        self.written = {name for name in self.targets if name in self.scope.ready}
        self.names: list[Value] = []
        self.numbers: dict[str, Buffer] = {}
        nest.busy |= set(self.targets)

    def statements(self, count: int, depth: int = 0) -> list[Statement]:
        """Random statements. depth: the number of conditions and loops around them."""
        kinds: list[tuple[float, Callable[[int], list[Statement]]]] = [
            (4, self.store), (2, self.name), (2, self.swap), (1.5, self.look_up), (1.5, self.shifted), (1, self.number),
        ]  # fmt: skip
        if depth < 2:
            kinds += [(4, self.condition), (0.7, self.loop)]
        statements: list[Statement] = []
        for _ in range(count):
            (kind,) = self.rng.choices([k for _, k in kinds], [w for w, _ in kinds])
            statements += kind(depth)
        return statements

    # -- values --------------------------------------------------------------------------------------------------

    def target_element(self, target: Buffer) -> Value:
        smooth = is_float(target.dtype) and not self.scope.world.exact
        if target.scope == "var":
            return Value(Name(target.name), target.dtype, target.cap, smooth)
        return self.nest.target_element(target)

    def readable(self) -> list[Value]:
        """The values that the iteration can read: its elements, its variables, and named values."""
        values = [self.target_element(self.targets[name]) for name in sorted(self.written)]
        values += [self.target_element(number) for number in self.numbers.values()]
        return [*values, *self.names, *([self.tensor] if self.tensor else [])]

    def value(self, target: Buffer) -> Expr:
        """A random value to store to an element of a target."""
        self.nest.extra = self.readable() * 2
        return self.nest.maker().stored(target.dtype, target.cap, self.nest.depth).expr

    def test(self) -> Expr:
        """A condition, mostly on a value of the iteration."""
        self.nest.extra = self.readable() * 2
        maker = self.nest.maker()
        candidates = [value for value in self.readable() if not value.smooth]
        if not candidates or self.rng.random() < 0.35:
            return maker.condition(max(1, self.nest.depth)).expr
        value = self.rng.choice(candidates)
        if value.dtype == "bool":
            return value.expr
        return Op(self.rng.choice(_COMPARISONS), (value.expr, maker.constant(value.dtype).expr))

    # -- statements ----------------------------------------------------------------------------------------------

    def store(self, depth: int) -> list[Statement]:
        choices = [*self.targets.values(), *self.numbers.values()]
        target = self.rng.choice(choices)
        if self.tensor is not None and self.rng.random() < 0.4:
            return [self.store_to_tensor()]
        statement = Assign(self.target_element(target).expr, self.value(target))  # type: ignore[arg-type]
        if target.scope != "var":
            self.written.add(target.name)
        return [statement]

    def store_to_tensor(self) -> Statement:
        assert self.tensor is not None
        self.nest.extra = self.readable() * 2
        value = self.nest.maker().stored(self.tensor.dtype, self.tensor.bound, self.nest.depth)
        return Assign(self.tensor.expr, value.expr)  # type: ignore[arg-type]

    def name(self, depth: int) -> list[Statement]:
        """Binds the current value of an element, a condition, or another value to a name."""
        candidates = self.readable()
        if self.rng.random() < 0.25:
            value = Value(self.test(), "bool", 1)
        elif candidates and self.rng.random() < 0.7:
            value = self.rng.choice(candidates)
        else:
            self.nest.extra = candidates * 2
            value = self.nest.maker().of_type(self.scope.world.dtype(), self.nest.depth)
        if isinstance(value.expr, Num):
            return []
        name = self.scope.world.fresh("x")
        self.names.append(Value(Name(name), value.dtype, value.bound, value.smooth))
        return [Let(name, value.expr)]

    def swap(self, depth: int) -> list[Statement]:
        """Swaps two elements, by way of a name."""
        candidates = [self.targets[name] for name in sorted(self.written)] + list(self.numbers.values())
        if len(candidates) < 2:
            return []
        left, right = self.rng.sample(candidates, 2)
        maker = self.nest.maker()
        name = self.scope.world.fresh("x")
        first, second = self.target_element(left), self.target_element(right)
        saved = Value(Name(name), first.dtype, first.bound, first.smooth)
        moved = maker.fitting(maker.converted(second, left.dtype), left.dtype, left.cap)
        back = maker.fitting(maker.converted(saved, right.dtype), right.dtype, right.cap)
        return [
            Let(name, first.expr),
            Assign(first.expr, moved.expr),  # type: ignore[arg-type]
            Assign(second.expr, back.expr),  # type: ignore[arg-type]
        ]

    def number(self, depth: int) -> list[Statement]:
        """A variable (T.alloc_var) of the iteration."""
        if depth or len(self.numbers) > 1:
            return []
        dtype = self.scope.world.dtype()
        if dtype in ("bool", "int4", "uint4"):
            dtype = "int32"
        if dtype not in self.scope.world.allowed:
            return []
        variable = Buffer(self.scope.world.fresh("v"), (), dtype, "var", self.scope.world.cap(dtype))
        first = self.value(variable)
        self.numbers[variable.name] = variable
        return [Alloc(variable, Op("cast", (first,), dtype))]

    def look_up(self, depth: int) -> list[Statement]:
        """Binds an element at a computed index to a name."""
        tables = [t for t in self.scope.initialised(scopes=("shared",)) if t.name not in self.nest.busy and t.shape]
        if not tables:
            return []
        table = self.rng.choice(tables)
        whole = [value.expr for value in self.readable() if is_integer(value.dtype)]
        key = self.rng.choice(whole) if whole and self.rng.random() < 0.7 else self.nest.any_integer()
        name = self.scope.world.fresh("x")
        axis = self.rng.randrange(len(table.shape))
        index = []
        for number, size in enumerate(table.shape):
            by_iteration = size in self.nest.names and number != axis
            index.append(Name(self.nest.names[size]) if by_iteration else Op("%", (Name(name), Name(size))))
        smooth = is_float(table.dtype) and not self.scope.world.exact
        seen = self.scope.world.fresh("x")
        self.names.append(Value(Name(seen), table.dtype, table.cap, smooth))
        return [Let(name, Op("cast", (key,), "int32")), Let(seen, Load(table.name, tuple(index)))]

    def shifted(self, depth: int) -> list[Statement]:
        """A guarded read of a neighbour's element of a tile."""
        tiles = [t for t in self.scope.initialised(scopes=("shared",)) if set(t.shape) <= set(self.nest.shape)]
        tiles = [t for t in tiles if t.name not in self.nest.busy and t.shape]
        if not tiles:
            return []
        source, target = self.rng.choice(tiles), self.rng.choice(list(self.targets.values()))
        axis = self.rng.randrange(len(source.shape))
        index = list(self.nest.index(source.shape))
        step, at, size = Num(self.rng.choice((1, 1, 2, 3))), index[axis], Name(source.shape[axis])
        if self.rng.random() < 0.5:
            test: Expr = Op(">=", (at, step))
            index[axis] = Op("-", (at, step))
        else:
            test = Op("<", (Op("+", (at, step)), size))
            index[axis] = Op("+", (at, step))
        if self.rng.random() < 0.3:
            test = Op("and", (test, self.test()))
        maker = self.nest.maker()
        smooth = is_float(source.dtype) and not self.scope.world.exact
        value = maker.converted(Value(Load(source.name, tuple(index)), source.dtype, source.cap, smooth), target.dtype)
        store = Assign(self.target_element(target).expr, maker.fitting(value, target.dtype, target.cap).expr)  # type: ignore[arg-type]
        return [If(test, (store,))]

    # -- statements with statements inside -------------------------------------------------------------------------

    def condition(self, depth: int) -> list[Statement]:
        statements: list[Statement] = []
        test = self.test()
        if self.rng.random() < 0.3:
            name = self.scope.world.fresh("x")
            statements.append(Let(name, test))
            test = Name(name)
        before = set(self.written)
        then = self._inside(depth)
        after, self.written = self.written, before
        orelse: tuple[Statement, ...] = ()
        if self.rng.random() < 0.5:
            before = set(self.written)
            orelse = self._inside(depth)
            self.written = before | (after & self.written)
        return [*statements, If(test, then, orelse)] if then else []

    def loop(self, depth: int) -> list[Statement]:
        body = self._inside(depth)
        kind = self.rng.choice(("serial", "serial", "unroll"))
        return [Loop(kind, (self.scope.world.fresh("r"),), (Num(self.rng.randint(1, 3)),), body)] if body else []

    def _inside(self, depth: int) -> tuple[Statement, ...]:
        names = list(self.names)
        statements = tuple(self.statements(self.rng.randint(1, 3), depth + 1))
        self.names = names
        return statements
