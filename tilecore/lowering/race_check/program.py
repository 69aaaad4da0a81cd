"""Gathers facts of a kernel in thread IR for the race check: its arena, its threads, and the statements that matter."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from tilecore.dtypes import dtype as DType
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import const, constant, dtype_of, op_name
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
    Div,
    Evaluate,
    FloorDiv,
    FloorMod,
    For,
    IfThenElse,
    Mod,
    PrimFunc,
    Stmt,
    TensorLoad,
    Var,
    While,
    structural_map,
)
from tilecore.ir.scopes import is_private, is_shared
from tilecore.ir.thread_calls import BLOCK_VOTE
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import children, collect, variables
from tilecore.lowering.race_check.butterflies import uniform_cells, uniform_overwrites
from tilecore.lowering.race_check.effects import VALUES, Access, AnyAccess, effects_of
from tilecore.lowering.race_check.overwrites import Overwrite, is_scalar, last_overwrites
from tilecore.lowering.race_check.values import UNKNOWN, Expressions, Value

ACCESSES = (Access, AnyAccess)
DIVISIONS = (FloorDiv, FloorMod, Div, Mod)
UNIFORM_CALLS = frozenset({BLOCK_VOTE})  # calls whose result is the same for all threads of the block


class Program:
    """A kernel's code, and facts of its statements.

    threads: the extents of the block. count: the number of its threads. offsets: the first byte of each shared buffer
    in the arena. bytes: the size of the arena. roots: for each view the buffer that owns its memory. expressions:
    computes the values of expressions.
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
        self.expressions = Expressions(VALUES, self.start_of)
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
    def thread_values(self) -> dict[Any, Value]:
        """For each thread variable its value in each thread of the block."""
        indices, stride = {}, 1
        thread_index = np.arange(self.count)
        for var, extent in zip(self.thread_vars, self.threads, strict=True):
            indices[var] = thread_index // stride % extent
            stride *= extent
        return indices

    @cached_property
    def _overwrites(self) -> dict[Var, Overwrite]:
        return last_overwrites(self.body)

    @cached_property
    def _superseded(self) -> set[Any]:
        """The stores in a cell whose last overwrite comes later."""
        return {store for overwrite in self._overwrites.values() for store in overwrite.superseded}

    @cached_property
    def _uniform_cells(self) -> set[Any]:
        return uniform_cells(self.body, self.count) | uniform_overwrites(self._overwrites, self.repetition)

    def repetition(self, value: Any) -> int:
        """The number of neighbouring threads that together have all values of an expression in the block: a power of 2.

        1: the value is the same in all threads. Only loads of shared memory whose index depends on nothing but the
        thread have fewer than the block's threads.
        """
        every = 1 << (self.count - 1).bit_length()
        if not isinstance(value, TensorLoad) or self.start_of(value.source) is None or len(value.indices) != 1:
            return every
        index = self.expressions.value(value.indices[0], self.thread_values)
        if index is UNKNOWN:
            return every
        index = np.broadcast_to(index, (self.count,))
        width = 1
        while width < self.count and self.count % width == 0:
            groups = np.sort(index.reshape(-1, width), axis=1)
            if (groups == groups[0]).all():
                return width
            width *= 2
        return every

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
        expression = self._without_uniform_parts(without_calls(expression, UNIFORM_CALLS))
        if any(_is_target_call(call) for call in collect(expression, Call)):
            return True
        return any(self.roots.get(var, var) in names for var in variables(expression))

    def _without_uniform_parts(self, expression: Any) -> Any:
        """``expression`` with 0 in place of quotients and remainders of thread variables that all threads agree on."""
        if not collect(expression, *DIVISIONS):
            return expression

        def zero_if_uniform(node: Any) -> Any:
            value = self.expressions.value(node, self.thread_values)
            return node if value is UNKNOWN or np.ptp(value) else const(0, dtype_of(node))

        return structural_map(expression, (DIVISIONS, zero_if_uniform))

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
        if not isinstance(node, BufferStore) or not is_private(node.buffer) or node in self._superseded:
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
