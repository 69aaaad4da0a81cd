"""The names that the statements of a random body may use and change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Block:
    """A block of statements. by_kernel: the kernel decides whether it runs, so that it must not change Python data of
    the blocks around it."""

    by_kernel: bool
    values: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    lists: dict[str, int] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    dicts: list[str] = field(default_factory=list)


class Scope:
    """The names that are defined: kernel values, Python numbers, lists with their lengths, and dicts, by block.
    functions: name, number of parameters, number of results."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.functions: list[tuple[str, int, int]] = []
        self.index_names: list[str] = []
        self.python_indices: list[str] = []
        self._count = 0

    @contextmanager
    def block(self, block: Block) -> Iterator[None]:
        self.blocks.append(block)
        try:
            yield
        finally:
            self.blocks.pop()

    def count(self) -> int:
        self._count += 1
        return self._count

    def new_value(self) -> str:
        name = f"t{self.count()}"
        self.blocks[-1].values.append(name)
        return name

    def new_number(self) -> str:
        name = f"n{self.count()}"
        self.blocks[-1].numbers.append(name)
        return name

    def new_list(self, size: int, fixed: bool = False) -> str:
        name = f"l{self.count()}"
        self.blocks[-1].lists[name] = size
        if fixed:
            self.blocks[-1].fixed.add(name)
        return name

    def new_dict(self) -> str:
        name = f"d{self.count()}"
        self.blocks[-1].dicts.append(name)
        return name

    def new_index(self) -> str:
        return f"i{self.count()}"

    def grow(self, name: str) -> None:
        """Note that a list gets one more element, where that is certain: in the block that defines the list."""
        if name in self.blocks[-1].lists:
            self.blocks[-1].lists[name] += 1

    def _changeable(self) -> list[Block]:
        """The blocks out to the innermost one that the kernel decides on."""
        changeable: list[Block] = []
        for block in reversed(self.blocks):
            changeable.append(block)
            if block.by_kernel:
                break
        return changeable

    @contextmanager
    def indices(self, name: str, python: bool = False) -> Iterator[None]:
        names = self.python_indices if python else self.index_names
        names.append(name)
        try:
            yield
        finally:
            names.pop()

    @contextmanager
    def values_in(self, name: str) -> Iterator[None]:
        with self.block(Block(by_kernel=False, values=[name])):
            yield

    def values(self) -> list[str]:
        return [name for block in self.blocks for name in block.values]

    def numbers(self) -> list[str]:
        return [name for block in self.blocks for name in block.numbers] + self.python_indices

    def own_numbers(self) -> list[str]:
        return [name for block in self._changeable() for name in block.numbers]

    def lists(self) -> list[tuple[str, int]]:
        return [pair for block in self.blocks for pair in block.lists.items()]

    def own_lists(self) -> list[tuple[str, int]]:
        return [p for block in self._changeable() for p in block.lists.items() if p[0] not in block.fixed]

    def dicts(self) -> list[str]:
        return [name for block in self.blocks for name in block.dicts]

    def own_dicts(self) -> list[str]:
        return [name for block in self._changeable() for name in block.dicts]
