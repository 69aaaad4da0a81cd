"""What installed plugins say of themselves, asked in processes of their own.

``target="auto"``, aliases and names of the language concern every plugin that is installed. One that hangs, exits or
crashes must not take the user's program along, so none is imported here for it: each is asked in a fresh interpreter,
under a deadline, and what it says is kept in the kernel cache for as long as its files are the same.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tilecore.errors import PluginError
from tilecore.plugins.discovery import Entry
from tilecore.target import Attribute

if TYPE_CHECKING:
    from tilecore.contract.records import TargetSpec

ASK_SECONDS = 10.0  # of one plugin, for its import and the look for its device
# Devices come and go with drivers and containers, which the surroundings below show; what they do not, time does.
DEVICE_SECONDS = 300.0

_FORMAT = "tilecore-plugin 1"
_MACHINE = ("/proc/sys/kernel/random/boot_id", "/proc/modules")
_PASSING = ("PWD", "OLDPWD", "SHLVL", "_", "PYTEST_CURRENT_TEST")  # variables that no driver looks at
_FOLDERS = ("/dev", "/etc/OpenCL/vendors")


@dataclass(frozen=True)
class Told:
    """A plugin in its own words. present: is its device there. problem: why it cannot be used, "" when it can."""

    kind: str
    present: bool = False
    problem: str = ""
    aliases: Mapping[str, Mapping[str, Attribute]] = field(default_factory=dict)
    language: Mapping[str, str] = field(default_factory=dict)


class Offer(Protocol):
    """What is known of a target without loading it: a :class:`Told`, or the TargetSpec of one that is loaded."""

    @property
    def kind(self) -> str: ...
    @property
    def aliases(self) -> Mapping[str, Mapping[str, Attribute]]: ...
    @property
    def language(self) -> Mapping[str, str]: ...


class Elsewhere:
    """What this process has been told, so that nobody is asked twice."""

    def __init__(self) -> None:
        self._told: dict[tuple[Entry, bool], Told] = {}

    def get(self, entry: Entry, devices: bool) -> Told | None:
        return self._told.get((entry, True)) or (None if devices else self._told.get((entry, False)))

    def ask(self, entries: Sequence[Entry], devices: bool, here: Callable[[Entry], TargetSpec]) -> dict[Entry, Told]:
        """What each of ``entries`` says. here: loads a plugin in this process, where none can be started beside it."""
        unknown = [entry for entry in entries if self.get(entry, devices) is None]
        try:
            told = ask(unknown, devices=devices)
        except CannotAskError:
            told = {entry.kind: _told_here(entry, here) for entry in unknown}
        self._told.update({(entry, devices): told[entry.kind] for entry in unknown})
        return {entry: self._told.get((entry, True)) or self._told[entry, devices] for entry in entries}


def _told_here(entry: Entry, here: Callable[[Entry], TargetSpec]) -> Told:
    try:
        spec = here(entry)
        return Told(entry.kind, spec.detect().present, "", spec.aliases, spec.language)
    except PluginError as error:
        return Told(entry.kind, problem=error.message)


class CannotAskError(Exception):
    """No interpreter can be started beside this one."""


def ask(entries: Sequence[Entry], *, devices: bool) -> dict[str, Told]:
    """What each of these plugins says, by kind; all that have to be asked are asked at once.

    devices: whether ``present`` matters; else what was said at any time will do. Raises CannotAskError.
    """
    from tilecore.cache.current import disk_cache

    disk = disk_cache()
    surroundings = _surroundings() if devices else ""
    told: dict[str, Told] = {}
    keys = {entry.kind: _key(entry) for entry in entries}
    for kind, key in keys.items():
        answer = _kept(disk.note("plugins", key), surroundings)
        if answer is not None:
            told[kind] = _told(kind, answer)
    unknown = [kind for kind in keys if kind not in told]
    for kind, answer in _asked(unknown).items():
        answer |= {"surroundings": surroundings or _surroundings(), "asked": time.time()}
        disk.keep_note("plugins", keys[kind], json.dumps(answer))
        told[kind] = _told(kind, answer)
    return told


def _asked(kinds: Sequence[str]) -> dict[str, dict[str, Any]]:
    from tilecore.plugins import probe

    if not kinds:
        return {}
    if not sys.executable or getattr(sys, "frozen", False):  # the program itself would be started once more
        raise CannotAskError
    try:
        answers = probe.look_all(kinds, timeout=ASK_SECONDS)
    except OSError as error:  # no more processes, no folder for temporary files
        raise CannotAskError from error
    return {facts["kind"]: _plain(facts) for facts in answers}


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    works = facts["state"] in ("ok", "slow")
    return {
        "present": bool(works and facts["device"]["present"]),
        "problem": "" if works else facts["reason"],
        "aliases": facts.get("implied", {}),
        "language": facts.get("language", {}),
    }


def _told(kind: str, answer: Mapping[str, Any]) -> Told:
    return Told(kind, answer["present"], answer["problem"], answer["aliases"], answer["language"])


def _kept(text: str | None, surroundings: str) -> dict[str, Any] | None:
    """The answer in a note, unless it is too old for what is asked, or no answer at all."""
    try:
        answer = json.loads(text or "")
        fresh = 0 <= time.time() - answer["asked"] < DEVICE_SECONDS
        checked = _told("", answer)
        if not isinstance(checked.aliases, dict) or not isinstance(checked.language, dict):
            return None
    except (ValueError, TypeError, KeyError):
        return None
    if answer["problem"] or surroundings:
        return answer if fresh and answer.get("surroundings") == (surroundings or _surroundings()) else None
    return answer


def _key(entry: Entry) -> str:
    """Names what a plugin says: by its package, and by the times and sizes of the files that it consists of."""
    import tilecore

    parts = [_FORMAT, tilecore.__version__, sys.version, sys.executable, os.path.dirname(tilecore.__file__)]
    parts += [entry.kind, entry.package, entry.version, entry.value, *_files(entry.value)]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def _files(value: str) -> list[str]:
    """The files of the package that an entry point's value begins with; found without importing it."""
    try:
        spec = importlib.util.find_spec(value.partition(":")[0].partition(".")[0].strip())
    except (ImportError, ValueError, AttributeError):
        return ["not found"]
    if spec is None:
        return ["not found"]
    found = [_stamp(spec.origin)] if spec.origin else []
    for root in spec.submodule_search_locations or ():
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            found += [_stamp(os.path.join(folder, name)) for name in sorted(names) if name.endswith(".py")]
    return found


def _surroundings() -> str:
    """A digest of what decides whether a device is there: environment, start of the machine, drivers, device files."""
    parts = [f"{key}={value}" for key, value in sorted(os.environ.items()) if key not in _PASSING]
    parts += [_stamp("/etc/ld.so.cache")]
    for path in _MACHINE:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                parts += sorted(line.split(" ", 1)[0] for line in file)
        except OSError:
            parts.append("")
    for folder in _FOLDERS:
        try:
            parts += sorted(os.listdir(folder))
        except OSError:
            parts.append("")
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def _stamp(path: str) -> str:
    try:
        facts = os.stat(path)
    except OSError:
        return f"{path} is not there"
    return f"{path} {facts.st_size} {facts.st_mtime_ns}"
