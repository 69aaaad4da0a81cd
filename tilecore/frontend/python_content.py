"""Snapshots of the contents of Python objects, to detect changes, and comparison of values."""

from __future__ import annotations

import functools
import inspect
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

from tilecore.language.values import KernelValue

CONTAINERS = (list, dict, set, deque, bytearray)
PLAIN = (int, float, complex, str, bytes, bool, type(None))
_FOREIGN = ("tilecore", "tvm", "tvm_ffi", "torch", "numpy", "builtins", "types")  # whose objects are not looked into
_MOST_ELEMENTS = 4096  # of an array


def content_of(value: Any) -> tuple[Any, ...] | None:
    """The content of a mutable object; None for objects that are not checked."""
    if isinstance(value, dict):
        return _flat(value)
    if isinstance(value, CONTAINERS):
        return tuple(value)
    if isinstance(value, types.CellType):
        return (cell_content(value),)
    if type(value).__module__ == "numpy" and type(value).__name__ == "ndarray":
        return (value.tobytes(),) if value.size <= _MOST_ELEMENTS else None
    if isinstance(value, (type, types.FunctionType)):
        members = {name: part for name, part in vars(value).items() if not name.startswith("__")}
        return _flat(members) if _is_of_users(value.__module__) else None
    if is_users(value):
        return _flat(attributes_of(value))
    return _position(value) if isinstance(value, Iterator) else None


def _flat(items: dict[Any, Any]) -> tuple[Any, ...]:
    return tuple(part for item in items.items() for part in item)


def _position(iterator: Any, depth: int = 0) -> tuple[Any, ...] | None:
    """The position of an iterator, including iterators inside zip, map and the like; None if it is unknown."""
    if isinstance(iterator, types.GeneratorType):
        frame = iterator.gi_frame
        return () if frame is None else (frame.f_lasti, *frame.f_locals.values())
    try:
        state = iterator.__reduce__()
    except Exception:  # of itertools from Python 3.14 on, files, foreign ones
        return None
    return tuple(_parts(state, depth))


def _parts(value: Any, depth: int) -> Iterator[Any]:
    if isinstance(value, tuple):
        for part in value:
            yield from _parts(part, depth)
    elif isinstance(value, Iterator) and depth < 8:
        yield from _position(value, depth + 1) or (value,)
    else:
        yield value


def is_users(value: Any) -> bool:
    """Is it an instance of a class that the user defined?"""
    if isinstance(value, (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, KernelValue)):
        return False
    return _is_of_users(type(value).__module__)


def _is_of_users(module: str | None) -> bool:
    return (module or "").partition(".")[0] not in _FOREIGN


def attributes_of(value: Any) -> dict[str, Any]:
    """The attributes of an instance, those in slots too; without what functools.cached_property keeps there."""
    instance_dict = getattr(value, "__dict__", None) or {}
    attributes = {
        name: part
        for name, part in instance_dict.items()
        if not isinstance(inspect.getattr_static(type(value), str(name), None), functools.cached_property)
    }
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(value, name):
                attributes[name] = getattr(value, name)
    return attributes


MISSING = object()  # the value of a name or cell that has none


def cell_content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing yet
        return MISSING


def same_content(before: tuple[Any, ...] | None, after: tuple[Any, ...] | None) -> bool:
    if before is None or after is None:
        return before is after
    return len(before) == len(after) and all(map(same_plain, before, after))


def same_plain(a: Any, b: Any) -> bool:
    """Are they one object, or indistinguishable plain values? 0.0 differs from -0.0, and 2 from 2.0."""
    return a is b or (type(a) is type(b) and isinstance(a, PLAIN) and repr(a) == repr(b))
