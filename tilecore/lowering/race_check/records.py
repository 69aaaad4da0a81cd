"""The records of the race check: sites of accesses, asynchronous work and its groups, conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Array = Any  # a numpy array


@dataclass(frozen=True)
class Site:
    """An access in the code.

    index: its index in the list of sites. description: its kind and buffer, such as "write of s". nest: an identifier
    of the parallel loop around it, 0 for none.
    """

    index: int
    description: str
    span: Any
    nest: int = 0


@dataclass(frozen=True, eq=False)
class AsyncWork:
    """Asynchronous work.

    cells: the cells that it reads or writes. starters: for each cell the group of threads that started the work on it.
    threads: all threads that started it. barrier: the barrier in memory on which it completes, if any.
    """

    site: Site
    cells: Array
    starters: Array
    threads: Array
    writes: bool
    barrier: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False)
class Group:
    """Asynchronous work that its threads commit and wait for together."""

    items: tuple[AsyncWork, ...]
    threads: Array


@dataclass(frozen=True)
class Conflict:
    """Two accesses without order: the index of the earlier site, the later site, and a cell that both access.

    pending: the earlier access is asynchronous and has not been waited for.
    """

    earlier: int
    later: Site
    cell: int
    pending: bool = False


def union(a: tuple[AsyncWork, ...], b: tuple[AsyncWork, ...]) -> tuple[AsyncWork, ...]:
    """The union of two tuples of work, without duplicates."""
    return (*a, *(item for item in b if not any(item is earlier for earlier in a)))


def merged(a: tuple[Group, ...], b: tuple[Group, ...]) -> tuple[Group, ...]:
    """The groups of two paths, merged pairwise from the newest on, because a wait counts from the newest."""
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    gap = len(long) - len(short)
    pairs = zip(long[gap:], short, strict=True)
    tail = [
        first if first is second else Group(union(first.items, second.items), first.threads | second.threads)
        for first, second in pairs
    ]
    return (*long[:gap], *tail)
