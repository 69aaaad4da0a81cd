"""Finds the barriers at which threads exchange shared memory alone, so that loads of global memory may stay in flight.

A barrier of thread IR orders accesses of shared and of global memory. It needs to order those of shared memory alone if

- the kernel has written no global memory before: then no thread reads or writes what another one wrote; and
- no global memory is written after it, before another barrier: then the last barrier before a write waits for the loads
  of what it overwrites. That does not matter for kernels that read no tensor that they write, under any name.

Kernels that take part in an order between blocks (atomic operations, fences) or call code that tilecore does not see
keep their barriers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import dtype_of, op_name
from tilecore.ir.nodes import (
    AttrStmt,
    Break,
    Call,
    Continue,
    Evaluate,
    For,
    IfThenElse,
    PrimFunc,
    Return,
    SeqStmt,
    Stmt,
    Var,
    While,
    is_buffer_var,
    structural_equal,
    structural_map,
)
from tilecore.ir.scopes import is_global
from tilecore.ir.thread_calls import ADDRESS, ATOMIC_ADD, ATOMIC_ELEMENT, BARRIER, FENCE
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, loads
from tilecore.lowering.simt.analysis.parallel_nests import accesses_of

_ORDERING = frozenset({ATOMIC_ADD, ATOMIC_ELEMENT, FENCE, ADDRESS, "call_extern", "call_pure_extern", "address_of"})


def with_shared_barriers(
    func: PrimFunc, original: PrimFunc, barrier: Callable[[Any], Stmt], reading: Collection[str] = ()
) -> PrimFunc:
    """The kernel, in thread IR after ``describe_kernels``, with ``barrier(span)`` in place of each such barrier.

    original: the function that it is a kernel of, whose tensors have the shapes that the user gave them. reading: the
    names of the backend's own calls that only read global memory.
    """
    if func.attrs.get(FunctionAttr.PRELUDE) or any(_is_unknown(call, reading) for call in collect(func.body, Call)):
        return func
    barriers = _Barriers(func)
    barriers.find_written_before(func.body, False)
    if _may_overwrite_what_it_reads(func, original):
        barriers.find_written_after(func.body, False)

    def replace(node: Evaluate) -> Stmt:
        return barrier(node.span) if _is_barrier(node) and node not in barriers.of_global else node

    return func.with_body(structural_map(func.body, (Evaluate, replace)))


def _is_barrier(node: Stmt) -> bool:
    return isinstance(node, Evaluate) and op_name(node.value) == BARRIER


def _is_unknown(call: Call, reading: Collection[str]) -> bool:
    """May the call order accesses, or access global memory in a way that is not seen? A backend's own call may, if it
    takes elements of global memory."""
    name = op_name(call)
    is_of_backend = "." in name and not name.startswith(("simt.", "tile.")) and name not in reading
    return name in _ORDERING or (is_of_backend and any(is_global(load.source) for a in call.args for load in loads(a)))


def _may_overwrite_what_it_reads(func: PrimFunc, original: PrimFunc) -> bool:
    """Does the kernel read a tensor that it writes, or one that a call may pass for two parameters?

    Parameters of one type and shape may be one tensor. Those of other shapes may be, too, if each element is read by
    the thread that writes it, before it does (analysis/may_alias.py): barriers do not matter to them.
    """
    access = {str(name): str(kind) for name, kind in (func.attrs.get(FunctionAttr.ACCESS) or {}).items()}
    if "rw" in access.values() or func.attrs.get(FunctionAttr.NO_RESTRICT):
        return True
    tensors = [p for p in original.params if is_buffer_var(p)]
    read, written = ([p for p in tensors if access.get(str(p.name)) == kind] for kind in ("r", "w"))
    return any(
        dtype_of(a) == dtype_of(b) and structural_equal(list(a.shape), list(b.shape)) for a in read for b in written
    )


class _Barriers:
    """The barriers of a kernel. of_global: those that must order global memory, too."""

    def __init__(self, func: PrimFunc) -> None:
        self.roots: dict[Var, Var] = dict(memory_roots(func.body))
        self.of_global: set[Stmt] = set()

    def find_written_before(self, node: Stmt, written: bool) -> bool:
        """Notes the barriers in ``node`` before which global memory is written. Returns whether it is after ``node``.

        written: whether it is before ``node``.
        """
        if isinstance(node, SeqStmt):
            for part in node.seq:
                written = self.find_written_before(part, written)
            return written
        if isinstance(node, AttrStmt):
            return self.find_written_before(node.body, written)
        if isinstance(node, (For, While)):
            return self.find_written_before(node.body, written or self._writes_global(node))
        if isinstance(node, IfThenElse):
            sides = [side for side in (node.then_case, node.else_case) if side is not None]
            return any([written, *(self.find_written_before(side, written) for side in sides)])
        if _is_barrier(node) and written:
            self.of_global.add(node)
        return written or self._writes_global(node)

    def find_written_after(self, node: Stmt, written: bool) -> bool:
        """Notes the barriers in ``node`` after which global memory may be written before the next barrier.

        written: whether it may be after ``node``. Returns whether it may be from the beginning of ``node`` on.
        """
        if isinstance(node, SeqStmt):
            for part in reversed(list(node.seq)):
                written = self.find_written_after(part, written)
            return written
        if isinstance(node, AttrStmt):
            return self.find_written_after(node.body, written)
        if isinstance(node, (For, While)):
            from_begin = self.find_written_after(node.body, written)
            if from_begin and not written:  # the next iteration
                self.find_written_after(node.body, True)
            return written or from_begin
        if isinstance(node, IfThenElse):
            sides = [side for side in (node.then_case, node.else_case) if side is not None]
            results = [self.find_written_after(side, written) for side in sides]
            return any(results) or (written and node.else_case is None)
        if isinstance(node, (Break, Continue, Return)):
            return True  # whatever follows there
        if _is_barrier(node):
            if written:
                self.of_global.add(node)
            return False
        return written or self._writes_global(node)

    def _writes_global(self, node: Stmt) -> bool:
        accesses = (access for access in accesses_of(node) if access.writes)
        return any(is_global(self.roots.get(access.buffer, access.buffer)) for access in accesses)
