"""Which backend packages are installed: reads their metadata, imports none of them.

A distribution whose metadata cannot be read is reported as a problem and hides nobody else.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tilecore.contract.hookspecs import ENTRY_POINT_GROUP
from tilecore.plugins.installed import distributions

CORE = "tilecore"
HOST_KIND = "cpu"
# What a checkout that is not installed offers; an installed tilecore offers the same through its own entry points.
CHECKOUT_ENTRIES = {HOST_KIND: "tilecore.backends.cpu.plugin"}

# The parts of an entry point's value, "module.path:attribute.path [extras]".
_VALUE = re.compile(r"(?P<module>[\w.]+)\s*(:\s*(?P<attribute>[\w.]+))?\s*(\[.*\])?\s*$")


@dataclass(frozen=True)
class Entry:
    """One claim: this package offers that kind. ``value`` says where ("tile_acme.plugin"); ``load`` imports it."""

    kind: str
    package: str
    version: str
    value: str
    load: Callable[[], Any] = field(compare=False)


@dataclass(frozen=True)
class Catalogue:
    """All claims, by kind. More than one claim for a kind is a clash. ``problems``: unreadable packages, in words."""

    entries: dict[str, tuple[Entry, ...]]
    problems: tuple[str, ...] = ()


def discover() -> Catalogue:
    """Read the metadata of every installed distribution that mentions the entry-point group."""
    found: dict[str, list[Entry]] = {}
    problems: list[str] = []
    seen: set[str] = set()
    for package, version, pairs, problem in _claims():
        if _canonical(package) in seen:  # the same distribution again, further down sys.path: shadowed
            continue
        seen.add(_canonical(package))
        if problem:
            problems.append(problem)
        for kind, value in pairs:
            found.setdefault(kind, []).append(entry_for(kind, package, version, value))
    for kind, value in CHECKOUT_ENTRIES.items():
        if not any(_canonical(entry.package) == CORE for entry in found.get(kind, [])):
            found.setdefault(kind, []).insert(0, entry_for(kind, CORE, _core_version(), value))
    return Catalogue({kind: tuple(found[kind]) for kind in sorted(found)}, tuple(problems))


def entry_for(kind: str, package: str, version: str, value: str) -> Entry:
    """An entry whose ``load`` imports ``value`` ("module" or "module:attribute")."""
    return Entry(kind, package, version, value, lambda: import_value(value))


def import_value(value: str) -> Any:
    """The module or object that an entry point's value names; whatever the import raises passes through."""
    match = _VALUE.match(value)
    if match is None:
        raise ValueError(f'{value!r} is not an entry point\'s value, such as "tile_acme.plugin"')
    plugin: Any = importlib.import_module(match["module"])
    for name in (match["attribute"] or "").split("."):
        plugin = getattr(plugin, name) if name else plugin
    return plugin


def _claims() -> Iterator[tuple[str, str, list[tuple[str, str]], str]]:
    """(package, version, [(kind, value)], problem) of each distribution that mentions the group."""
    for distribution in distributions():
        try:
            text = distribution.read_text("entry_points.txt")
        except (OSError, UnicodeDecodeError) as error:
            name, _ = distribution.name_and_version()
            yield name, "", [], f"{name}: its entry_points.txt cannot be read: {error}"
            continue
        if text and f"[{ENTRY_POINT_GROUP}]" in text.replace(" ", ""):
            name, version = distribution.name_and_version()
            pairs, problem = _parse(name, text)
            yield name, version, pairs, problem


def _parse(package: str, text: str) -> tuple[list[tuple[str, str]], str]:
    """The claims of an entry_points.txt. Read by hand, so that one bad line of a stranger's cannot stop discovery."""
    pairs: list[tuple[str, str]] = []
    bad: list[str] = []
    section = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
        elif section == ENTRY_POINT_GROUP and line and line[0] not in "#;":
            kind, equals, value = (part.strip() for part in line.partition("="))
            if equals and kind and value:
                pairs.append((kind, value))
            else:
                bad.append(line)
    problem = f"{package}: lines of its entry_points.txt that are no entries: {bad}" if bad else ""
    return pairs, problem


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _core_version() -> str:
    import tilecore

    return tilecore.__version__
