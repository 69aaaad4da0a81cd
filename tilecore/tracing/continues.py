"""Writes ``continue`` in a loop of independent iterations as conditions: what follows becomes the other side.

    for i in T.Parallel(n):                  for i in T.Parallel(n):
        if A[i] > 3:                             if A[i] > 3:
            B[i] = 1                                 B[i] = 1
            continue                             else:
        C[i] = 2                                     C[i] = 2

So passes of such loops need not know of jumps.
"""

from __future__ import annotations

from typing import NoReturn

from tilecore.errors import LanguageError
from tilecore.ir.build import seq, statements_of
from tilecore.ir.nodes import Continue, For, IfThenElse, Stmt, While
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import collect


def without_continues(body: Stmt) -> Stmt:
    """The body of a loop without its ``continue``; inner loops keep theirs. Raises LanguageError where what follows
    would have to stand twice: one side of a condition goes on in some cases and not in others."""
    if not collect(body, Continue):
        return body
    return seq(_rewritten(statements_of(body)))


def _rewritten(statements: list[Stmt]) -> list[Stmt]:
    for position, statement in enumerate(statements):
        if isinstance(statement, Continue):
            return statements[:position]
        if isinstance(statement, (For, While)) or not collect(statement, Continue):
            continue
        if not isinstance(statement, IfThenElse):
            _refuse(statement)
        if not _may_continue(statement):  # but a loop in it does
            continue
        rest = statements[position + 1 :]
        sides = _sides(statement)
        goes_on = [not _always_continues(side) for side in sides]
        if all(goes_on) and rest:
            _refuse(statement)
        then, other = (_rewritten([*side, *rest] if on else side) for side, on in zip(sides, goes_on, strict=True))
        condition = IfThenElse(statement.condition, seq(then), seq(other) if other else None, span=statement.span)
        return [*statements[:position], condition]
    return statements


def _may_continue(statement: Stmt) -> bool:
    """Is there a ``continue`` of this loop in the statement?"""
    if isinstance(statement, (For, While)):
        return False
    if isinstance(statement, IfThenElse):
        return any(_may_continue(one) for side in _sides(statement) for one in side)
    return isinstance(statement, Continue)


def _sides(statement: IfThenElse) -> list[list[Stmt]]:
    return [[] if side is None else statements_of(side) for side in (statement.then_case, statement.else_case)]


def _always_continues(statements: list[Stmt]) -> bool:
    """Does every path through the statements end in a ``continue``?"""
    return any(
        isinstance(one, Continue)
        or (isinstance(one, IfThenElse) and all(_always_continues(side) for side in _sides(one)))
        for one in statements
    )


def _refuse(statement: Stmt) -> NoReturn:
    jump = next(iter(collect(statement, Continue)))
    raise LanguageError(
        "`continue` stands in a block within a block of a T.Parallel loop, and the outer one goes on otherwise",
        hint="guard the rest of the body with `if`, or join the conditions: `if a and b: continue`",
        location=location_of_span(jump.span),
    )
