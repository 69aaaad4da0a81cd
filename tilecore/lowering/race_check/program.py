"""What the proof of order needs to know of a kernel in thread IR: its arena, its threads, which statements matter."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, dtype_of, op_name
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
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import children, collect, variables, without_calls
from tilecore.lowering.race_check.butterflies import joined_cells
from tilecore.lowering.race_check.effects import AnyTouch, Touch, effects_of

NEST = "simt.nest"  # attribute of a statement that was a T.Parallel
ELEMENT = (Touch, AnyTouch)
SAME = frozenset({"simt.block_vote"})  # calls of a target that give all threads of the block one value


class Program:
    """A kernel's code, and facts of its statements by their addresses."""

    def __init__(self, func: PrimFunc) -> None:
        attrs = func.attrs
        self.func, self.body = func, func.body
        self.threads = [int(constant(n) or 1) for n in attrs["tile.threads"]]
        self.count = prod(self.threads)
        self.thread_vars = list(attrs["tile.thread_vars"])
        self.offsets = {str(name): int(start) for name, start in attrs["simt.shared"].items()}
        self.bytes = int(attrs["simt.shared_bytes"])
        self.roots = memory_roots(func.body)
        self._flags: dict[int, tuple[Any, bool, bool, bool]] = {}
        self._mark(func.body)

    @cached_property
    def cell(self) -> int:
        """Bytes of the smallest element in shared memory."""
        buffers = [n.buffer for n in collect(self.body, AllocBuffer, DeclBuffer) if is_shared(n.buffer)]
        return min((max(1, DType(dtype_of(buffer)).bits // 8) for buffer in buffers), default=1)

    def start_of(self, buffer: Var) -> int | None:
        """The first byte of a shared buffer, or of a view, in the arena."""
        root = self.roots.get(buffer, buffer)
        return self.offsets.get(str(root.name)) if is_shared(root) else None

    def size_of(self, buffer: Var) -> int:
        root = self.roots.get(buffer, buffer)
        count = 1
        for size in root.shape:
            count *= int(constant(size) or 0)
        return -(-count * DType(dtype_of(root)).bits // 8)

    # -- which statements matter ----------------------------------------------------------------------------------

    def touches(self, node: Any) -> bool:
        """Is there an access of shared memory in it, or anything that orders some?"""
        return self._flags[node.__chandle__()][1]

    def orders(self, node: Any) -> bool:
        """Is there a barrier in it, or asynchronous work?"""
        return self._flags[node.__chandle__()][2]

    def jumps(self, node: Any) -> bool:
        """Is there a ``break`` or ``continue`` in it of a loop around it?"""
        return self._flags[node.__chandle__()][3]

    def _mark(self, node: Stmt) -> tuple[bool, bool, bool]:
        inner = list(children(node))
        if inner:
            found = [self._mark(child) for child in inner]
            heads = (getattr(node, name, None) for name in ("condition", "min", "extent"))
            touches = any(t for t, _, _ in found) or any(h is not None and self._loads(h) for h in heads)
            orders = any(o for _, o, _ in found)
            jumps = any(j for _, _, j in found) and not isinstance(node, (For, While))
        else:
            touches, orders = self._simple(node)
            jumps = isinstance(node, (Break, Continue))
        self._flags[node.__chandle__()] = node, touches, orders, jumps
        return touches, orders, jumps

    def _loads(self, node: Any) -> bool:
        return any(self.start_of(load.source) is not None for load in collect(node, TensorLoad))

    def _simple(self, node: Stmt) -> tuple[bool, bool]:
        touches = self._loads(node) or (isinstance(node, BufferStore) and self.start_of(node.buffer) is not None)
        effects = [e for call in collect(node, Call) for e in effects_of(call, self.func) or ()]
        orders = any(not isinstance(e, ELEMENT) for e in effects)
        return touches or orders, orders

    # -- which names matter ---------------------------------------------------------------------------------------

    @cached_property
    def needed(self) -> set[Any]:
        """Names and cells of a thread on which places in shared memory, and ways through the code, depend."""
        found: set[Any] = set()
        for node in collect(self.body, For, While, IfThenElse):
            if self.touches(node):
                for part in (getattr(node, name, None) for name in ("condition", "min", "extent")):
                    if part is not None:
                        found |= variables(part)
        for load in collect(self.body, TensorLoad):
            if self.start_of(load.source) is not None:
                found |= set().union(*(variables(index) for index in load.indices))
        for store in collect(self.body, BufferStore):
            if self.start_of(store.buffer) is not None:
                found |= set().union(*(variables(index) for index in store.indices))
        for call in collect(self.body, Call):
            for effect in effects_of(call, self.func) or ():
                for part in (getattr(effect, name, None) for name in ("at", "remaining")):
                    if part is not None:
                        found |= variables(part)
        return self._closed(found)

    def _closed(self, found: set[Any]) -> set[Any]:
        sources = [(n.var, n.value) for n in collect(self.body, Bind)]
        sources += [(n.buffer, n.value) for n in collect(self.body, BufferStore) if is_scalar(n.buffer)]
        size = -1
        while size < len(found):
            size = len(found)
            for name, value in sources:
                if name in found:
                    found |= variables(value)
        return found

    @cached_property
    def _joined(self) -> set[Any]:
        return joined_cells(self.body, self.count)

    @cached_property
    def varying(self) -> set[Any]:
        """Names and private buffers whose values may differ between threads."""
        found: set[Any] = set(self.thread_vars)
        size = -1
        while size < len(found):
            size = len(found)
            self._spread(self.body, False, found)
        return found

    def varies(self, expression: Any, known: set[Any] | None = None) -> bool:
        found = self.varying if known is None else known
        expression = without_calls(expression, SAME)
        if any(_is_of_target(call) for call in collect(expression, Call)):
            return True
        return any(self.roots.get(var, var) in found for var in variables(expression))

    def _spread(self, node: Stmt, apart: bool, found: set[Any]) -> None:
        if isinstance(node, Bind) and (apart or self.varies(node.value, found)):
            found.add(node.var)
        elif isinstance(node, BufferStore) and is_private(node.buffer) and (apart or self._stores_apart(node, found)):
            found.add(self.roots.get(node.buffer, node.buffer))
        if not list(children(node)):
            found |= self._written_by_calls(node)
        heads = [getattr(node, name, None) for name in ("condition", "min", "extent")]
        inner = apart or any(head is not None and self.varies(head, found) for head in heads)
        if isinstance(node, For) and inner and not apart:
            found.add(node.loop_var)
        for child in children(node):
            self._spread(child, inner, found)

    def _stores_apart(self, store: BufferStore, found: set[Any]) -> bool:
        """May threads store different values?"""
        given = (store.value, *store.indices)
        return store.buffer not in self._joined and any(self.varies(part, found) for part in given)

    def _written_by_calls(self, node: Stmt) -> set[Any]:
        """The registers that calls in a statement may write: an atomic its element, and functions those whose addresses
        they take. An instruction, which is a statement, may write any of its operands."""
        loads: list[Any] = []
        for call in collect(node, Call):
            effects = effects_of(call, self.func) or ()
            if op_name(call) == ADDRESS or any(isinstance(effect, Touch) and effect.atomic for effect in effects):
                loads.append(call.args[0])
            elif isinstance(node, Evaluate) and (_is_of_target(call) or op_name(call).startswith("call_")):
                loads += collect(call, TensorLoad)
        return {self.roots.get(load.source, load.source) for load in loads if is_private(load.source)}


def _is_of_target(call: Call) -> bool:
    """Is it one of a target's functions or of the tile operations, and not a function of values like ``exp``?"""
    return "." in op_name(call)


def is_scalar(buffer: Var) -> bool:
    """A cell of a thread."""
    return is_private(buffer) and all(constant(size) == 1 for size in buffer.shape)
