"""The threads of a kernel: their axes, the numbers of threads, and whether its code asks for them at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from tilecore.ir.build import const, constant, dtype_of, op_name
from tilecore.ir.nodes import AttrStmt, Call, Expr, IterVar, SeqStmt, Stmt, Var
from tilecore.ir.tile_ops import PREFIX
from tilecore.ir.visit import collect, variables

_OF_THREADS = tuple(PREFIX + name for name in ("allreduce", "shuffle", "ballot"))


@dataclass(frozen=True)
class ThreadAxis:
    """One axis of a block: its letter, the variable of the thread's index, and the number of threads along it."""

    letter: str
    var: Var
    extent: int


@dataclass(frozen=True)
class Threads:
    """The axes of a block, x first. Threads are numbered with x fastest."""

    axes: tuple[ThreadAxis, ...]

    @property
    def count(self) -> int:
        return prod(axis.extent for axis in self.axes)

    @property
    def active(self) -> tuple[ThreadAxis, ...]:
        """The axes with more than one thread."""
        return tuple(axis for axis in self.axes if axis.extent > 1)

    def number(self, indices: dict[Var, Any] | None = None) -> Expr:
        """The number of the running thread in its block, as an expression of its indices."""
        total: Any = const(0, "int32")
        step = 1
        for axis in self.axes:
            if axis.extent > 1:
                index = axis.var if indices is None else indices[axis.var]
                total = index * step + total
                step *= axis.extent
        return total


def map_kernels(body: Stmt, change: Callable[[Stmt, Threads], Stmt]) -> Stmt:
    """``body`` with ``change`` applied to the code of every kernel that asks for its threads."""
    if isinstance(body, SeqStmt):
        return SeqStmt([map_kernels(part, change) for part in body.seq], span=body.span)
    if not (isinstance(body, AttrStmt) and isinstance(body.node, IterVar) and body.attr_key == "thread_extent"):
        return body
    levels: list[AttrStmt] = []
    inner: Stmt = body
    while isinstance(inner, AttrStmt) and isinstance(inner.node, IterVar) and inner.attr_key == "thread_extent":
        levels.append(inner)
        inner = inner.body
    threads = threads_of(levels)
    if not asks_for_threads(inner, threads):
        return body
    made = change(inner, threads)
    for level in reversed(levels):
        made = AttrStmt(level.node, level.attr_key, level.value, made, span=level.span)
    return made


def threads_of(levels: list[AttrStmt]) -> Threads:
    found = {}
    for level in levels:
        family, _, letter = str(level.node.thread_tag).partition(".")
        extent = constant(level.value)
        if family == "threadIdx" and extent is not None:
            found[letter] = ThreadAxis(letter, level.node.var, extent)
    return Threads(tuple(found[letter] for letter in "xyz" if letter in found))


def asks_for_threads(body: Stmt, threads: Threads) -> bool:
    """Does the code name a thread's index, or join values of threads?"""
    if variables(body) & {axis.var for axis in threads.axes}:
        return True
    return any(op_name(call) in _OF_THREADS for call in collect(body, Call))


def without_unit_axes(threads: Threads) -> dict[Var, Expr]:
    """The indices along axes of one thread: always 0."""
    return {axis.var: const(0, dtype_of(axis.var)) for axis in threads.axes if axis.extent == 1}
