"""Lists the installed backend packages from their metadata, without importing them.

A distribution whose metadata cannot be read is reported as a problem and does not affect other packages.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from tilecore.contract.hookspecs import ENTRY_POINT_GROUP
from tilecore.frozen_dataclasses import frozen
from tilecore.plugins.installed import distributions

CORE = "tilecore"
HOST_KIND = "cpu"
# The backends of a source checkout; an installed tilecore has the same entries in its entry points.
CHECKOUT_ENTRIES = {HOST_KIND: "tilecore.backends.cpu.plugin"}

# The parts of an entry point's value, "module.path:attribute.path [extras]".
_VALUE = re.compile(r"(?P<module>[\w.]+)\s*(:\s*(?P<attribute>[\w.]+))?\s*(\[.*\])?\s*$")


@frozen
class Entry:
    """An entry point: ``package`` offers target ``kind``.

    value: its module ("tile_acme.plugin"). load: imports it. registration: a unique text for a plugin that was
    registered as an object; "" for one whose files identify it.
    """

    kind: str
    package: str
    version: str
    value: str
    load: Callable[[], Any] = field(compare=False)
    registration: str = ""


@frozen
class Catalogue:
    """All entries, by kind. Several entries for a kind are a clash. problems: sentences about unreadable packages."""

    entries: dict[str, tuple[Entry, ...]]
    problems: tuple[str, ...] = ()


def discover() -> Catalogue:
    """Read the metadata of every installed distribution that mentions the entry-point group."""
    entries: dict[str, list[Entry]] = {}
    problems: list[str] = []
    names: set[str] = set()
    for package, version, pairs, problem in _claims():
        if _canonical(package) in names:  # the same distribution again, later on sys.path: shadowed
            continue
        names.add(_canonical(package))
        if problem:
            problems.append(problem)
        for kind, value in pairs:
            entries.setdefault(kind, []).append(entry_for(kind, package, version, value))
    for kind, value in CHECKOUT_ENTRIES.items():
        if not any(_canonical(entry.package) == CORE for entry in entries.get(kind, [])):
            entries.setdefault(kind, []).insert(0, entry_for(kind, CORE, _core_version(), value))
    return Catalogue({kind: tuple(entries[kind]) for kind in sorted(entries)}, tuple(problems))


def entry_for(kind: str, package: str, version: str, value: str) -> Entry:
    """An entry whose ``load`` imports ``value`` ("module" or "module:attribute")."""
    return Entry(kind, package, version, value, lambda: import_value(value))


def import_value(value: str) -> Any:
    """The module or object that an entry point's value names; errors of the import are raised as they are."""
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
    """The entries of an entry_points.txt, and the problem with its bad lines, "" without one."""
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
    problem = f"{package}: its entry_points.txt has lines that are not entries (kind = module): {bad}" if bad else ""
    return pairs, problem


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _core_version() -> str:
    import tilecore

    return tilecore.__version__
