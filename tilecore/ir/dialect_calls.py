"""Finds and refuses calls of names that one backend adds to the language: each carries the target kind and the name."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tilecore.errors import WrongTargetError
from tilecore.ir.attributes import CallAttr, StatementAttr
from tilecore.ir.names import LEAVE_THE_CHOICE
from tilecore.ir.nodes import AttrStmt, Call, Stmt
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_ranges import has_ranges
from tilecore.ir.visit import children, collect


def dialect_of(call: Call) -> tuple[str, str] | None:
    """(kind of target, name in the language) of a call; None where it is the core's."""
    attrs = call.attrs
    if attrs is None or CallAttr.DIALECT not in attrs:
        return None
    return str(attrs[CallAttr.DIALECT]), str(attrs[CallAttr.CALLED])


def dialect_calls(body: Any) -> list[tuple[Call, str, str]]:
    """(call, kind of target, name in the language), in order."""
    calls = ((call, dialect_of(call)) for call in collect(body, Call))
    return [(call, *kind) for call, kind in calls if kind is not None]


def has_dialect_calls(body: Any, kind: str) -> bool:
    """Are there calls of names of the language that only targets of this ``kind`` have?"""
    return any(call_kind == kind for _, call_kind, _ in dialect_calls(body))


def refuse_dialects(
    body: Stmt,
    where: str,
    kind: str = "",
    takes_ranges: bool = False,
    expected: str | None = None,
    allowed: Collection[str] = (),
    requires: str | None = None,
) -> None:
    """Raise WrongTargetError for the first call of a language that is not of target ``kind``.

    where: what does not support the call, for the message. expected: what supports it, if not any target of the kind.
    takes_ranges: whether code for a range of the threads of a block is supported. allowed: names in the language that
    are supported whatever their target. requires: the architecture of the kind that has the others, for the message.
    """
    if not dialect_calls(body) and (takes_ranges or not has_ranges(body)):
        return
    spans: list[Any] = []

    def look(node: Stmt) -> None:
        spans.append(getattr(node, "span", None))
        if isinstance(node, AttrStmt) and node.attr_key == StatementAttr.THREADS and not takes_ranges:
            raise _refused("code for some threads of a block (T.ws)", "", where, spans, None, None)
        for part in (getattr(node, name, None) for name in ("value", "condition", "min", "extent", "indices")):
            for _, call_kind, called in () if part is None else dialect_calls(part):
                if call_kind != kind and called not in allowed:
                    raise _refused(called, call_kind, where, spans, expected, requires)
        for child in children(node):
            look(child)
        spans.pop()

    look(body)


def _refused(
    called: str, kind: str, where: str, spans: list[Any], expected: str | None, requires: str | None
) -> WrongTargetError:
    place = next((span for span in reversed(spans) if span is not None), None)
    of_kind = f"{called} requires {requires}" if requires else f"{called} belongs to the target {kind!r}"
    return WrongTargetError(
        of_kind if kind else f"{called} is not available on every target",
        location=location_of_span(place),
        found=where,
        expected=expected or (f"target={kind!r}" if kind else "a target that runs a block on many threads"),
        hint=LEAVE_THE_CHOICE,
    )
