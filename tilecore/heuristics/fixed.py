"""Values that the caller has fixed: only configurations that have them are proposed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from tilecore.compilation_cache.key import plain_number
from tilecore.errors import ArgumentError
from tilecore.heuristics.checks import integer_of, shown
from tilecore.nearest import did_you_mean

Config = dict[str, Any]
_Candidate = TypeVar("_Candidate")

_LEAST = {"stages": 0, "stream_k": 0}  # the least value of a number; 1 for those that are not here
_MOST = 2**31 - 1
_FLAGS = ("q_in_registers",)
_MAY_BE_NONE = ("width",)


class UnproposedError(ArgumentError):
    """No configuration that is proposed has the values that the caller has fixed."""


def checked_fixed(fixed: Mapping[str, Any] | None, names: Collection[str]) -> Config:
    """The values, integers as Python's. Raises ArgumentError for a name that configurations do not have, and for a
    value that none can have."""
    if fixed is None:
        return {}
    if not isinstance(fixed, Mapping):
        raise ArgumentError("fixed is no dict of values", found=shown(fixed), expected='such as {"block_M": 64}')
    values: Config = {}
    for name, value in fixed.items():
        if name not in names:
            raise ArgumentError(
                f"fixed: configurations have no {name!r}",
                found=f"{name}={shown(value)}",
                expected="some of " + ", ".join(names),
                hint=did_you_mean(name, names),
            )
        values[name] = checked_value(name, value, f"fixed gives {name}")
    return values


def checked_value(name: str, value: Any, giving: str) -> Any:
    """The value of a configuration, an integer as Python's. Raises ArgumentError, which begins with ``giving``, for a
    value that no configuration can have."""
    if value is None and name in _MAY_BE_NONE:
        return None
    if name in _FLAGS:
        flag = plain_number(value)
        if isinstance(flag, int) and flag in (0, 1):
            return bool(flag)
        expected = "True or False"
    else:
        least, number = _LEAST.get(name, 1), integer_of(value)
        if number is not None and least <= number <= _MOST:
            return number
        expected = f"an integer of at least {least}" + (", or None" if name in _MAY_BE_NONE else "")
        if number is not None and number > _MOST:
            expected = f"an integer from {least} to {_MOST}"
    raise ArgumentError(f"{giving}={shown(value)}, which no configuration can have", expected=expected)


def with_free(config: Config, fixed: Mapping[str, Any], free: Collection[str]) -> Config:
    """The configuration with the fixed values of those names that may have any value."""
    return {**config, **{name: value for name, value in fixed.items() if name in free}}


def restricted(
    candidates: Sequence[_Candidate], config_of: Callable[[_Candidate], Config], fixed: Mapping[str, Any], work: str
) -> list[_Candidate]:
    """The candidates whose configurations have the fixed values. work: what is computed, in words, for the error.

    Raises UnproposedError where there are none: it says which values there are.
    """
    if not fixed:
        return list(candidates)
    configs = [config_of(candidate) for candidate in candidates]
    chosen = [candidate for candidate, config in zip(candidates, configs, strict=True) if _agrees(config, fixed)]
    if not chosen:
        raise _unproposed(configs, fixed, work)
    return chosen


def _agrees(config: Config, fixed: Mapping[str, Any]) -> bool:
    return all(config[name] == value for name, value in fixed.items())


def _unproposed(configs: Sequence[Config], fixed: Mapping[str, Any], work: str) -> UnproposedError:
    """Names the values that no configuration has, or all of them where only their combination does not occur."""
    alone = {name: value for name, value in fixed.items() if all(config[name] != value for config in configs)}
    named = alone or fixed
    values = ", ".join(f"{name}={value}" for name, value in named.items())
    possible = []
    for name in named:
        others = {other: value for other, value in fixed.items() if other != name}
        beside = [config[name] for config in configs if _agrees(config, others)]
        found = set(beside or [config[name] for config in configs])
        texts = [str(value) for value in sorted(found, key=lambda value: (value is not None, value))]
        possible.append(f"{name} of {', '.join(texts)}")
    return UnproposedError(
        f"no proposal for {work} has {values}{'' if alone or len(fixed) == 1 else ' together'}",
        expected="; ".join(possible),
    )
