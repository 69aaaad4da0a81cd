"""Jumps in loops of CuTe DSL, which has none on the device: two flags in the thread's memory take their place.

A loop goes on while its first flag holds, and an iteration while its second one does: what follows a statement that may
jump is under a condition on it. A `for` that was left still counts to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tile_cuda.cutedsl.words import CuteDslSyntax
from tilecore.codegen.text import call
from tilecore.ir.nodes import AttrStmt, Break, Continue, For, IfThenElse, SeqStmt, Stmt, While


class Flags(NamedTuple):
    """The names of a loop's flags."""

    loop: str
    iteration: str


def jumps_in(node: Any) -> bool:
    """Whether a statement may leave an iteration of the loop around it."""
    if isinstance(node, (Break, Continue)):
        return True
    if isinstance(node, SeqStmt):
        return any(jumps_in(part) for part in node.seq)
    if isinstance(node, IfThenElse):
        return jumps_in(node.then_case) or (node.else_case is not None and jumps_in(node.else_case))
    return isinstance(node, AttrStmt) and jumps_in(node.body)


class Jumps(CuteDslSyntax):
    """Emits loops with `break` and `continue`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._flags: list[Flags | None] = []  # of the loops around a statement; None: of a loop without jumps
        self._entered: Flags | None = None  # of the loop whose head is emitted next

    def declare_memory(self, line: str) -> None:
        """A declaration of memory in front of the kernel's code."""
        raise NotImplementedError

    def emit_for(self, node: For) -> None:
        flags = self._begin(node)
        self._entered = flags
        super().emit_for(node)
        self._flags.pop()

    def emit_while(self, node: While) -> None:
        flags = self._begin(node)
        condition = self.value(node.condition)
        if flags is not None:
            condition = call("tc.choose", f"{flags.loop}[0]", f"lambda: {condition}", "lambda: False", "Boolean")
        self.block(self.while_head(condition), node.body)
        self._flags.pop()

    def _begin(self, node: For | While) -> Flags | None:
        """The flags of a loop that begins, if it has jumps."""
        flags = None
        if jumps_in(node.body):
            flags = Flags(self.names.take("goes_on"), self.names.take("is_on"))
            for name in flags:
                self.declare_memory(f"{name} = tc.local(Boolean, 1)")
            self._plain_line(f"tc.store({flags.loop}, 0, True)")
        self._flags.append(flags)
        return flags

    def block(self, head: str, body: Stmt, tail: str | None = None) -> None:
        flags = self._flags[-1] if self._flags else None
        is_for, self._entered = self._entered is not None, None
        if flags is None:
            super().block(head, body, tail)
            return
        self.line(f"{head}{self.block_start}")
        self.depth += 1
        if is_for:
            self._plain_line(f"if {flags.loop}[0]:")
            self.depth += 1
        self._plain_line(f"tc.store({flags.iteration}, 0, True)")
        self.emit(body)
        self.depth -= 1 + is_for

    def emit_sequence(self, node: SeqStmt) -> None:
        self._emit_parts(list(node.seq))

    def _emit_parts(self, parts: Sequence[Stmt]) -> None:
        for position, part in enumerate(parts):
            self.emit(part)
            flags = self._flags[-1] if self._flags else None
            if flags is not None and position + 1 < len(parts) and jumps_in(part):
                self._plain_line(f"if {flags.iteration}[0]:")
                self.depth += 1
                self._emit_parts(parts[position + 1 :])
                if self.lines[-1].endswith("[0]:"):
                    self._plain_line(self.empty_block())
                self.depth -= 1
                return

    def emit_break(self, node: Break) -> None:
        self._jump(*self._around())

    def emit_continue(self, node: Continue) -> None:
        self._jump(self._around().iteration)

    def _around(self) -> Flags:
        flags = self._flags[-1]
        assert flags is not None, "a jump without a loop"
        return flags

    def _jump(self, *names: str) -> None:
        for name in names:
            self.line(f"tc.store({name}, 0, False)")
