"""Wraps a backend's passes and implementations of tile operations: checks every field and guards every call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilecore.caller import levels_to_user
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.origin import title
from tilecore.contract.passes import Pass, PassEdit
from tilecore.contract.state import PassState
from tilecore.ir.names import TILE_OP_NAMES
from tilecore.nearest import nearest
from tilecore.plugins.answers import check_fields, guarded_by, obeys
from tilecore.plugins.checking import FLAG, TEXT, Rule, is_int, is_text, shown, takes, wrong
from tilecore.plugins.guard import guarded

if TYPE_CHECKING:
    from tilecore.contract.origin import Origin
    from tilecore.contract.records import Lowering


def _is_state_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, PassState)


PLACES = ("before", "after")
EDIT = {
    "action": TEXT,  # lowering/edits.py checks which action it is
    "at": TEXT,
    "step": Rule("a Pass, or None to remove one", lambda value: value is None or isinstance(value, Pass)),
    "where": Rule(", ".join(map(repr, PLACES)), lambda value: value in PLACES),
}
STATE_CLASSES = Rule(
    "a tuple of classes that derive from PassState",
    lambda value: isinstance(value, (tuple, list)) and all(map(_is_state_class, value)),
)
PASS = {
    "name": TEXT,
    "run": takes(2),
    "needs": STATE_CLASSES,
    "leaves": STATE_CLASSES,
    "runs_implementations": FLAG,
}
IMPLEMENTATION = {
    "op": TEXT,
    "name": TEXT,
    "lower": takes(2),
    "matches": takes(2),
    "priority": Rule("an int", is_int),
    "needs_layouts": FLAG,
    "layouts": takes(2),
    "late": FLAG,
    "fragments": takes(3),
    "relate": takes(2),
    "last_resort": FLAG,
    "in_place": takes(2),
    "copies_in_passing": takes(2),
    "needs": STATE_CLASSES,
    "leaves": STATE_CLASSES,
}
REASON = Rule(
    "None where the implementation applies, else the reason why not", lambda value: value is None or is_text(value)
)

OPERANDS = Rule(
    "a set of names of operands",
    lambda value: isinstance(value, (set, frozenset)) and all(is_text(name) for name in value),
)


def guard_lowering(origin: Origin, lowering: Lowering) -> Lowering:
    if lowering.stand_in is not None:
        text = f"{title(origin)}: Lowering.stand_in has no effect, as no pass runs under a TVM target; leave it out"
        warnings.warn(text, DeprecationWarning, stacklevel=levels_to_user())
    return replace(
        lowering,
        edits=tuple(_guard_edit(origin, edit) for edit in lowering.edits),
        implementations=tuple(_guard_implementation(origin, impl) for impl in lowering.implementations),
    )


def _guard_edit(origin: Origin, edit: Any) -> PassEdit:
    _check_element(origin, "Lowering.edits", edit, PassEdit)
    check_fields(origin, "Lowering.edits: ", edit, EDIT)
    step = edit.step
    if step is None:
        return edit
    check_fields(origin, "Lowering.edits: ", step, PASS)
    callee = f"pass {step.name}"
    return replace(edit, step=replace(step, run=_guarded_late(origin, callee, step.run, _function)))


def _guard_implementation(origin: Origin, impl: Any) -> TileOpImpl:
    _check_element(origin, "Lowering.implementations", impl, TileOpImpl)
    check_fields(origin, "Lowering.implementations: ", impl, IMPLEMENTATION)
    if impl.op not in TILE_OP_NAMES and "." not in impl.op:
        close = nearest(impl.op, TILE_OP_NAMES)
        expected = repr(close) if close else ", ".join(TILE_OP_NAMES)
        message = f"Lowering.implementations: {impl.name!r} implements {impl.op!r}, which is not a tile operation"
        raise wrong(origin, message, repr(impl.op), f"{expected}, or an operation of the backend, <kind>.<name>")
    name = f"the implementation {impl.name} of T.{impl.op}"
    return replace(
        impl,
        matches=guarded_by(origin, f"{name}: matches", impl.matches, REASON),
        layouts=_guarded_late(origin, f"{name}: layouts", impl.layouts, _buffer_layouts),
        fragments=_guarded_late(origin, f"{name}: fragments", impl.fragments, _fragment_layouts),
        relate=_guarded_late(origin, f"{name}: relate", impl.relate, _related_layouts),
        in_place=guarded_by(origin, f"{name}: in_place", impl.in_place, OPERANDS),
        copies_in_passing=guarded_by(origin, f"{name}: copies_in_passing", impl.copies_in_passing, OPERANDS),
        lower=_guarded_late(origin, f"{name}: lower", impl.lower, _statement),
    )


# -- rules for results that are IR: the types are imported when the function has run ------------------------------


def _function() -> Rule:
    from tilecore.ir.nodes import IRModule, PrimFunc

    return Rule("a PrimFunc or an IRModule", lambda value: isinstance(value, (PrimFunc, IRModule)))


def _statement() -> Rule:
    from tilecore.ir.nodes import Stmt

    return Rule("a Stmt", lambda value: isinstance(value, Stmt))


def _buffer_layouts() -> Rule:
    from tilecore.ir.layout import BufferLayout

    return _table("a dict of buffers to their BufferLayouts", lambda layout: isinstance(layout, BufferLayout))


def _fragment_layouts() -> Rule:
    from tilecore.contract.implementation import SHARED
    from tilecore.ir.fragments import FragmentLayout

    words = "a dict of buffers to their FragmentLayouts, or to SHARED"
    return _table(words, lambda layout: isinstance(layout, FragmentLayout) or layout == SHARED)


def _related_layouts() -> Rule:
    from tilecore.ir.fragments import FragmentLayout

    return _table("a dict of buffers to their FragmentLayouts", lambda layout: isinstance(layout, FragmentLayout))


def _table(words: str, holds: Callable[[Any], bool]) -> Rule:
    from tilecore.ir.nodes import Var

    def is_table(value: Any) -> bool:
        return isinstance(value, Mapping) and all(isinstance(k, Var) and holds(v) for k, v in value.items())

    return Rule(words, is_table)


def _guarded_late(origin: Origin, callee: str, function: Callable[..., Any], rule: Callable[[], Rule]) -> Any:
    return guarded(origin, callee, function, lambda result: obeys(origin, callee, rule())(result))


def _check_element(origin: Origin, where: str, element: Any, kind: type) -> None:
    if not isinstance(element, kind):
        raise wrong(origin, f"{where} holds an element of a wrong type", shown(element), f"a {kind.__name__}")
