"""Records where a description was read from, to check in a microsecond or two whether it still holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from types import CellType
from typing import Any

ABSENT: Any = object()


class Watch:
    """The places that a description came from, each with the very objects that it had.

    A place that holds another object now may still give an equal description: then a new one has to be made. One that
    holds the same object, which cannot change or is watched itself, gives the same.
    """

    __slots__ = ("_entries", "_facts", "_mappings", "_parts")

    def __init__(self) -> None:
        self._entries: dict[tuple[int, Any], tuple[Mapping[Any, Any], Any, Any]] = {}
        self._parts: list[tuple[Callable[[], Sequence[Any]], Sequence[Any]]] = []
        self._facts: list[tuple[Callable[[], Any], Any]] = []
        self._mappings: list[tuple[Mapping[Any, Any], tuple[Any, ...], tuple[Any, ...]]] = []

    def entry(self, mapping: Mapping[Any, Any], key: Any) -> None:
        """What a mapping has under a key, or that it has none."""
        self._entries.setdefault((id(mapping), key), (mapping, key, mapping.get(key, ABSENT)))

    def parts(self, read: Callable[[], Sequence[Any]]) -> None:
        """The objects that ``read()`` lists, which are compared by identity."""
        self._parts.append((read, read()))

    def fact(self, read: Callable[[], Any]) -> None:
        """What ``read()`` gives, which is compared by value: it must not change with its source."""
        self._facts.append((read, read()))

    def cell(self, cell: CellType) -> None:
        """The variable of a closure."""
        self.parts(lambda: (contents(cell),))

    def mapping(self, mapping: Mapping[Any, Any]) -> None:
        """All of a mapping, in its order."""
        self._mappings.append((mapping, tuple(mapping.keys()), tuple(mapping.values())))

    def mark(self) -> tuple[int, int, int, int]:
        """How much is watched; see :meth:`forget`."""
        return len(self._entries), len(self._parts), len(self._facts), len(self._mappings)

    def forget(self, mark: tuple[int, int, int, int]) -> None:
        """Watch only what was watched at ``mark``."""
        entries, parts, facts, mappings = mark
        for key in list(self._entries)[entries:]:
            del self._entries[key]
        del self._parts[parts:]
        del self._facts[facts:]
        del self._mappings[mappings:]

    def holds(self) -> bool:
        """Whether every place still has its value. False also if reading a place fails."""
        for mapping, key, value in self._entries.values():
            if mapping.get(key, ABSENT) is not value:
                return False
        try:
            for mapping, keys, held in self._mappings:  # most of them are empty
                if len(mapping) != len(keys):
                    return False
                if keys and not (all(map(is_, mapping.keys(), keys)) and all(map(is_, mapping.values(), held))):
                    return False
            for read, values in self._parts:
                now = read()
                if len(now) != len(values) or not all(map(is_, now, values)):
                    return False
            return all(read() == value for read, value in self._facts)
        except Exception:
            return False


def contents(cell: CellType) -> Any:
    """What is in a cell; ABSENT when nothing is."""
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT
