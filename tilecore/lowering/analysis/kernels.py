"""Finds the kernels of a function with their block and thread axes, and whether their code uses thread indices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import const, constant, dtype_of, statements_of
from tilecore.ir.nodes import AttrStmt, Expr, IterVar, SeqStmt, Stmt, Var
from tilecore.ir.tile_ops import combines_threads
from tilecore.ir.visit import variables


@dataclass(frozen=True)
class ThreadAxis:
    """One axis of a block: its letter, the variable of the thread's index, and the number of threads along it."""

    letter: str
    var: Var
    extent: int


@dataclass(frozen=True)
class Threads:
    """The axes of a block, x first. The linear index of a thread counts x fastest."""

    axes: tuple[ThreadAxis, ...]

    @property
    def count(self) -> int:
        return prod(axis.extent for axis in self.axes)

    @property
    def active(self) -> tuple[ThreadAxis, ...]:
        """The axes with more than one thread."""
        return tuple(axis for axis in self.axes if axis.extent > 1)

    def linear_index(self, indices: dict[Var, Any] | None = None) -> Expr:
        """The linear index of the running thread in its block, as an expression of its indices along the axes."""
        total: Any = const(0, "int32")
        step = 1
        for axis in self.axes:
            if axis.extent > 1:
                index = axis.var if indices is None else indices[axis.var]
                total = index * step + total
                step *= axis.extent
        return total


def is_axis(node: Stmt) -> bool:
    """Is the statement an axis of blocks or threads?"""
    return isinstance(node, AttrStmt) and isinstance(node.node, IterVar) and node.attr_key == StatementAttr.AXIS


def kernels_of(body: Stmt) -> list[AttrStmt]:
    """The kernels of a function in order, each by its outermost axis."""
    return [statement for statement in statements_of(body) if is_axis(statement)]


def axes_and_code(kernel: Stmt) -> tuple[list[AttrStmt], Stmt]:
    """The axes of a kernel, outermost first, and the code inside all of them."""
    levels: list[AttrStmt] = []
    while is_axis(kernel):
        levels.append(kernel)
        kernel = kernel.body
    return levels, kernel


def rebuild_kernel(levels: list[AttrStmt], code: Stmt) -> Stmt:
    """The kernel with these axes, outermost first, and this code."""
    for level in reversed(levels):
        code = AttrStmt(level.node, level.attr_key, level.value, code, span=level.span)
    return code


def each_kernel(body: Stmt, change: Callable[[Stmt, Threads], Stmt]) -> Stmt:
    """``body`` with ``change`` applied to the code of every kernel, in order; a kernel left alone stays the same."""
    if isinstance(body, SeqStmt):
        return SeqStmt([each_kernel(part, change) for part in body.seq], span=body.span)
    if not is_axis(body):
        return body
    levels, code = axes_and_code(body)
    results = change(code, threads_of(levels))
    return body if results.same_as(code) else rebuild_kernel(levels, results)


def map_kernels(body: Stmt, change: Callable[[Stmt, Threads], Stmt]) -> Stmt:
    """``body`` with ``change`` applied to the code of every kernel that uses its threads."""
    return each_kernel(body, lambda code, threads: change(code, threads) if uses_threads(code, threads) else code)


def threads_in(body: Stmt) -> int | None:
    """The number of threads of the kernels, where all have the same."""
    counts = {threads_of(axes_and_code(kernel)[0]).count for kernel in kernels_of(body)}
    return counts.pop() if len(counts) == 1 else None


def threads_of(levels: list[AttrStmt]) -> Threads:
    """The threads of the blocks of a kernel, from its axes (:func:`axes_and_code`)."""
    axes = {}
    for level in levels:
        family, _, letter = str(level.node.thread_tag).partition(".")
        extent = constant(level.value)
        if family == "threadIdx" and extent is not None:
            axes[letter] = ThreadAxis(letter, level.node.var, extent)
    return Threads(tuple(axes[letter] for letter in "xyz" if letter in axes))


def uses_threads(body: Stmt, threads: Threads) -> bool:
    """Does the code use the index of a thread, or combine values of several threads?"""
    return bool(variables(body) & {axis.var for axis in threads.axes}) or combines_threads(body)


def without_unit_axes(threads: Threads) -> dict[Var, Expr]:
    """The indices along axes of one thread: always 0."""
    return {axis.var: const(0, dtype_of(axis.var)) for axis in threads.axes if axis.extent == 1}
