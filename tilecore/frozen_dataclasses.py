"""Frozen dataclasses that are made quickly.

Python before 3.13 compiles six methods for each frozen dataclass, one by one. A program that loads a kernel makes forty
such classes, which was half of the time until its first call. ``@frozen`` compiles ``__init__`` alone. Its classes are
dataclasses: ``fields``, ``replace`` and ``asdict`` work, and so do comparisons, hashes and errors of assignments (a
test compares them with those of ``dataclass(frozen=True)``, which newer Pythons use).
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

Fields = tuple[Field[Any], ...]
_Class = TypeVar("_Class", bound=type)

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def frozen(cls: _Class) -> _Class:
        """As ``dataclass(frozen=True)``."""

elif sys.version_info >= (3, 13):
    frozen = dataclass(frozen=True)
else:

    def frozen(cls):
        return with_shared_methods(cls)


def with_shared_methods(cls: _Class) -> _Class:
    """The class as a frozen dataclass. Raises TypeError for what only ``dataclass`` itself can do: dataclasses as
    bases, methods for assignments of its own, fields with keywords only, and fields that are for ``__init__`` only."""
    own = dict(vars(cls))  # methods that it defines stay
    if any(map(dataclasses.is_dataclass, cls.__mro__[1:])) or {"__setattr__", "__delattr__"} & own.keys():
        raise TypeError(f"{cls.__name__} inherits a dataclass, or assigns itself: use dataclass(frozen=True)")
    made: Any = dataclass(init=False, repr=False, eq=False)(cls)
    listed = fields(made)
    kinds = {entry._field_type.name for entry in made.__dataclass_fields__.values()}
    if "_FIELD_INITVAR" in kinds or any(entry.kw_only for entry in listed):
        raise TypeError(f"{cls.__name__} has fields for __init__ alone, or keywords: use dataclass(frozen=True)")
    has_hash = own.get("__hash__") is not None or ("__hash__" in own and "__eq__" not in own)
    for name, method in {"__init__": _initializer(made, listed), **_shared(made, listed)}.items():
        if name not in own or (name == "__hash__" and not has_hash):
            method.__name__, method.__qualname__ = name, f"{made.__qualname__}.{name}"
            setattr(made, name, method)
    parameters = made.__dataclass_params__
    parameters.init = parameters.repr = parameters.eq = parameters.frozen = True
    return made  # type: ignore[no-any-return]


def _initializer(made: Any, listed: Fields) -> Any:
    """``__init__``, the one method whose code differs."""
    known: dict[str, Any] = {"set_field": object.__setattr__, "MISSING": MISSING}
    parameters, lines = ["self"], []
    for entry in listed:
        name = entry.name
        value = name if entry.init else f"default_{name}"
        if entry.default_factory is not MISSING:
            known[f"make_{name}"] = entry.default_factory
            value = f"make_{name}() if {name} is MISSING else {name}" if entry.init else f"make_{name}()"
            default = "MISSING"
        elif entry.default is not MISSING:
            known[f"default_{name}"] = entry.default
            default = f"default_{name}"
        elif entry.init:
            default = ""
        else:
            continue
        if entry.init:
            parameters.append(f"{name}={default}" if default else name)
        lines.append(f"set_field(self, {name!r}, {value})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}): {'; '.join(lines) or 'pass'}", known)
    method = known["__init__"]
    method.__annotations__ = {entry.name: entry.type for entry in listed if entry.init} | {"return": None}
    return method


def _shared(made: Any, listed: Fields) -> dict[str, Any]:
    """The other methods, by name; they run the same code for every class."""
    names = {entry.name for entry in listed}
    shown = [entry.name for entry in listed if entry.repr]
    compared = _reader([entry.name for entry in listed if entry.compare])
    hashed = _reader([entry.name for entry in listed if (entry.compare if entry.hash is None else entry.hash)])

    @recursive_repr("...")
    def text(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in shown])})"

    def equals(self: Any, other: Any) -> Any:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_of(self: Any) -> int:
        return hash(hashed(self))

    def assign(self: Any, name: str, value: Any) -> None:
        if type(self) is made or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def delete(self: Any, name: str) -> None:
        if type(self) is made or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    return {"__repr__": text, "__eq__": equals, "__hash__": hash_of, "__setattr__": assign, "__delattr__": delete}


def _reader(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Gives the values of fields as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple([getattr(instance, name) for name in names])
