"""Finds the barriers at which threads exchange shared memory alone, so that loads of global memory may stay in flight.

A barrier of thread IR orders accesses of shared and of global memory. It needs to order those of shared memory alone if

- the kernel has written no global memory before: then no thread reads or writes what another one wrote; and
- no global memory is written after it, before another barrier: then the last barrier before a write waits for the loads
  of what it overwrites. That matters only where the kernel has read before, from a tensor that it may write under any
  name.

An atomic operation of relaxed order counts as a write. Kernels that take part in an order between blocks (other atomic
operations, fences) or call code that tilecore does not see keep their barriers.
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
    IRModule,
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
from tilecore.lowering.simt.analysis.parallel_nests import Access, accesses_of

_ORDERING = frozenset({FENCE, ADDRESS, "call_extern", "call_pure_extern", "address_of"})


def kernels_with_shared_barriers(
    module: IRModule, original: PrimFunc, barrier: Callable[[Any], Stmt], reading: Collection[str] = ()
) -> IRModule:
    """Every kernel of a module as :func:`with_shared_barriers` rewrites it."""
    kernels = ((str(var.name_hint), func) for var, func in module.functions.items())
    return IRModule({name: with_shared_barriers(func, original, barrier, reading) for name, func in kernels})


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
    of_global = barriers.with_one_before(func.body, barriers.writes_global)
    overwritten = _may_be_overwritten(func, original)
    if overwritten:
        barriers.find_written_after(func.body, False)
        read = barriers.with_one_before(func.body, lambda node: barriers.reads_one_of(overwritten, node))
        of_global |= read & barriers.before_writes

    def replace(node: Evaluate) -> Stmt:
        return barrier(node.span) if _is_barrier(node) and node not in of_global else node

    return func.with_body(structural_map(func.body, (Evaluate, replace)))


def _is_barrier(node: Stmt) -> bool:
    return isinstance(node, Evaluate) and op_name(node.value) == BARRIER


def _is_unknown(call: Call, reading: Collection[str]) -> bool:
    """May the call order accesses, or access global memory in a way that is not seen? A backend's own call may, if it
    takes elements of global memory."""
    name = op_name(call)
    if name in (ATOMIC_ADD, ATOMIC_ELEMENT):
        return str(call.args[3].value) != "relaxed"
    is_of_backend = "." in name and not name.startswith(("simt.", "tile.")) and name not in reading
    return name in _ORDERING or (is_of_backend and any(is_global(load.source) for a in call.args for load in loads(a)))


def _may_be_overwritten(func: PrimFunc, original: PrimFunc) -> set[str]:
    """The tensors that the kernel reads and writes, and those that it reads and a call may pass for one that it writes.

    Parameters of one type and shape may be one tensor. Those of other shapes may be, too, if each element is read by
    the thread that writes it, before it does (analysis/may_alias.py): barriers do not matter to them.
    """
    access = {str(name): str(kind) for name, kind in (func.attrs.get(FunctionAttr.ACCESS) or {}).items()}
    if func.attrs.get(FunctionAttr.NO_RESTRICT):
        return set(access)
    tensors = [p for p in original.params if is_buffer_var(p)]
    read, written = ([p for p in tensors if access.get(str(p.name)) == kind] for kind in ("r", "w"))
    passed_twice = {
        str(a.name)
        for a in read
        for b in written
        if dtype_of(a) == dtype_of(b) and structural_equal(list(a.shape), list(b.shape))
    }
    return passed_twice | {name for name, kind in access.items() if kind == "rw"}


class _Barriers:
    """The barriers of a kernel. before_writes: those after which global memory may be written before the next one."""

    def __init__(self, func: PrimFunc) -> None:
        self.roots: dict[Var, Var] = dict(memory_roots(func.body))
        self.before_writes: set[Stmt] = set()

    def with_one_before(self, body: Stmt, is_one: Callable[[Any], bool]) -> set[Stmt]:
        """The barriers before which code runs of which ``is_one`` is true."""
        barriers: set[Stmt] = set()

        def follow(node: Stmt, seen: bool) -> bool:
            """Notes the barriers in ``node``. seen: whether there is one before. Returns whether there is one after."""
            if isinstance(node, SeqStmt):
                for part in node.seq:
                    seen = follow(part, seen)
                return seen
            if isinstance(node, AttrStmt):
                return follow(node.body, seen)
            if isinstance(node, (For, While)):
                return follow(node.body, seen or is_one(node))
            if isinstance(node, IfThenElse):
                sides = [side for side in (node.then_case, node.else_case) if side is not None]
                before = seen or is_one(node.condition)
                return any([before, *(follow(side, before) for side in sides)])
            if _is_barrier(node) and seen:
                barriers.add(node)
            return seen or is_one(node)

        follow(body, False)
        return barriers

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
                self.before_writes.add(node)
            return False
        return written or self.writes_global(node)

    def writes_global(self, node: Any) -> bool:
        return any(is_global(self._root(access)) for access in accesses_of(node) if access.writes)

    def reads_one_of(self, names: Collection[str], node: Any) -> bool:
        """Does the code read global memory of one of these names? An atomic operation reads what it changes."""
        roots = (self._root(access) for access in accesses_of(node) if access.atomic or not access.writes)
        return any(is_global(root) and str(root.name) in names for root in roots)

    def _root(self, access: Access) -> Var:
        return self.roots.get(access.buffer, access.buffer)
