"""What a function reads from around it, so that its kernels are found only while that is what it was."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PLAIN = (int, float, str, bytes, bool, type(None))


class Same:
    """Stands for one object, and keeps it alive: another one could be given its address."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value


class Surroundings:
    """The globals and closure of a function and of the functions inside it: numbers and texts by their value, anything
    else by which object it is. What those read in turn, and what is changed inside an object, is not looked at."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._names: list[str] | None = None

    def now(self) -> tuple[Any, ...]:
        """The values of this moment, to be compared with those of another one."""
        around = self._function.__globals__
        if self._names is None:
            named = sorted(set(_names(self._function.__code__)))
            self._names = [name for name in named if name in around and not isinstance(around[name], ModuleType)]
        found = [_form(around.get(name)) for name in self._names]
        for cell in self._function.__closure__ or ():
            try:
                found.append(_form(cell.cell_contents))
            except ValueError:  # nothing is in it yet
                found.append(None)
        return tuple(found)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _form(value: Any) -> Any:
    return (type(value), value) if isinstance(value, _PLAIN) else Same(value)
