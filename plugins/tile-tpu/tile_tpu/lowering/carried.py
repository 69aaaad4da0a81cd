"""Does a step of a loop look at what an earlier step left in a local buffer?"""

from __future__ import annotations

from tile_tpu.ir.overlaps import covers
from tile_tpu.ir.touches import Touch, aliases_of, all_touches, heads, is_leaf, touches_of
from tile_tpu.ir.views import View
from tilecore.ir.build import constant
from tilecore.ir.nodes import (
    AllocBuffer,
    Break,
    Continue,
    DeclBuffer,
    For,
    IfThenElse,
    SeqStmt,
    Stmt,
    Var,
    While,
)
from tilecore.ir.visit import children, collect, variables


class Carried:
    """Of one kernel. A read is covered by what was written since the step began: by a view that has all of it, or by
    one that has all that is ever written to the buffer, as nothing else in there has a value."""

    def __init__(self, kernel: Stmt, lanes: int) -> None:
        self.lanes = lanes
        aliases = aliases_of(kernel)
        self.renamed = {*aliases, *aliases.values()}
        self.writes: dict[Var, list[Touch]] = {}
        for touch in all_touches(kernel):
            if touch.is_local and touch.writes:
                self.writes.setdefault(touch.buffer, []).append(touch)

    def carries(self, loop: For | While, buffer: Var) -> bool:
        """May a step of ``loop`` read something of ``buffer`` that it has not written? When in doubt, yes."""
        if isinstance(loop, While) and self._touched(touches_of(loop.condition), buffer, []) is None:
            return True
        return buffer in self.renamed or self._after(loop.body, buffer, []) is None

    def _after(self, node: Stmt, buffer: Var, written: list[View]) -> list[View] | None:
        """The views written once ``node`` has run; None when it may have read something else first."""
        if isinstance(node, (AllocBuffer, DeclBuffer)):
            return written
        if is_leaf(node):
            return self._touched(touches_of(node), buffer, written)
        for part in heads(node):
            if self._touched(touches_of(part), buffer, written) is None:
                return None
        if isinstance(node, SeqStmt):
            for part in node.seq:
                made = self._after(part, buffer, written)
                if made is None:
                    return None
                written = made
            return written
        if isinstance(node, IfThenElse):
            return self._branches(node, buffer, written)
        if isinstance(node, (For, While)):
            return self._loop(node, buffer, written)
        for child in children(node):
            made = self._after(child, buffer, written)
            if made is None:
                return None
            written = made
        return written

    def _touched(self, touches: list[Touch], buffer: Var, written: list[View]) -> list[View] | None:
        mine = [touch for touch in touches if touch.buffer.same_as(buffer)]
        if any(touch.reads and not self._is_covered(touch, written) for touch in mine):
            return None
        return [*written, *(touch.view for touch in mine if touch.writes and touch.view is not None)]

    def _is_covered(self, read: Touch, written: list[View]) -> bool:
        if read.view is not None and any(covers(view, read.view, self.lanes) for view in written):
            return True
        return any(self._is_everything(view) for view in written)

    def _is_everything(self, view: View) -> bool:
        others = self.writes[view.buffer]
        return all(other.view is not None and covers(view, other.view, self.lanes) for other in others)

    def _branches(self, node: IfThenElse, buffer: Var, written: list[View]) -> list[View] | None:
        then = self._after(node.then_case, buffer, written)
        other = written if node.else_case is None else self._after(node.else_case, buffer, written)
        if then is None or other is None:
            return None
        return [view for view in then if any(covers(one, view, self.lanes) for one in other)]

    def _loop(self, node: For | While, buffer: Var, written: list[View]) -> list[View] | None:
        inside = self._after(node.body, buffer, written)
        if inside is None or isinstance(node, While) or not constant(node.extent):
            return None if inside is None else written
        if collect(node.body, Break, Continue):
            return written
        own = {node.loop_var}
        return [view for view in inside if not own & variables(view.call())]
