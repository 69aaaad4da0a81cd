"""Loop-carried dependences: whether an iteration reads what an earlier one wrote to a local buffer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tile_tpu.ir.accesses import Access, accesses_of, aliases_of, all_accesses, heads, is_leaf
from tile_tpu.ir.overlaps import covers
from tile_tpu.ir.views import View
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant
from tilecore.ir.nodes import (
    AllocBuffer,
    Break,
    Call,
    Continue,
    DeclBuffer,
    For,
    IfThenElse,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    While,
    tirx,
)
from tilecore.ir.visit import children, collect, variables


@dataclass(frozen=True)
class Written:
    """A view that has been written, under a condition where there is one."""

    view: View
    condition: Any = None

    def only_if(self, condition: Any) -> Written:
        return replace(self, condition=condition if self.condition is None else tirx.And(condition, self.condition))


class LoopCarried:
    """The loop-carried dependences of one kernel.

    A read needs no earlier iteration where a view that was written in this iteration covers it, or covers all that is
    ever written to the buffer. A fill of a tile that reaches beyond a tensor (``if short: fill all``) and the load of
    the elements that exist count as one view.
    """

    def __init__(self, kernel: Stmt, lanes: int) -> None:
        self.lanes = lanes
        self.kernel = kernel
        aliases = aliases_of(kernel)
        self.renamed = {*aliases, *aliases.values()}
        self.writes: dict[Var, list[Access]] = {}
        self._accesses_by_node: dict[Any, list[Access]] = {}  # by leaf or expression
        self._inside: dict[Stmt, frozenset[Var]] = {}  # buffers that a statement accesses, by statement
        for access in all_accesses(kernel):
            if access.is_local and access.writes:
                self.writes.setdefault(access.buffer, []).append(access)

    def carries(self, loop: For | While, buffer: Var) -> bool:
        """Whether an iteration of ``loop`` may read an element of ``buffer`` that it has not written; True in doubt."""
        if isinstance(loop, While) and self._after_accesses(self._accesses(loop.condition), buffer, []) is None:
            return True
        return buffer in self.renamed or self._written_after(loop.body, buffer, []) is None

    def is_read_first(self, buffer: Var) -> bool:
        """Whether the kernel may read an element of ``buffer`` that it has not written; when in doubt, True."""
        return buffer in self.renamed or self._written_after(self.kernel, buffer, []) is None

    def _written_after(self, node: Stmt, buffer: Var, written: list[Written]) -> list[Written] | None:
        """The writes up to the end of ``node``; None where it may read an element that has not been written."""
        if buffer not in self._buffers(node):
            return written
        if is_leaf(node):
            return self._after_accesses(self._accesses(node), buffer, written)
        for part in heads(node):
            if self._after_accesses(self._accesses(part), buffer, written) is None:
                return None
        if isinstance(node, IfThenElse):
            return self._branches(node, buffer, written)
        if isinstance(node, (For, While)):
            return self._loop(node, buffer, written)
        parts = node.seq if isinstance(node, SeqStmt) else children(node)
        for part in parts:
            result = self._written_after(part, buffer, written)
            if result is None:
                return None
            written = result
        return written

    def _buffers(self, node: Stmt) -> frozenset[Var]:
        buffers = self._inside.get(node)
        if buffers is None:
            if isinstance(node, (AllocBuffer, DeclBuffer)):
                buffers = frozenset()
            elif is_leaf(node):
                buffers = frozenset(access.buffer for access in self._accesses(node))
            else:
                head_buffers = (access.buffer for part in heads(node) for access in self._accesses(part))
                buffers = frozenset(head_buffers).union(*map(self._buffers, children(node)))
            self._inside[node] = buffers
        return buffers

    def _accesses(self, node: Any) -> list[Access]:
        accesses = self._accesses_by_node.get(node)
        if accesses is None:
            accesses = self._accesses_by_node[node] = accesses_of(node)
        return accesses

    def _after_accesses(self, accesses: list[Access], buffer: Var, written: list[Written]) -> list[Written] | None:
        buffer_accesses = [access for access in accesses if access.buffer.same_as(buffer)]
        if any(access.reads and not self._is_covered(access, written) for access in buffer_accesses):
            return None
        return [
            *written,
            *(Written(access.view) for access in buffer_accesses if access.writes and access.view is not None),
        ]

    def _is_covered(self, read: Access, written: list[Written]) -> bool:
        views = [write.view for write in written if write.condition is None]
        views += [write.view for write in written if write.condition is not None and self._is_completed(write, written)]
        if read.view is not None and any(covers(view, read.view, self.lanes) for view in views):
            return True
        return any(self._is_everything(view) for view in views)

    def _is_completed(self, maybe: Written, written: list[Written]) -> bool:
        """Whether another write covers the same view wherever ``maybe`` does not happen."""
        return any(write is not maybe and _completes(write, maybe) for write in written)

    def _is_everything(self, view: View) -> bool:
        others = self.writes[view.buffer]
        return all(other.view is not None and covers(view, other.view, self.lanes) for other in others)

    def _branches(self, node: IfThenElse, buffer: Var, written: list[Written]) -> list[Written] | None:
        then = self._written_after(node.then_case, buffer, written)
        if then is None:
            return None
        if node.else_case is None:
            if collect(node.condition, TensorLoad, Call):
                return written
            return [*written, *(write.only_if(node.condition) for write in then[len(written) :])]
        other = self._written_after(node.else_case, buffer, written)
        if other is None:
            return None
        plain = [write for write in other if write.condition is None]
        both = (o for o in then if o.condition is None and any(covers(p.view, o.view, self.lanes) for p in plain))
        return list(both)

    def _loop(self, node: For | While, buffer: Var, written: list[Written]) -> list[Written] | None:
        inside = self._written_after(node.body, buffer, written)
        if inside is None or isinstance(node, While) or not constant(node.extent):
            return None if inside is None else written
        if collect(node.body, Break, Continue):
            return written
        loop_variables = {node.loop_var}
        return [
            write for write in inside if not loop_variables & (variables(write.view.call()) | _names(write.condition))
        ]


def _names(condition: Any) -> set[Var]:
    return set() if condition is None else variables(condition)


def _completes(write: Written, maybe: Written) -> bool:
    """Whether ``write`` happens and covers the same view wherever the condition of ``maybe`` does not hold."""
    numbers = [(write.view.lane, maybe.view.lane), (write.view.offset, maybe.view.offset)]
    numbers += list(zip(write.view.strides, maybe.view.strides, strict=True))
    analyzer = Analyzer()
    if any(constant(a) is None or constant(a) != constant(b) for a, b in numbers):
        return False
    with analyzer.constraint_scope(analyzer.simplify(tirx.Not(maybe.condition))):
        if write.condition is not None and not analyzer.can_prove(write.condition):
            return False
        for extent, full_extent in zip(write.view.shape, maybe.view.shape, strict=True):
            constant_extent, size = constant(extent), constant(full_extent)
            if size is None or not (
                constant_extent == size if constant_extent is not None else analyzer.can_prove(extent >= size)
            ):
                return False
    return True
