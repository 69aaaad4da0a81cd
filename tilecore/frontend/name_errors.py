"""Errors for names and attributes that a kernel's body uses and that are not there: where, and which was meant."""

from __future__ import annotations

import builtins
import linecache
import re
import sys
from types import FrameType, TracebackType

from tilecore.caller import is_own, place_in
from tilecore.errors import LanguageError, Location, TilecoreError
from tilecore.frontend.syntax import HOOKS
from tilecore.nearest import did_you_mean, nearest
from tilecore.tracing.builder import Builder

_UNASSIGNED = re.compile(r"(?:local|free) variable '(\w+)'")
_TENSOR_TYPE = re.compile(r":\s*[\w.]*(?:Tensor|Buffer)\b")


class NoSuchAttributeError(LanguageError, AttributeError):
    """A value has no such attribute; an AttributeError, as in Python."""


class UnknownNameError(LanguageError, NameError):
    """A name that is not defined, such as one of the language without ``T.`` before it; a NameError, as in Python."""


class UnassignedNameError(LanguageError, UnboundLocalError):
    """A variable that is read before it is assigned; an UnboundLocalError, as in Python."""


def name_error(error: NameError, builder: Builder) -> TilecoreError | None:
    """The error for a name that has no value where the body uses it; None for one that the user raised."""
    import tilecore.language as language

    raised, name = _raised_at(error), getattr(error, "name", None)
    unassigned = _UNASSIGNED.search(str(error))
    if raised is None or (name is None and unassigned is None):
        return None
    where = place_in(raised.tb_frame, raised.tb_lasti)
    if unassigned is not None:
        kind = UnassignedNameError if isinstance(error, UnboundLocalError) else UnknownNameError
        return kind(str(error), location=where, hint=f"assign {unassigned[1]!r} before this line, in every branch")
    if name in language.__all__:
        hint: str | None = (
            f"the language's function is T.{name}: write `import tilecore.language as T` at the top of the file"
        )
    else:
        scope = _names_in_scope(raised.tb_frame)
        meant = nearest(name, [*scope, *language.__all__])
        size = None if meant in scope else _size_hint(str(name), where, builder)
        written = "{!r}" if meant in scope else "T.{}"
        hint = size or (f"did you mean {written.format(meant)}?" if meant else None)
    return UnknownNameError(str(error), location=where, hint=hint)


def _names_in_scope(frame: FrameType) -> list[str]:
    """The names that the code of a frame can use, and the local ones of the function that defines it."""
    known = {*frame.f_locals, *frame.f_globals, *dir(builtins)}
    caller: FrameType | None = sys._getframe(1)
    while caller is not None:
        defined = (getattr(constant, "co_name", None) for constant in caller.f_code.co_consts)
        if frame.f_code.co_name in defined and not is_own(caller.f_code.co_filename):
            known.update(caller.f_locals)
        caller = caller.f_back
    return sorted(name for name in known if not name.startswith(HOOKS))


def _size_hint(name: str, where: Location, builder: Builder) -> str | None:
    """How the size of a tensor gets its name, where the name stands in a tensor's shape; None elsewhere."""
    line = linecache.getline(where.file, where.line)
    at = re.search(rf"\b{name}\b", line[where.column :])
    before = _TENSOR_TYPE.split(line[: where.column + at.start()] if at else "")
    depth = sum(before[-1].count(bracket) for bracket in "([") - sum(before[-1].count(bracket) for bracket in ")]")
    if len(before) == 1 or depth < 2:
        return None
    if builder.on_const is None:
        return f'write {name} = T.dynamic("{name}") in front of the function for a size that each call gives'
    return f'write {name} = T.const("{name}") in front of this line: it is read off the tensor of each call'


def attribute_error(error: AttributeError, builder: Builder) -> TilecoreError | None:
    """The error for an attribute that a value of Python, such as a module, does not have; None for one that other code
    than the body raised."""
    raised, name, place = _raised_at(error), getattr(error, "name", None), builder.location
    if raised is None or name is None or place is None or raised.tb_frame.f_code.co_filename != place.file:
        return None
    where = place_in(raised.tb_frame, raised.tb_lasti)
    return NoSuchAttributeError(str(error), location=where, hint=did_you_mean(name, dir(error.obj)))


def _raised_at(error: Exception) -> TracebackType | None:
    """The innermost entry of the error's traceback."""
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    return entry
