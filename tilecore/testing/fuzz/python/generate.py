"""Generates random bodies of statements: names, memory, tuples, containers, closures, conditions and loops.

Values stay small, so that no integer of the kernel wraps. Code that the kernel refuses is not generated: a name or a
container changes only in the block that defined it, or in loops that Python runs; what an inner block of the kernel
defines is used only there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tilecore.testing.fuzz.python.expressions import Expressions
from tilecore.testing.fuzz.python.scope import Block, Scope

CELLS = 6  # elements of the local memory
WIDTH = 8  # elements of X and of the shared memory that an iteration has for itself


@dataclass
class Body:
    """A body of statements. seed: from which it was generated. parallel: whether four iterations of T.Parallel run it.
    lines: its statements."""

    seed: int
    parallel: bool
    lines: list[Line] = field(default_factory=list)


@dataclass
class Line:
    """A simple statement, or the head of a compound one with its body."""

    text: str
    body: list[Line] | None = None


def generate(seed: int) -> Body:
    """The body of a seed, always the same."""
    maker = _Maker(random.Random(seed))
    return Body(seed, maker.random.random() < 0.4, maker.all())


class _Maker:
    def __init__(self, source: random.Random) -> None:
        self.random = source
        self.scope = Scope()
        self.value = Expressions(source, self.scope)
        self.left = 18  # statements that may still be made

    def all(self) -> list[Line]:
        lines = [Line(f"{name} = var({self.random.randint(-9, 9)})") for name in ("a", "b", "c")]
        lines.append(Line(f"slots = [var({self.random.randint(0, 9)}) for _ in (0, 1, 2)]"))
        lines += self._functions()
        with self.scope.block(Block(by_kernel=False)):
            while self.left > 0:
                lines += self.statement(0)
        return lines

    def _functions(self) -> list[Line]:
        """Nested functions that read and change variables of the enclosing function."""
        e, lines = self.value, []
        if self.random.random() < 0.6:
            lines.append(Line(f"read_later = lambda p: small(p + {self._variable()})"))
            self.scope.functions.append(("read_later", 1, 1))
        if self.random.random() < 0.5:
            default = e.leaf()
            lines.append(Line(f"def keeps(p, q={default}):", [Line(f"return small(p - q + {self._variable()})")]))
            self.scope.functions.append(("keeps", 1, 1))
        if self.random.random() < 0.5:
            decorated = self.random.random() < 0.5
            if decorated:
                lines.append(Line("@macro"))
            name = self._variable()
            body = [Line("old = p"), Line("p = small(p + 1)"), Line("q = p - q"), Line("return q, old")]
            if self.random.random() < 0.5 and not decorated:
                body[:0] = [Line(f"nonlocal {name}"), Line(f"{name} = small({name} + q)")]
            lines.append(Line("def pair(p, q):", body))
            self.scope.functions.append(("pair", 2, 2))
        if self.random.random() < 0.5:
            name = self._variable()
            body = [Line(f"nonlocal {name}"), Line(f"{name} = small({name} + 3)"), Line(f"return {name}")]
            lines.append(Line("def bump():", body))
            self.scope.functions.append(("bump", 0, 1))
        return lines

    def _variable(self) -> str:
        return self.random.choice("abc")

    # -- statements ------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> list[Line]:
        self.left -= 1
        makers: list[tuple[Callable[..., list[Line]], int]] = [
            (self.assign, 6),
            (self.swap, 4),
            (self.chain, 2),
            (self.update, 4),
            (self.bind, 4),
            (self.container, 4),
            (self.change_container, 4),
            (self.unpack, 3),
            (self.python_name, 2),
            (self.walrus, 1),
        ]
        if depth < 3:
            makers += [(self.branch, 4), (self.loop, 3), (self.unrolled, 3), (self.while_, 2), (self.decided, 2)]
        chosen = self.random.choices([m for m, _ in makers], [w for _, w in makers])[0]
        return chosen() if chosen.__func__ in _SIMPLE else chosen(depth)  # type: ignore[attr-defined]

    def block(self, depth: int, by_kernel: bool, jumps: bool = False) -> list[Line]:
        lines: list[Line] = []
        with self.scope.block(Block(by_kernel)):
            for _ in range(self.random.randint(1, 3)):
                lines += self.statement(depth + 1)
            if jumps and self.random.random() < 0.4:
                jump = self.random.choice(("break", "continue"))
                places = [at for at in range(len(lines)) if not lines[at].text.startswith(("else", "elif"))]
                at = self.random.choice([*places, len(lines)])
                with_condition = Line(f"if {self.value.condition_of_variables()}:", [Line(jump)])
                lines.insert(at, with_condition)
        return lines

    def target(self) -> str:
        """A target of an assignment to memory of the kernel."""
        return self.random.choice(
            [
                self._variable(),
                self._variable(),
                self.value.cell(),
                self.value.cell(),
                f"slots[{self.random.randrange(3)}]",
            ]
        )

    def assign(self) -> list[Line]:
        return [Line(f"{self.target()} = {self.value.small()}")]

    def swap(self) -> list[Line]:
        count = self.random.choice((2, 2, 3))
        targets = [self.target() for _ in range(count)]
        values = [self.value.leaf() if self.random.random() < 0.6 else self.value.small() for _ in targets]
        if self.random.random() < 0.5:
            values = targets[1:] + targets[:1]
        if self.random.random() < 0.15:
            targets = [f"({targets[0]}, {targets[1]})", *targets[2:]]
            values = [f"({values[0]}, {values[1]})", *values[2:]]
            if len(targets) == 1:
                targets, values = [f"{targets[0]},"], [f"{values[0]},"]
        return [Line(f"{', '.join(targets)} = {', '.join(values)}")]

    def chain(self) -> list[Line]:
        return [Line(f"{self.target()} = {self.target()} = {self.value.small()}")]

    def update(self) -> list[Line]:
        return [Line(f"{self.target()} {self.random.choice(('+=', '-='))} {self.value.small()}")]

    def bind(self) -> list[Line]:
        text = self.value.small()
        return [Line(f"{self.scope.new_value()} = {text}")]

    def walrus(self) -> list[Line]:
        inner = self.value.small()
        target = self.target()
        other = self.value.leaf()
        name = self.scope.new_value()
        return [Line(f"{target} = small(({name} := {inner}) + {other} - {name})")]

    def python_name(self) -> list[Line]:
        """An assignment to a name that holds a Python number."""
        numbers = self.scope.own_numbers()
        if numbers and self.random.random() < 0.6:
            name = self.random.choice(numbers)
            return [Line(f"{name} = ({name} * 3 + {self.random.randint(0, 5)}) % 7")]
        return [Line(f"{self.scope.new_number()} = {self.random.randint(0, 6)}")]

    def container(self) -> list[Line]:
        e, kind = self.value, self.random.randrange(5)
        if kind == 0:
            parts = [e.small() for _ in range(self.random.randint(2, 4))]
            return [Line(f"{self.scope.new_list(len(parts))} = [{', '.join(parts)}]")]
        if kind == 1:
            parts = [e.leaf() for _ in range(3)]
            return [Line(f"{self.scope.new_list(3, fixed=True)} = ({', '.join(parts)})")]
        if kind == 2:
            text = e.small(("k",))
            return [Line(f"{self.scope.new_list(3)} = [{text} for k in (0, 1, 2)]")]
        if kind == 3:
            x_value, y_value = e.small(), e.leaf()
            return [Line(f"{self.scope.new_dict()} = {{'x': {x_value}, 'y': {y_value}}}")]
        text = e.small(("k",))
        return [Line(f"{self.scope.new_list(2)} = list({{k: {text} for k in (3, 5)}}.values())")]

    def change_container(self) -> list[Line]:
        lists, dicts = self.scope.own_lists(), self.scope.own_dicts()
        if dicts and self.random.random() < 0.4:
            name, key = self.random.choice(dicts), self.random.choice("xy")
            sign = self.random.choice(("=", "+="))
            text = self.value.small()
            return [
                Line(
                    f"{name}['{key}'] {sign} {text}"
                    if sign == "="
                    else f"{name}['{key}'] = small({name}['{key}'] + {text})"
                )
            ]
        if not lists:
            return self.container()
        name, size = self.random.choice(lists)
        kind = self.random.randrange(4)
        if kind == 0:
            text = self.value.small()
            self.scope.grow(name)
            return [Line(f"{name}.append({text})")]
        if kind == 1:
            at = self.random.randrange(size)
            return [Line(f"{name}[{at}] = {self.value.small()}")]
        if kind == 2:
            i, j = self.random.randrange(size), self.random.randrange(size)
            return [Line(f"{name}[{i}], {name}[{j}] = {name}[{j}], {name}[{i}]")]
        return [Line(f"{name}.reverse()")]

    def unpack(self) -> list[Line]:
        pairs = [(name, size) for name, size in self.scope.lists() if size >= 2]
        calls = [(name, count) for name, count, results in self.scope.functions if results == 2]
        if calls and self.random.random() < 0.5:
            name, count = self.random.choice(calls)
            arguments = ", ".join(self.value.leaf() for _ in range(count))
            return [Line(f"{self.target()}, {self.target()} = {name}({arguments})")]
        if not pairs:
            return self.swap()
        name, size = self.random.choice(pairs)
        if self.random.random() < 0.5:
            first, rest = self.scope.new_value(), self.scope.new_list(size - 1)
            return [Line(f"{first}, *{rest} = {name}")]
        return [Line(f"{self.target()}, *_ = {name}")]

    # -- compound --------------------------------------------------------------------------------------------

    def branch(self, depth: int) -> list[Line]:
        lines = [Line(f"if {self.value.condition()}:", self.block(depth, by_kernel=True))]
        if self.random.random() < 0.3:
            lines.append(Line(f"elif {self.value.condition()}:", self.block(depth, by_kernel=True)))
        if self.random.random() < 0.6:
            lines.append(Line("else:", self.block(depth, by_kernel=True)))
        return lines

    def decided(self, depth: int) -> list[Line]:
        """An `if` that Python decides."""
        numbers = self.scope.numbers()
        test = f"{self.random.choice(numbers)} % 2 == {self.random.randint(0, 1)}" if numbers else "len(slots) == 3"
        # names that such a block defines may be undefined after it
        lines = [Line(f"if {test}:", self.block(depth, by_kernel=False))]
        return [*lines, Line("else:", self.block(depth, by_kernel=False))]

    def loop(self, depth: int) -> list[Line]:
        name = self.scope.new_index()
        count = self.random.choice(("2", "3", "4", f"1, {self.random.randint(2, 5)}"))
        with self.scope.indices(name):
            return [Line(f"for {name} in range({count}):", self.block(depth, by_kernel=True, jumps=True))]

    def unrolled(self, depth: int) -> list[Line]:
        if self.random.random() < 0.4 and self.scope.lists():
            listed, _ = self.random.choice(self.scope.lists())
            value = f"v{self.scope.count()}"
            with self.scope.values_in(value):
                return [Line(f"for {value} in tuple({listed}):", self.block(depth, by_kernel=False))]
        name = f"k{self.scope.count()}"
        with self.scope.indices(name, python=True):
            return [Line(f"for {name} in (0, 2, 1):", self.block(depth, by_kernel=False))]

    def while_(self, depth: int) -> list[Line]:
        name = f"w{self.scope.count()}"
        body = [Line(f"{name} -= 1"), *self.block(depth, by_kernel=True, jumps=True)]
        if self.random.random() < 0.3:
            return [Line(f"{name} = var(4)"), Line(f"while ({name} := {name} - 1) > 0:", body[1:])]
        more = f" and {self.value.condition_of_variables()}" if self.random.random() < 0.4 else ""
        return [Line(f"{name} = var({self.random.randint(1, 4)})"), Line(f"while {name} > 0{more}:", body)]


_SIMPLE = {
    _Maker.assign,
    _Maker.swap,
    _Maker.chain,
    _Maker.update,
    _Maker.bind,
    _Maker.walrus,
    _Maker.python_name,
    _Maker.container,
    _Maker.change_container,
    _Maker.unpack,
}
