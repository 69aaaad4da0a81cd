"""Moves what the whole block does together out of conditions on the thread index.

``if tx < 128: T.copy(A, B)`` says which threads copy. That does not change the result, as long as there are such
threads, so that the block does it together, as elsewhere; statements of threads by themselves stay under the condition.
This holds for conditions on the thread index alone that a range of whole warps, or one thread, satisfies. Others are
errors (lowering/normalize/check_threads.py). Kernels that use names of one chip's language are left as they are: there
such a condition divides the threads (lowering/simt/find_ranges.py).
"""

from __future__ import annotations

from typing import Any

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import all_of, conjuncts, const, constant, dtype_of, is_nothing, seq, where, with_body
from tilecore.ir.dialect_calls import dialect_calls
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    Call,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    IterVar,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    While,
    tirx,
)
from tilecore.ir.scopes import is_private
from tilecore.ir.thread_ranges import has_ranges
from tilecore.ir.tile_ops import as_tile_call, is_barrier
from tilecore.ir.visit import collect, jumps_out, substitute, variables

WARP = 32


def gather_collectives(body: Stmt) -> Stmt:
    """The body, in which the block executes tile operations and T.Parallel under conditions on the thread index."""
    if dialect_calls(body) or has_ranges(body):
        return body
    return _Gather().statement(body)


def _is_collective(node: Any) -> bool:
    """Is there something in the statement that the block does together?"""
    if isinstance(node, For) and node.kind == ForKind.PARALLEL:
        return True
    for statement in collect(node, Evaluate, For):
        call = as_tile_call(statement) if isinstance(statement, Evaluate) else None
        if isinstance(statement, For) and statement.kind == ForKind.PARALLEL:
            return True
        if call is not None and call.op.collective and not any(is_private(region.source) for region in call.regions):
            is_element = call.op.name == "atomic" and all(constant(r.extent) == 1 for r in call.dst.region)
            if not is_element:
                return True
    return False


