"""``PassEnv.facts``: the dict of string keys that contracts 1 and 2 had for state between passes.

A key that the documentation named is the field of a class of state now, and is read and written there, with a
DeprecationWarning that names the class. Other keys are the backend's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilecore.contract.state import PassState, PassStates

FORMER_KEYS: dict[str, type[PassState]] = {}  # keys of PassEnv.facts, with the class that has the value now


class FormerFacts(MutableMapping[str, Any]):
    """``PassEnv.facts`` of one environment, as a mapping.

    entries: the values of a backend's own keys, which are fields of no class of state. attributes: the values of keys
    that are attributes of the environment now.
    """

    def __init__(self, states: PassStates, entries: MutableMapping[str, Any], attributes: Mapping[str, Any]) -> None:
        self.states, self.entries, self.attributes = states, entries, attributes

    def __getitem__(self, key: str) -> Any:
        if key in self.attributes:
            warnings.warn(f'env.facts["{key}"] is env.{key} now', DeprecationWarning, stacklevel=2)
            return self.attributes[key]
        kind = _state_class_of(key)
        if kind is None:
            return self.entries[key]
        instance = self._instance(kind)
        if instance is None:
            raise KeyError(key)
        return getattr(instance, kind.former_keys[key])

    def __setitem__(self, key: str, value: Any) -> None:
        kind = _state_class_of(key)
        if kind is None:
            self.entries[key] = value
            return
        instance = self._instance(kind)
        if instance is None:
            self.states.by_type[kind] = kind(**{kind.former_keys[key]: value})
        else:
            setattr(instance, kind.former_keys[key], value)

    def __delitem__(self, key: str) -> None:
        del self.entries[key]

    def __iter__(self) -> Iterator[str]:
        yield from self.entries
        yield from self.attributes
        yield from (key for kind in self.states.by_type for key in kind.former_keys)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, key: object) -> bool:
        """Does not warn, as a test for a key does not use its value."""
        kind = FORMER_KEYS.get(str(key))
        return key in self.entries or key in self.attributes if kind is None else self._instance(kind) is not None

    def _instance(self, kind: type[PassState]) -> PassState | None:
        """The published instance of a class of state; whether the pass declares it is not checked, as users of
        ``facts`` declare nothing."""
        if kind not in self.states.by_type and kind.is_collected:
            self.states.by_type[kind] = kind()
        return self.states.by_type.get(kind)


def _state_class_of(key: str) -> type[PassState] | None:
    """The class of state that has the key's value now, with a DeprecationWarning; None for a backend's own key."""
    kind = FORMER_KEYS.get(key)
    if kind is not None:
        field = f"env.state({kind.__name__}).{kind.former_keys[key]} of {kind.__module__}"
        warnings.warn(f'env.facts["{key}"] is {field} now', DeprecationWarning, stacklevel=3)
    return kind
