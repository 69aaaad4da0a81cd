"""Syntax trees of random kernels: buffers, expressions, statements and kernels, as frozen records.

Sizes are names, whose values are in the program: to reduce a kernel, or to run it with other tiles, only these values
change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

Path = tuple[Any, ...]  # from a program down to a part of it: names of fields and positions


@dataclass(frozen=True)
class Num:
    """A literal number."""

    value: int | float | bool


@dataclass(frozen=True)
class Name:
    """A loop variable, a block's index, a size, a scalar."""

    name: str


@dataclass(frozen=True)
class Op:
    """An operator, or a function of the language. ``cast`` has the element type as ``dtype``."""

    op: str
    args: tuple[Expr, ...]
    dtype: str = ""


@dataclass(frozen=True)
class Load:
    """An element of a buffer, or (``Tile``) the place at which a tile starts."""

    buffer: str
    index: tuple[Expr, ...]


@dataclass(frozen=True)
class Slice:
    """A part of a buffer: (start, size) along each axis."""

    buffer: str
    parts: tuple[tuple[Expr, Expr], ...]


Expr = Num | Name | Op | Load | Slice


@dataclass(frozen=True)
class Buffer:
    """Memory. scope: global, workspace, shared, fragment, local, var or reducer (of sums); scalar: a parameter that is
    a number. A size in the shape is a name, or several names and numbers that are multiplied ("BM*4").

    cap: a bound of the magnitude of the elements, by construction; input values are within it. form: the order of a
    tensor's elements in memory: "" (row after row), padded (each row is longer) or columns (column after column).
    """

    name: str
    shape: tuple[str, ...]
    dtype: str
    scope: str
    cap: float
    form: str = ""


@dataclass(frozen=True)
class Alloc:
    """The statement that allocates a buffer. start: the initial value of a var."""

    buffer: Buffer
    start: Expr | None = None


@dataclass(frozen=True)
class View:
    """A view of another buffer, by T.reshape or T.view."""

    buffer: Buffer
    source: Name


@dataclass(frozen=True)
class Let:
    """``name = value``: a name for a value, computed here."""

    name: str
    value: Expr


@dataclass(frozen=True)
class Tile:
    """A tile operation, ``T.<op>(*operands, **options)``; atomics of elements too."""

    op: str
    operands: tuple[Expr, ...]
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Assign:
    """``target = value``; sign "+=" adds to it."""

    target: Load | Name
    value: Expr
    sign: str = "="


@dataclass(frozen=True)
class Loop:
    """kind: serial, unroll, vectorized, grid, Pipelined or Parallel; grid and Parallel have several variables. The
    others have one, and as extents its end, its start and end, or its start, end and step.

    schedule: the order and the stages of the statements of a Pipelined loop; ignored where their number differs.
    """

    kind: str
    names: tuple[str, ...]
    extents: tuple[Expr, ...]
    body: tuple[Statement, ...]
    stages: int = 0
    schedule: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class While:
    """The statement ``while name < most``; the var ``name`` starts at 0 and is incremented at the end of the body."""

    name: str
    most: Expr
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Leave:
    """``if condition: break`` or ``continue``."""

    word: str
    condition: Expr


@dataclass(frozen=True)
class If:
    condition: Expr
    then: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()


Statement = Alloc | View | Let | Tile | Assign | Loop | While | Leave | If


@dataclass(frozen=True)
class Kernel:
    """One ``T.Kernel``."""

    names: tuple[str, ...]
    grid: tuple[Expr, ...]
    threads: int
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Program:
    """A kernel function. exact: every value is a whole number that its type holds, so that results are to be equal;
    else they are compared with a bound. special: floats may have any value, NaN and infinities among them; no operation
    rounds but the casts, so that results are to be equal as well.

    sizes: the values of the names in shapes; those in ``dynamic`` are known only at the call. second_sizes: their
    values at a second call of the same compiled kernel, if there is one.
    """

    seed: int
    exact: bool
    sizes: tuple[tuple[str, int], ...]
    dynamic: tuple[str, ...]
    params: tuple[Buffer, ...]
    workspaces: tuple[Buffer, ...]
    kernels: tuple[Kernel, ...]
    special: bool = False
    second_sizes: tuple[tuple[str, int], ...] = ()

    def size(self, name: str) -> int:
        return size_of(name, dict(self.sizes))

    def shape(self, buffer: Buffer) -> tuple[int, ...]:
        sizes = dict(self.sizes)
        return tuple(size_of(name, sizes) for name in buffer.shape)

    def second_call(self) -> Program | None:
        """The program with the sizes of the second call; None where there is none."""
        if not self.second_sizes:
            return None
        sizes = {**dict(self.sizes), **dict(self.second_sizes)}
        return dataclasses.replace(self, sizes=tuple(sizes.items()), second_sizes=())


def size_of(name: str, sizes: Mapping[str, int]) -> int:
    """The value of a size."""
    return prod(int(factor) if factor.isdecimal() else sizes[factor] for factor in name.split("*"))


def parts(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every record in a tree with its path, outer ones first."""
    if dataclasses.is_dataclass(node):
        yield path, node
        for field in dataclasses.fields(node):
            yield from parts(getattr(node, field.name), (*path, field.name))
    elif isinstance(node, tuple):
        for number, item in enumerate(node):
            yield from parts(item, (*path, number))


def part(node: Any, path: Path) -> Any:
    """The part of a tree at a path."""
    for step in path:
        node = node[step] if isinstance(step, int) else getattr(node, step)
    return node


def replaced(node: Any, path: Path, new: tuple[Any, ...]) -> Any:
    """The tree with ``new`` in place of the part at ``path``: one record, or for an item of a tuple any number."""
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        if not rest:
            return (*node[:step], *new, *node[step + 1 :])
        return (*node[:step], replaced(node[step], rest, new), *node[step + 1 :])
    inner = replaced(getattr(node, step), rest, new) if rest else new[0]
    return dataclasses.replace(node, **{step: inner})


def substituted(node: Any, names: dict[str, Expr]) -> Any:
    """The tree with expressions in place of names."""
    if isinstance(node, Name):
        return names.get(node.name, node)
    if isinstance(node, tuple):
        return tuple(substituted(item, names) for item in node)
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        fields = {f.name: substituted(getattr(node, f.name), names) for f in dataclasses.fields(node)}
        return type(node)(**fields)
    return node


def names_in(node: Any) -> set[str]:
    """The names, buffers and sizes that a tree mentions."""
    names: set[str] = set()
    for _, item in parts(node):
        if isinstance(item, Name):
            names |= _size_names(item.name)
        elif isinstance(item, (Load, Slice)):
            names.add(item.buffer)
        elif isinstance(item, Buffer):
            names.update(*map(_size_names, item.shape))
        elif isinstance(item, While):
            names.add(item.name)
    return names


def _size_names(name: str) -> set[str]:
    """The sizes that the name multiplies; none for a name of the language."""
    return set() if name.startswith("T.") else {factor for factor in name.split("*") if not factor.isdecimal()}