class _Gather:
    """axes: the variables of thread indices of the kernel, with their extents. letters: the axis of each. values: what
    variables hold that are computed from thread indices alone."""

    def __init__(self) -> None:
        self.axes: dict[Var, int] = {}
        self.letters: dict[Var, str] = {}
        self.values: dict[Var, Any] = {}

    def statement(self, node: Any) -> Stmt:
        if isinstance(node, SeqStmt):
            parts = [self.statement(part) for part in node.seq]
            changed = any(not new.same_as(old) for new, old in zip(parts, node.seq, strict=True))
            return seq(parts) if changed else node
        if isinstance(node, (For, While, AttrStmt)):
            return self._compound(node)
        if isinstance(node, IfThenElse):
            return self._branch(node)
        if isinstance(node, Bind) and not collect(node.value, TensorLoad, Call):
            value = substitute(node.value, self.values)
            if variables(value) and variables(value) <= self.axes.keys():
                self.values[node.var] = value
        return node  # type: ignore[no-any-return]

    def _compound(self, node: Any) -> Stmt:
        outside = dict(self.axes)
        if isinstance(node, AttrStmt) and node.attr_key == StatementAttr.AXIS and isinstance(node.node, IterVar):
            extent = constant(node.value)
            if str(node.node.thread_tag).startswith("threadIdx") and extent is not None:
                self.axes[node.node.var] = extent
                self.letters[node.node.var] = str(node.node.thread_tag)
        body = self.statement(node.body)
        self.axes = outside
        return node if body.same_as(node.body) else _with_body(node, body)

    def _branch(self, node: IfThenElse) -> Stmt:
        then = self.statement(node.then_case)
        other = None if node.else_case is None else self.statement(node.else_case)
        same = then.same_as(node.then_case) and (other is None or other.same_as(node.else_case))
        plain = node if same else IfThenElse(node.condition, then, other, span=node.span)
        gathered = [side for side in (then, other) if side is not None and _is_collective(side)]
        if not gathered or any(map(jumps_out, gathered)):
            return plain
        condition = substitute(node.condition, self.values)
        of_threads = [part for part in conjuncts(condition) if self._is_of_threads(part)]
        others = [part for part in conjuncts(condition) if not self._is_of_threads(part)]
        if not of_threads or (others and other is not None) or any(variables(p) & self.axes.keys() for p in others):
            return plain
        satisfying = self._satisfying(all_of(of_threads))
        sides = [(then, all_of(of_threads), satisfying)]
        if other is not None:
            rest = [n for n in range(self._threads()) if n not in set(satisfying)]
            sides.append((other, tirx.Not(all_of(of_threads)), rest))
        parts: list[Stmt] = []
        for side, holds, threads in sides:
            if _is_collective(side) and not _is_range(threads):
                return plain
            separated = self._separated(side, holds) if _is_collective(side) else [where([holds], side)]
            if separated is None:
                return plain
            parts += separated
        return where(others, seq(parts))

    def _is_of_threads(self, condition: Any) -> bool:
        names = variables(condition)
        return bool(names) and names <= self.axes.keys() and not collect(condition, TensorLoad, Call)

    def _threads(self) -> int:
        count = 1
        for extent in self.axes.values():
            count *= extent
        return count

    def _satisfying(self, condition: Any) -> list[int]:
        """The threads that satisfy a condition, by their linear indices."""
        analyzer, satisfying = Analyzer(), []
        for thread in range(self._threads()):
            indices, rest = {}, thread
            for var, extent in self._from_x():
                indices[var] = const(rest % extent, dtype_of(var))
                rest //= extent
            if constant(analyzer.simplify(substitute(condition, indices))):
                satisfying.append(thread)
        return satisfying

    def _from_x(self) -> list[tuple[Var, int]]:
        return sorted(self.axes.items(), key=lambda item: self.letters[item[0]])

    def _separated(self, node: Any, condition: Any) -> list[Stmt] | None:
        """The statements of a side with ``condition`` around those of threads; None where it cannot be divided."""
        statements: list[Stmt] = []
        of_threads: list[Stmt] = []

        def flush() -> None:
            if of_threads:
                statements.append(IfThenElse(condition, seq(of_threads), None, span=of_threads[0].span))
                of_threads.clear()

        for part in node.seq if isinstance(node, SeqStmt) else [node]:
            if is_nothing(part):
                continue
            if isinstance(part, (AllocBuffer, DeclBuffer)) or self._is_value_of_block(part):
                if isinstance(part, Bind) and collect(part.value, TensorLoad):
                    flush()  # what the statements before it write
                statements.append(part)
            elif not _is_collective(part) and not is_barrier(part):
                of_threads.append(part)
            else:
                flush()
                inner = self._collective(part, condition)
                if inner is None:
                    return None
                statements.append(inner)
        flush()
        return statements if _is_in_scope(statements) else None

    def _is_value_of_block(self, node: Any) -> bool:
        """Does the statement name a value that any thread may compute, because some thread loads the same?"""
        if not isinstance(node, Bind) or collect(node.value, Call):
            return False
        loads = collect(node.value, TensorLoad)
        reads_shared = all(not is_private(load.source) for load in loads)
        return not loads or (reads_shared and not variables(node.value) & (self.axes.keys() | self.values.keys()))

    def _collective(self, node: Any, condition: Any) -> Stmt | None:
        if isinstance(node, Evaluate) or (isinstance(node, For) and node.kind == ForKind.PARALLEL):
            return node
        if isinstance(node, For):
            inner = self._separated(node.body, condition)
            return None if inner is None else with_body(node, seq(inner))
        if isinstance(node, IfThenElse) and not variables(node.condition) & self.axes.keys():
            sides = [self._separated(side, condition) for side in (node.then_case, node.else_case) if side is not None]
            if any(side is None for side in sides):
                return None
            cases = [seq(side) for side in sides if side is not None]
            return IfThenElse(node.condition, cases[0], cases[1] if len(cases) > 1 else None, span=node.span)
        return None


def _is_range(threads: list[int]) -> bool:
    """Are these threads one, or a range of whole warps?"""
    if len(threads) == 1:
        return True
    is_contiguous = bool(threads) and threads[-1] - threads[0] + 1 == len(threads)
    return is_contiguous and threads[0] % WARP == 0 and len(threads) % WARP == 0


def _is_in_scope(statements: list[Stmt]) -> bool:
    """Is no variable used outside of the part that defines it?"""
    for number, part in enumerate(statements):
        defined = {bind.var for bind in collect(part, Bind)} if isinstance(part, IfThenElse) else set()
        if defined and any(variables(later) & defined for later in statements[number + 1 :]):
            return False
    return True


def _with_body(node: Any, body: Stmt) -> Stmt:
    if isinstance(node, For):
        return with_body(node, body)
    if isinstance(node, While):
        return While(node.condition, body, span=node.span)
    return AttrStmt(node.node, node.attr_key, node.value, body, span=node.span)
