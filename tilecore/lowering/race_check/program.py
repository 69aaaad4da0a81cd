"""Gathers facts of a kernel in thread IR for the race check: its arena, its threads, and the statements that matter."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.effects import without_calls
from tilecore.ir.intrinsics import ADDRESS
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    Break,
    BufferStore,
    Call,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    PrimFunc,
    Stmt,
    TensorLoad,
    Var,
    While,
)
from tilecore.ir.scopes import is_private, is_shared
from tilecore.ir.thread_calls import BLOCK_VOTE
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import children, collect, variables
from tilecore.lowering.race_check.butterflies import uniform_cells
from tilecore.lowering.race_check.effects import Access, AnyAccess, effects_of

ACCESSES = (Access, AnyAccess)
UNIFORM_CALLS = frozenset({BLOCK_VOTE})  # calls whose result is the same for all threads of the block


class Program:
    """A kernel's code, and facts of its statements.

    threads: the extents of the block. count: the number of its threads. offsets: the first byte of each shared buffer
    in the arena. bytes: the size of the arena. roots: for each view the buffer that owns its memory.
    """

    def __init__(self, func: PrimFunc) -> None:
        attrs = func.attrs
        self.func, self.body = func, func.body
        self.threads = [int(constant(n) or 1) for n in attrs[FunctionAttr.THREADS]]
        self.count = prod(self.threads)
        self.thread_vars = list(attrs[FunctionAttr.THREAD_VARS])
        self.offsets = {str(name): int(start) for name, start in attrs[FunctionAttr.SHARED].items()}
        self.bytes = int(attrs[FunctionAttr.SHARED_BYTES])
        self.roots = memory_roots(func.body)
        self._flags: dict[int, tuple[Any, bool, bool, bool]] = {}
        self._mark(func.body)

    @cached_property
    def cell(self) -> int:
        """The bytes of the smallest element in shared memory: the granularity of the check."""
        buffers = [n.buffer for n in collect(self.body, AllocBuffer, DeclBuffer) if is_shared(n.buffer)]
        return min((max(1, DType(dtype_of(buffer)).bits // 8) for buffer in buffers), default=1)

    def start_of(self, buffer: Var) -> int | None:
        """The first byte in the arena of a shared buffer or of a view of one; None for other memory."""
        root = self.roots.get(buffer, buffer)
        return self.offsets.get(str(root.name)) if is_shared(root) else None

    def size_of(self, buffer: Var) -> int:
        """The bytes of the buffer that owns the memory of ``buffer``."""
        root = self.roots.get(buffer, buffer)
        count = 1
        for size in root.shape:
            count *= int(constant(size) or 0)
        return -(-count * DType(dtype_of(root)).bits // 8)

    # -- which statements matter ----------------------------------------------------------------------------------

    def accesses_shared(self, node: Any) -> bool:
        """Does the statement access shared memory, or order such accesses?"""
        return self._flags[node.__chandle__()][1]

    def orders(self, node: Any) -> bool:
        """Does the statement contain a barrier, or start or wait for asynchronous work?"""
        return self._flags[node.__chandle__()][2]

    def jumps(self, node: Any) -> bool:
        """Does the statement contain a ``break`` or ``continue`` of an enclosing loop?"""
        return self._flags[node.__chandle__()][3]

    def _mark(self, node: Stmt) -> tuple[bool, bool, bool]:
        inner = list(children(node))
        if inner:
            flags = [self._mark(child) for child in inner]
            heads = (getattr(node, name, None) for name in ("condition", "min", "extent"))
            accesses_shared = any(a for a, _, _ in flags) or any(h is not None and self._loads(h) for h in heads)
            orders = any(o for _, o, _ in flags)
            jumps = any(j for _, _, j in flags) and not isinstance(node, (For, While))
        else:
            accesses_shared, orders = self._simple(node)
            jumps = isinstance(node, (Break, Continue))
        self._flags[node.__chandle__()] = node, accesses_shared, orders, jumps
        return accesses_shared, orders, jumps

    def _loads(self, node: Any) -> bool:
        return any(self.start_of(load.source) is not None for load in collect(node, TensorLoad))

    def _simple(self, node: Stmt) -> tuple[bool, bool]:
        accesses_shared = self._loads(node) or (
            isinstance(node, BufferStore) and self.start_of(node.buffer) is not None
        )
        effects = [e for call in collect(node, Call) for e in effects_of(call, self.func) or ()]
        orders = any(not isinstance(e, ACCESSES) for e in effects)
        return accesses_shared or orders, orders

    # -- which names matter ---------------------------------------------------------------------------------------

    @cached_property
    def needed(self) -> set[Any]:
        """The variables and private cells on which indices of shared memory, or the control flow, depend."""
        needed: set[Any] = set()
        for node in collect(self.body, For, While, IfThenElse):
            if self.accesses_shared(node):
                for part in (getattr(node, name, None) for name in ("condition", "min", "extent")):
                    if part is not None:
                        needed |= variables(part)
        for load in collect(self.body, TensorLoad):
            if self.start_of(load.source) is not None:
                needed |= set().union(*(variables(index) for index in load.indices))
        for store in collect(self.body, BufferStore):
            if self.start_of(store.buffer) is not None:
                needed |= set().union(*(variables(index) for index in store.indices))
        for call in collect(self.body, Call):
            for effect in effects_of(call, self.func) or ():
                for part in (getattr(effect, name, None) for name in ("at", "remaining")):
                    if part is not None:
                        needed |= variables(part)
        return self._with_sources(needed)

    def _with_sources(self, needed: set[Any]) -> set[Any]:
        """The names, and all names from which their values are computed."""
        sources = [(n.var, n.value) for n in collect(self.body, Bind)]
        sources += [(n.buffer, n.value) for n in collect(self.body, BufferStore) if is_scalar(n.buffer)]
        size = -1
        while size < len(needed):
            size = len(needed)
            for name, value in sources:
                if name in needed:
                    needed |= variables(value)
        return needed

    @cached_property
    def _uniform_cells(self) -> set[Any]:
        return uniform_cells(self.body, self.count)

    @cached_property
    def varying(self) -> set[Any]:
        """The variables and private buffers whose values may differ between threads."""
        varying: set[Any] = set(self.thread_vars)
        size = -1
        while size < len(varying):
            size = len(varying)
            self._add_varying(self.body, False, varying)
        return varying

    def varies(self, expression: Any, varying: set[Any] | None = None) -> bool:
        """May the value differ between threads? varying: the names whose values may, by default ``self.varying``."""
        names = self.varying if varying is None else varying
        expression = without_calls(expression, UNIFORM_CALLS)
        if any(_is_target_call(call) for call in collect(expression, Call)):
            return True
        return any(self.roots.get(var, var) in names for var in variables(expression))

    def _add_varying(self, node: Stmt, is_divergent: bool, varying: set[Any]) -> None:
        """Adds the names to which a statement may give different values in different threads."""
        if isinstance(node, Bind) and (is_divergent or self.varies(node.value, varying)):
            varying.add(node.var)
        elif self._stores_varying(node, is_divergent, varying):
            varying.add(self.roots.get(node.buffer, node.buffer))
        if not list(children(node)):
            varying |= self._written_by_calls(node)
        heads = [getattr(node, name, None) for name in ("condition", "min", "extent")]
        is_inner_divergent = is_divergent or any(head is not None and self.varies(head, varying) for head in heads)
        if isinstance(node, For) and is_inner_divergent and not is_divergent:
            varying.add(node.loop_var)
        for child in children(node):
            self._add_varying(child, is_inner_divergent, varying)

    def _stores_varying(self, node: Stmt, is_divergent: bool, varying: set[Any]) -> bool:
        """May threads store different values in their private buffer?"""
        if not isinstance(node, BufferStore) or not is_private(node.buffer):
            return False
        if is_divergent:
            return True
        parts = (node.value, *node.indices)
        return node.buffer not in self._uniform_cells and any(self.varies(part, varying) for part in parts)

    def _written_by_calls(self, node: Stmt) -> set[Any]:
        """The private buffers that calls in a statement may write.

        An atomic operation writes its element; a function may write what its pointers point to; a target's instruction
        may write any of its operands.
        """
        loads: list[Any] = []
        for call in collect(node, Call):
            effects = effects_of(call, self.func) or ()
            if op_name(call) == ADDRESS or any(isinstance(effect, Access) and effect.atomic for effect in effects):
                loads.append(call.args[0])
            elif isinstance(node, Evaluate) and (_is_target_call(call) or op_name(call).startswith("call_")):
                loads += collect(call, TensorLoad)
        return {self.roots.get(load.source, load.source) for load in loads if is_private(load.source)}


def _is_target_call(call: Call) -> bool:
    """Is the call an operation of a target or a tile operation, rather than a function of values like ``exp``?"""
    return "." in op_name(call)


def is_scalar(buffer: Var) -> bool:
    """Is the buffer private, with one element?"""
    return is_private(buffer) and all(constant(size) == 1 for size in buffer.shape)
