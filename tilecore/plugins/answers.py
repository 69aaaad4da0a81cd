"""Checks the results of a backend's functions when they are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields
from numbers import Real
from typing import TYPE_CHECKING, Any

from tilecore.contract.adapter import ForeignTensor, HostCode
from tilecore.contract.records import Capabilities, Found, Presence
from tilecore.ir.names import MEMORY_ORDERS
from tilecore.plugins.checking import FLAG, TEXT, Rule, is_int, is_text, mapping, shown, wrong
from tilecore.plugins.guard import guarded

if TYPE_CHECKING:
    from tilecore.contract.origin import Origin

NAMES = Rule("a frozenset of names", lambda value: isinstance(value, AbstractSet) and all(map(is_text, value)))
COUNT = Rule("an int, 0 or more", lambda value: is_int(value) and value >= 0)
WORDS = Rule("a str", lambda value: isinstance(value, str))


def _ints(count: int, meaning: str) -> Rule:
    return Rule(
        f"a tuple of {count} ints ({meaning})",
        lambda value: isinstance(value, tuple) and len(value) == count and all(map(is_int, value)),
    )


RULES: dict[type, dict[str, Rule]] = {
    Capabilities: {
        "dtypes": NAMES,
        "scopes": NAMES,
        "tile_ops": NAMES,
        "max_threads": COUNT,
        "warp": Rule("a power of 2, 1 or more", lambda value: is_int(value) and value > 0 and value & (value - 1) == 0),
        "shared_bytes": COUNT,
        "features": NAMES,
        "index_bits": Rule("32 or 64", lambda value: is_int(value) and value in (32, 64)),
        "index_hint": WORDS,
        "atomic_orders": Rule(
            f"a frozenset of {', '.join(MEMORY_ORDERS)}",
            lambda value: NAMES.holds(value) and value <= set(MEMORY_ORDERS),
        ),
        "atomic_dtypes": NAMES,
        "thread_bytes": COUNT,
    },
    Presence: {"present": FLAG, "detail": WORDS},
    HostCode: {
        "source": TEXT,
        "objects": Rule(
            "a tuple of bytes",
            lambda value: isinstance(value, tuple) and all(isinstance(data, bytes) for data in value),
        ),
        "allocates": FLAG,
        "has_streams": FLAG,
        "finds_device": FLAG,
    },
    ForeignTensor: {
        "address": COUNT,
        "shape": Rule(
            "a tuple of ints, 0 or more", lambda value: isinstance(value, tuple) and all(map(COUNT.holds, value))
        ),
        "strides": Rule("a tuple of ints", lambda value: isinstance(value, tuple) and all(map(is_int, value))),
        "dtype": _ints(3, "code, bits, lanes"),
        "device": _ints(2, "type, index"),
        "read_only": FLAG,
    },
    Found: {field.name: FLAG if field.name == "present" else WORDS for field in fields(Found)},
}

REASONS = mapping("a dict of patterns of cases to reasons", is_text, is_text)
REFUSALS = mapping(
    "a dict of names to (why, what to write instead)",
    is_text,
    lambda value: isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(text, str) for text in value),
)
NUMBERS = mapping("a dict of numbers by name", is_text, lambda value: isinstance(value, Real))
SENTENCES = Rule(
    "a list of str", lambda value: isinstance(value, (list, tuple)) and all(isinstance(line, str) for line in value)
)
FACTS = mapping("a dict of functions to numbers by name", is_text, NUMBERS.holds)


def record(origin: Origin, callee: str, kind: type) -> Callable[[Any], Any]:
    """A check for :func:`~tilecore.plugins.guard.guarded`: the result is a valid record of type ``kind``."""

    def check(result: Any) -> Any:
        if not isinstance(result, kind):
            raise wrong(origin, f"{callee} returned a wrong value", shown(result), f"a {kind.__name__}")
        check_fields(origin, f"{callee} returned a wrong value: ", result, RULES[kind])
        return result

    return check


def check_fields(origin: Origin, before: str, answer: Any, rules: Mapping[str, Rule]) -> None:
    """Raise PluginError unless every field of ``answer`` obeys its rule. before: the beginning of the message."""
    for name, rule in rules.items():
        value = getattr(answer, name)
        if not rule.holds(value):
            message = f"{before}field {name!r} of {type(answer).__name__} is wrong"
            raise wrong(origin, message, shown(value), rule.words)


def obeys(origin: Origin, callee: str, rule: Rule) -> Callable[[Any], Any]:
    """A check for :func:`~tilecore.plugins.guard.guarded`: the result obeys the rule."""

    def check(result: Any) -> Any:
        if not rule.holds(result):
            raise wrong(origin, f"{callee} returned a wrong value", shown(result), rule.words)
        return result

    return check


def guarded_by(origin: Origin, callee: str, function: Callable[..., Any], rule: Rule) -> Any:
    """The function with every call guarded and every result checked by the rule."""
    return guarded(origin, callee, function, obeys(origin, callee, rule))


def check_found(origin: Origin, tools: Any) -> tuple[Found, ...]:
    """The checked result of ``Toolchain.find``. Raises PluginError."""
    message = "Toolchain.find returned a wrong value"
    if isinstance(tools, str) or not isinstance(tools, Sequence) or not all(isinstance(item, Found) for item in tools):
        raise wrong(origin, message, shown(tools), "a list of Found")
    for item in tools:
        check_fields(origin, f"{message}: ", item, RULES[Found])
    return tuple(tools)


def check_built(origin: Origin, built: Any) -> tuple[bytes, str]:
    """The checked result of ``Toolchain.build``; the bytes may be empty where the adapter takes the source."""
    is_valid = isinstance(built, tuple) and len(built) == 2 and isinstance(built[0], bytes) and is_text(built[1])
    if not is_valid:
        raise wrong(origin, "Toolchain.build returned a wrong value", shown(built), "(bytes, format)")
    return built
