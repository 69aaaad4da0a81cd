"""Makes random expressions of small integers."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilecore.testing.fuzz.python.scope import Scope


class Expressions:
    """``small(x)`` brings a value back between -40 and 40 in both worlds."""

    def __init__(self, source: random.Random, scope: Scope) -> None:
        self.random = source
        self.scope = scope

    def leaf(self, numbers: tuple[str, ...] = ()) -> str:
        choices = [self.random.choice("abc"), self.cell(numbers), self.cell(numbers), str(self.random.randint(-9, 9))]
        choices.append(f"slots[{self.random.randrange(3)}]")
        for names in (self.scope.values(), self.scope.numbers(), [*self.scope.index_names, *numbers]):
            if names:
                choices += [self.random.choice(names)] * 2
        if self.scope.lists():
            name, size = self.random.choice(self.scope.lists())
            choices += [f"{name}[{self.random.randrange(size)}]"] * 3
        if self.scope.dicts():
            choices += [f"{self.random.choice(self.scope.dicts())}['{self.random.choice('xy')}']"] * 2
        return self.random.choice(choices)

    def cell(self, numbers: tuple[str, ...] = ()) -> str:
        """An element of memory."""
        small = [*self.scope.index_names, *self.scope.python_indices, *numbers]
        kinds = self.random.randrange(3)
        if kinds == 0 and small:
            index = self.random.choice(small)
        elif kinds == 1:
            index = f"({self.random.choice('abc')} % 6)"
        else:
            index = str(self.random.randrange(6))
        return self.random.choice((f"s[{index}]", f"s[{index}]", f"X[base + {index}]", f"m[base + {index}]"))

    def small(self, numbers: tuple[str, ...] = ()) -> str:
        return f"small({self.sum(numbers)})" if self.random.random() < 0.8 else self.leaf(numbers)

    def sum(self, numbers: tuple[str, ...] = ()) -> str:
        left, right = self.leaf(numbers), self.leaf(numbers)
        kind = self.random.randrange(10)
        if kind == 0:
            return f"{left} * {right}"
        if kind == 1:
            return f"{left} if {self.condition(numbers)} else {right}"
        if kind == 2:
            return f"most({left}, {right})"
        if kind == 3:
            return f"{left} // 3 + {right} % 5"
        if kind == 4 and self.scope.functions:
            calls = [(name, count) for name, count, results in self.scope.functions if results == 1]
            if calls:
                name, count = self.random.choice(calls)
                call = f"{name}({', '.join(self.leaf(numbers) for _ in range(count))})"
                return self.random.choice((f"{left} + {call}", f"{call} - {left}", f"{left} + {call} + {right}"))
        if kind == 5:
            return f"{left} * 2 - {right} + {self.leaf(numbers)}"
        if kind == 6:
            return f"({left} % 3 {self.random.choice(('and', 'or'))} {right}) + {self.leaf(numbers)}"
        return f"{left} {self.random.choice('+-')} {right}"

    def condition(self, numbers: tuple[str, ...] = ()) -> str:
        left, right = self.leaf(numbers), self.leaf(numbers)
        kind = self.random.randrange(7)
        if kind == 0:
            return f"{left} > 0 and {right} < 5"
        if kind == 1:
            return f"{left} > 5 or not {right} > {self.leaf(numbers)}"
        if kind == 2:
            return f"-5 < {left} <= {right}"
        if kind == 3:
            return f"{left} in (1, 3, {right})"
        return f"{left} {self.random.choice(('<', '>', '==', '!=', '>='))} {right}"

    def condition_of_variables(self) -> str:
        """A condition that is known only in the kernel."""
        left, right = self.random.choice("abc"), self.random.choice("abc")
        return f"{left} {self.random.choice('<>')} {right} + {self.random.randint(-3, 3)}"
