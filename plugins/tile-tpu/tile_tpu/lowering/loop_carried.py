"""Does a step of a loop look at what an earlier step left in a local buffer?"""

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
    """Of one kernel. A read is covered by what was written since the step began: by a view that has all of it, or by
    one that has all that is ever written to the buffer, as nothing else in there has a value. A fill for tiles that
    reach beyond a tensor (``if short: fill all``) and the load of what there is make one view together."""

    def __init__(self, kernel: Stmt, lanes: int) -> None:
        self.lanes = lanes
        self.kernel = kernel
        aliases = aliases_of(kernel)
        self.renamed = {*aliases, *aliases.values()}
        self.writes: dict[Var, list[Access]] = {}
        self._found: dict[Any, list[Access]] = {}  # by leaf or expression
        self._inside: dict[Stmt, frozenset[Var]] = {}  # buffers that a statement touches, by statement
        for access in all_accesses(kernel):
            if access.is_local and access.writes:
                self.writes.setdefault(access.buffer, []).append(access)

    def carries(self, loop: For | While, buffer: Var) -> bool:
        """May a step of ``loop`` read something of ``buffer`` that it has not written? When in doubt, yes."""
        if isinstance(loop, While) and self._touched(self._touches(loop.condition), buffer, []) is None:
            return True
        return buffer in self.renamed or self._after(loop.body, buffer, []) is None

    def is_read_first(self, buffer: Var) -> bool:
        """May the kernel read something of ``buffer`` that it has not written? When in doubt, yes."""
        return buffer in self.renamed or self._after(self.kernel, buffer, []) is None

    def _after(self, node: Stmt, buffer: Var, written: list[Written]) -> list[Written] | None:
        """What is written once ``node`` has run; None when it may have read something else first."""
        if buffer not in self._buffers(node):
            return written
        if is_leaf(node):
            return self._touched(self._touches(node), buffer, written)
        for part in heads(node):
            if self._touched(self._touches(part), buffer, written) is None:
                return None
        if isinstance(node, IfThenElse):
            return self._branches(node, buffer, written)
        if isinstance(node, (For, While)):
            return self._loop(node, buffer, written)
        parts = node.seq if isinstance(node, SeqStmt) else children(node)
        for part in parts:
            made = self._after(part, buffer, written)
            if made is None:
                return None
            written = made
        return written

    def _buffers(self, node: Stmt) -> frozenset[Var]:
        known = self._inside.get(node)
        if known is None:
            if isinstance(node, (AllocBuffer, DeclBuffer)):
                known = frozenset()
            elif is_leaf(node):
                known = frozenset(access.buffer for access in self._touches(node))
            else:
                own = (access.buffer for part in heads(node) for access in self._touches(part))
                known = frozenset(own).union(*map(self._buffers, children(node)))
            self._inside[node] = known
        return known

    def _touches(self, node: Any) -> list[Access]:
        known = self._found.get(node)
        if known is None:
            known = self._found[node] = accesses_of(node)
        return known

    def _touched(self, accesses: list[Access], buffer: Var, written: list[Written]) -> list[Written] | None:
        mine = [access for access in accesses if access.buffer.same_as(buffer)]
        if any(access.reads and not self._is_covered(access, written) for access in mine):
            return None
        return [*written, *(Written(access.view) for access in mine if access.writes and access.view is not None)]

    def _is_covered(self, read: Access, written: list[Written]) -> bool:
        views = [one.view for one in written if one.condition is None]
        views += [one.view for one in written if one.condition is not None and self._is_completed(one, written)]
        if read.view is not None and any(covers(view, read.view, self.lanes) for view in views):
            return True
        return any(self._is_everything(view) for view in views)

    def _is_completed(self, maybe: Written, written: list[Written]) -> bool:
        """Does something else write the same view wherever ``maybe`` does not?"""
        return any(one is not maybe and _completes(one, maybe) for one in written)

    def _is_everything(self, view: View) -> bool:
        others = self.writes[view.buffer]
        return all(other.view is not None and covers(view, other.view, self.lanes) for other in others)

    def _branches(self, node: IfThenElse, buffer: Var, written: list[Written]) -> list[Written] | None:
        then = self._after(node.then_case, buffer, written)
        if then is None:
            return None
        if node.else_case is None:
            if collect(node.condition, TensorLoad, Call):
                return written
            return [*written, *(one.only_if(node.condition) for one in then[len(written) :])]
        other = self._after(node.else_case, buffer, written)
        if other is None:
            return None
        plain = [one for one in other if one.condition is None]
        both = (o for o in then if o.condition is None and any(covers(p.view, o.view, self.lanes) for p in plain))
        return list(both)

    def _loop(self, node: For | While, buffer: Var, written: list[Written]) -> list[Written] | None:
        inside = self._after(node.body, buffer, written)
        if inside is None or isinstance(node, While) or not constant(node.extent):
            return None if inside is None else written
        if collect(node.body, Break, Continue):
            return written
        own = {node.loop_var}
        return [one for one in inside if not own & (variables(one.view.call()) | _names(one.condition))]


def _names(condition: Any) -> set[Var]:
    return set() if condition is None else variables(condition)


def _completes(one: Written, maybe: Written) -> bool:
    """Where the condition of ``maybe`` does not hold: is ``one`` written, and does it take all of the same view?"""
    numbers = [(one.view.lane, maybe.view.lane), (one.view.offset, maybe.view.offset)]
    numbers += list(zip(one.view.strides, maybe.view.strides, strict=True))
    analyzer = Analyzer()
    if any(constant(a) is None or constant(a) != constant(b) for a, b in numbers):
        return False
    with analyzer.constraint_scope(analyzer.simplify(tirx.Not(maybe.condition))):
        if one.condition is not None and not analyzer.can_prove(one.condition):
            return False
        for mine, whole in zip(one.view.shape, maybe.view.shape, strict=True):
            known, size = constant(mine), constant(whole)
            if size is None or not (known == size if known is not None else analyzer.can_prove(mine >= size)):
                return False
    return True
