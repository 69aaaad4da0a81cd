"""Detects changes of Python objects in the body of a condition or a loop of the kernel.

Python runs the body of such an ``if`` or loop once, to build it: a list that it appends to grows once, whichever side
runs and however often. So the Python state that a function can reach is recorded before, and a change is an error.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tilecore.errors import LanguageError
from tilecore.frontend.python_content import (
    MISSING,
    PLAIN,
    attributes_of,
    cell_content,
    content_of,
    is_users,
    same_content,
    same_plain,
)

if TYPE_CHECKING:
    from tilecore.tracing.builder import Builder

# methods that change a container; calls of these names are checked before they happen
MUTATING = frozenset(
    "append appendleft extend extendleft insert pop popleft popitem remove clear sort reverse rotate update setdefault "
    "add discard intersection_update difference_update symmetric_difference_update".split()
)
_MOST_OBJECTS = 20_000
_MOST_CODES = 4_000
_names: dict[int, tuple[types.CodeType, list[str]]] = {}  # by the code's id: the code, which so keeps it, and its names


class Watch:
    """A snapshot of the mutable Python state that the function of ``frame`` can reach.

    own_names: the names that the block itself assigns; branches.py checks those.
    """

    def __init__(self, frame: types.FrameType, own_names: tuple[str, ...]) -> None:
        self.frame = frame
        self.objects: dict[int, tuple[str, Any, Any]] = {}  # by id: how it is reached, the object, what it held
        self.iterators: dict[int, Any] = {}
        self.cells = _captured(frame, own_names)
        self._collect(_roots(frame))

    def _collect(self, roots: list[tuple[str, Any]]) -> None:
        seen: set[int] = set()
        pending = roots[::-1]
        while pending and len(seen) < _MOST_OBJECTS:
            path, value = pending.pop()
            if isinstance(value, PLAIN) or id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, Iterator):
                self.iterators[id(value)] = value
            content = content_of(value)
            if content is not None:
                self.objects[id(value)] = (path, value, content)
            pending += _children(path, value, self.frame.f_globals)

    def path_of(self, value: Any) -> str | None:
        """How the object is reached, if it was there before the block."""
        entry = self.objects.get(id(value))
        return None if entry is None else entry[0]

    def check(self, builder: Builder, where: str) -> None:
        """Raise LanguageError if the block has changed something."""
        for path, value, content in self.objects.values():
            if not same_content(content, content_of(value)):
                raise changed(path, where, builder)
        for name, before in self.cells.items():
            after = self.frame.f_locals.get(name, MISSING)
            if before is not MISSING and not same_plain(before, after):
                raise changed(name, where, builder)


def changed(path: str, where: str, builder: Builder) -> LanguageError:
    return LanguageError(
        f"`{path}` is changed inside {where} that runs in the kernel",
        found="a change of a Python object, which happens once, while the kernel is built, whichever side runs and "
        "however often",
        expected="memory of the kernel for values that change when it runs",
        hint="use a T.alloc_var, or T.alloc_local for several values; or create the object inside the block; "
        "or use a Python value as the condition, and a Python list in the loop, so that Python runs it",
    ).at(builder.location)


def check_change(value: Any, builder: Builder) -> None:
    """Raise LanguageError where ``value`` is about to change and was there before an open block of the kernel."""
    for watch in builder.watches:
        path = watch.path_of(value)
        if path is not None:
            raise changed(path, "a loop or an `if`", builder)


def check_advance(iterator: Any, builder: Builder) -> None:
    """Raise LanguageError where an iterator from before an open block of the kernel is about to be advanced."""
    if any(id(iterator) in watch.iterators for watch in builder.watches):
        raise LanguageError(
            "a Python iterator is advanced inside a loop or an `if` that runs in the kernel",
            found="a step that happens once, while the kernel is built",
            hint="collect the values in a list before, or loop over a Python list, so that Python runs the loop",
        ).at(builder.location)


def _children(path: str, value: Any, names: dict[str, Any]) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"{path}[{key!r}]" if isinstance(key, PLAIN) else path, inner) for key, inner in value.items()]
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return [(f"{path}[{position}]", inner) for position, inner in enumerate(value)]
    if isinstance(value, types.CellType):
        return [(path, cell_content(value))]
    if isinstance(value, functools.partial):
        return [(path, value.func), (path, value.args), (path, value.keywords)]
    if isinstance(value, types.MethodType):
        return [(path, value.__self__), (path, value.__func__)]
    if isinstance(value, types.FunctionType):
        return _reachable_from_function(value, names)
    if type(value).__module__ == "tilecore.language.script" and hasattr(value, "function"):  # a T.macro
        return [(path, value.function)]
    return [(f"{path}.{name}", inner) for name, inner in attributes_of(value).items()] if is_users(value) else []


def _reachable_from_function(function: types.FunctionType, names: dict[str, Any]) -> list[tuple[str, Any]]:
    """What a function of the user's can change: its cells, its defaults, and the globals that it names."""
    code = function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    reachable: list[tuple[str, Any]] = [(name, cell) for name, cell in cells if not name.startswith("__tc")]
    reachable += [("a default argument", value) for value in function.__defaults__ or ()]
    if function.__globals__ is names:
        reachable += [(name, names[name]) for name in _names_of(code) if name in names]
    return reachable


def _names_of(code: types.CodeType) -> list[str]:
    """The names of globals and attributes in a function and in those that it defines. They are kept by the code's id:
    each loop of a kernel asks for those of the whole kernel."""
    known = _names.get(id(code))
    if known is not None:
        return known[1]
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(dict.fromkeys(_names_of(constant)))
    if len(_names) >= _MOST_CODES:
        _names.clear()
    result = [name for name in names if not name.startswith("__tc")]
    _names[id(code)] = code, result
    return result


def _roots(frame: types.FrameType) -> list[tuple[str, Any]]:
    local = [(name, value) for name, value in frame.f_locals.items() if not name.startswith("__tc")]
    named = [(name, frame.f_globals[name]) for name in _names_of(frame.f_code) if name in frame.f_globals]
    return local + named


def _captured(frame: types.FrameType, own_names: tuple[str, ...]) -> dict[str, Any]:
    """The names that nested functions share with this one, and so can assign."""
    names = {*frame.f_code.co_cellvars, *frame.f_code.co_freevars} - set(own_names)
    return {name: frame.f_locals.get(name, MISSING) for name in names if not name.startswith("__tc")}
