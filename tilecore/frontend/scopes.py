"""Checks that loop variables, values and buffers are used only inside the block that defines them.

Python names and containers can carry them out of that block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.errors import LanguageError
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    DeclBuffer,
    For,
    IfThenElse,
    IterVar,
    SeqStmt,
    Stmt,
    Var,
    While,
    is_buffer_var,
)
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import collect

if TYPE_CHECKING:
    from tilecore.tracing.held_values import Readings


def check_scopes(body: Stmt, readings: Readings) -> None:
    """Raise LanguageError for the first use of a variable or buffer whose block has ended."""
    _Scopes(readings).visit(body)


class _Scopes:
    def __init__(self, readings: Readings) -> None:
        self.readings = readings
        self.open: list[list[Var]] = [[]]
        self.ended: dict[Var, Stmt] = {}  # the statement that defined each, after its block has ended
        self.origin: dict[Var, Stmt] = {}

    def visit(self, node: Stmt) -> None:
        if isinstance(node, SeqStmt):
            for inner in node.seq:
                self.visit(inner)
        elif isinstance(node, For):
            self._check(node, node.min, node.extent)
            self._block(node.body, (node.loop_var, node))
        elif isinstance(node, While):
            self._check(node, node.condition)
            self._block(node.body)
        elif isinstance(node, IfThenElse):
            self._check(node, node.condition)
            self._block(node.then_case)
            if node.else_case is not None:
                self._block(node.else_case)
        elif isinstance(node, AttrStmt):
            self._check(node, node.value)
            scope_definitions = [(node.node.var, node)] if isinstance(node.node, IterVar) else []
            self._block(node.body, *scope_definitions)
        else:
            self._leaf(node)

    def _block(self, body: Stmt, *definitions: tuple[Var, Stmt]) -> None:
        self.open.append([])
        for var, origin in definitions:
            self._define(var, origin)
        self.visit(body)
        for var in self.open.pop():
            self.ended[var] = self.origin[var]

    def _define(self, var: Var, origin: Stmt) -> None:
        self.ended.pop(var, None)
        self.origin[var] = origin
        self.open[-1].append(var)

    def _leaf(self, node: Stmt) -> None:
        if isinstance(node, Bind):
            self._check(node, node.value)
            self._define(node.var, node)
        elif isinstance(node, (AllocBuffer, DeclBuffer)):
            self._define(node.buffer, node)
        else:
            self._check(node, node)

    def _check(self, statement: Stmt, *values: Any) -> None:
        if not self.ended:
            return
        for value in values:
            for var in collect(value, Var):
                if var in self.ended:
                    raise self._escaped(var, statement)

    def _escaped(self, var: Var, statement: Stmt) -> LanguageError:
        origin = self.ended[var]
        definition = location_of_span(origin.span)
        where = f", in line {definition.line}" if definition is not None else ""
        if is_buffer_var(var):
            subject, kind = f"the buffer {var.name}", "memory allocated in the block of a loop, an `if` or a `with`"
            hint = "allocate it before that block"
        elif isinstance(origin, For):
            subject, kind = (
                f"the variable {var.name} of a loop",
                "the loop's variable, which has a value inside the loop only",
            )
            hint = "store its value in a T.alloc_var or in memory"
        elif isinstance(origin, AttrStmt):
            subject, kind = f"the index {var.name}", "an index of another T.Kernel"
            hint = "use the indices of the T.Kernel that the statement stands in"
        else:
            name = str(self.readings.expanded(var)) if var in self.readings else str(var.name)
            subject, kind = f"the value {name}", "a value computed in the block of a loop, an `if` or a `with`"
            hint = "store it in a T.alloc_var, or in memory, that is allocated before that block"
        return LanguageError(
            f"{subject} is used outside the block that it belongs to",
            found=f"{kind}{where}",
            expected="uses inside that block only, also through Python lists, dicts, names and closures",
            hint=hint,
            location=location_of_span(statement.span),
        )
