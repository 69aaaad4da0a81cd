"""Dependence analysis between threads: finds statements that conflict on memory that the threads of a block share.

Two accesses of one buffer conflict when one of them writes, unless every thread provably accesses different elements:
all accesses index some axes by the same expressions, and these have different values in all threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.intrinsics import as_address
from tilecore.ir.nodes import (
    Add,
    Bind,
    BufferStore,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    Mul,
    Stmt,
    Sub,
    TensorLoad,
    Var,
    While,
    structural_equal,
)
from tilecore.ir.scopes import is_private
from tilecore.ir.thread_calls import ATOMIC_ELEMENT
from tilecore.ir.visit import collect, variables
from tilecore.lowering.analysis.kernels import Threads
from tilecore.lowering.analysis.uniformity import Uniformity


@dataclass
class Access:
    """All accesses of one buffer: their indices, and whether one of them is a write."""

    indices: list[list[Any]] = field(default_factory=list)
    written: bool = False

    def merged(self, other: Access) -> Access:
        return Access([*self.indices, *other.indices], self.written or other.written)


class Footprint:
    """The accesses of statements to memory that threads share, by buffer (for views: the buffer that owns the memory).

    inner: variables whose value changes while the statements run: loop variables, and variables bound in loops.
    """

    def __init__(self, nodes: Iterable[Stmt], uniformity: Uniformity) -> None:
        self.accesses: dict[Var, Access] = {}
        self.inner: set[Var] = set()
        self.viewed: set[Var] = set()
        self.uniformity = uniformity
        for node in nodes:
            self.add(node)

    def add(self, node: Stmt) -> None:
        atomics = [call.args[0] for call in collect(node, Call) if op_name(call) == ATOMIC_ELEMENT]
        for access in [*collect(node, TensorLoad, BufferStore), *atomics]:
            self._add_access(access, isinstance(access, BufferStore) or any(access is a for a in atomics))
        for call in collect(node, Call):
            pointer = as_address(call)
            if pointer is not None and "w" in pointer[1]:  # the function may write any element from this address on
                self._add_access(pointer[0], writes=True)
                self.viewed.add(self.uniformity.root(pointer[0].source))
        for loop in collect(node, For, While):
            self.inner |= {bind.var for bind in collect(loop.body, Bind)}
            if isinstance(loop, For):
                self.inner.add(loop.loop_var)

    def _add_access(self, access: Any, writes: bool) -> None:
        buffer = access.source if isinstance(access, TensorLoad) else access.buffer
        root = self.uniformity.root(buffer)
        if is_private(root) and root in self.uniformity.varying:
            return
        entry = self.accesses.setdefault(root, Access())
        entry.indices.append(list(access.indices))
        entry.written |= writes
        if root is not buffer and not root.same_as(buffer):
            self.viewed.add(root)

    def conflicts_with(self, other: Footprint) -> bool:
        """Must all threads finish one before any thread begins the other?"""
        for root, access in self.accesses.items():
            other_access = other.accesses.get(root)
            if other_access is None or not (access.written or other_access.written):
                continue
            if root in self.viewed | other.viewed:
                return True
            if not is_thread_private(access.merged(other_access), self.inner | other.inner, self.uniformity):
                return True
        return False

    def conflicts_with_itself(self) -> bool:
        """In the body of a loop: do accesses of different iterations by different threads conflict?"""
        for root, access in self.accesses.items():
            if not access.written or (len(access.indices) == 1 and root not in self.viewed):
                continue
            if root in self.viewed or not is_thread_private(access, self.inner, self.uniformity):
                return True
        return False

    def is_independent(self) -> bool:
        """Does no thread access an element that another one writes?"""
        return not any(
            access.written and (root in self.viewed or not is_thread_private(access, self.inner, self.uniformity))
            for root, access in self.accesses.items()
        )


def is_thread_private(access: Access, inner: set[Var], uniformity: Uniformity) -> bool:
    """Does every thread access elements that no other thread accesses?"""
    offsets = []
    first = access.indices[0]
    for axis, expression in enumerate(first):
        if not all(structural_equal(indices[axis], expression) for indices in access.indices[1:]):
            continue
        axis_offsets = _offsets_of_threads(expression, inner, uniformity)
        if axis_offsets is not None:
            offsets.append(axis_offsets)
    if not offsets:
        return uniformity.threads.count == 1
    return np.unique(np.stack(offsets), axis=1).shape[1] == uniformity.threads.count


def _offsets_of_threads(index: Any, inner: set[Var], uniformity: Uniformity) -> np.ndarray | None:
    """The part of ``index`` that depends on the thread, one value for each thread (int64); None if it is unknown.

    Uniform terms are left out.
    """
    axes = {axis.var for axis in uniformity.threads.active}

    def value(node: Expr) -> np.ndarray | None:
        if not variables(node) & axes:
            number = constant(node)
            return None if number is None else np.int64(number)  # type: ignore[return-value]
        if isinstance(node, Var):
            return _indices(uniformity.threads)[node]
        if isinstance(node, Cast) and dtype_of(node).startswith("int"):
            return value(node.value)
        if isinstance(node, (Add, Sub, Mul, FloorDiv, FloorMod)):
            a, b = value(node.a), value(node.b)
            if a is None or b is None or (isinstance(node, (FloorDiv, FloorMod)) and np.any(b == 0)):
                return None
            return _OPERATIONS[type(node)](a, b)
        return None

    total: Any = np.zeros(uniformity.threads.count, np.int64)
    for sign, term in _terms(index):
        if variables(term) & axes:
            part = value(term)
            if part is None:
                return None
            total = total + sign * part
        elif variables(term) & inner or uniformity.varies(term) or collect(term, TensorLoad, Call):
            return None
    return total


_OPERATIONS: dict[type, Any] = {
    Add: np.add,
    Sub: np.subtract,
    Mul: np.multiply,
    FloorDiv: np.floor_divide,
    FloorMod: np.mod,
}


def _terms(node: Any, sign: int = 1) -> list[tuple[int, Any]]:
    """The terms of a sum."""
    if isinstance(node, Add):
        return _terms(node.a, sign) + _terms(node.b, sign)
    if isinstance(node, Sub):
        return _terms(node.a, sign) + _terms(node.b, -sign)
    return [(sign, node)]


def _indices(threads: Threads) -> dict[Var, np.ndarray]:
    """The index of every thread along each axis; threads are numbered with x fastest."""
    thread_index = np.arange(threads.count, dtype=np.int64)
    indices = {}
    for axis in threads.axes:
        indices[axis.var] = thread_index % axis.extent
        thread_index = thread_index // axis.extent
    return indices
