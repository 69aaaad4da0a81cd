"""Loads installed plugins in separate processes to learn their aliases, names, modules and devices.

``target="auto"``, aliases, names of the language and modules concern every installed plugin. A plugin that hangs,
exits or crashes must not stop the user's program, so no plugin is imported here: each is loaded in a fresh interpreter,
under a deadline, and its answer is kept in the kernel cache for as long as its files do not change.
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

if TYPE_CHECKING:
    from tilecore.contract.records import TargetSpec
    from tilecore.plugins.discovery import Entry
    from tilecore.target import Attribute

ASK_SECONDS = 10.0  # for the import of one plugin and the search for its device
# An answer about devices is valid for this long, and while drivers and device files (_surroundings) do not change.
DEVICE_SECONDS = 300.0

_FORMAT = "tilecore-plugin 2"
_MACHINE = ("/proc/sys/kernel/random/boot_id", "/proc/modules")
_PASSING = ("PWD", "OLDPWD", "SHLVL", "_", "PYTEST_CURRENT_TEST")  # environment variables that no driver reads
_FOLDERS = ("/dev", "/etc/OpenCL/vendors")


@dataclass(frozen=True)
class PluginAnswer:
    """The answer of a plugin. present: whether its device is present. problem: why the plugin fails, "" if it works."""

    kind: str
    present: bool = False
    problem: str = ""
    aliases: Mapping[str, Mapping[str, Attribute]] = field(default_factory=dict)
    language: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)


class TargetFacts(Protocol):
    """Facts about a target: a :class:`PluginAnswer`, or the TargetSpec of a loaded plugin."""

    @property
    def kind(self) -> str: ...
    @property
    def aliases(self) -> Mapping[str, Mapping[str, Attribute]]: ...
    @property
    def language(self) -> Mapping[str, str]: ...
    @property
    def modules(self) -> Mapping[str, str]: ...


class PluginAnswers:
    """The answers that this process has, so that each plugin is asked once."""

    def __init__(self) -> None:
        self._answers: dict[tuple[Entry, bool], PluginAnswer] = {}

    def get(self, entry: Entry, devices: bool) -> PluginAnswer | None:
        return self._answers.get((entry, True)) or (None if devices else self._answers.get((entry, False)))

    def ask(
        self, entries: Sequence[Entry], devices: bool, load: Callable[[Entry], TargetSpec]
    ) -> dict[Entry, PluginAnswer]:
        """The answers of ``entries``. load: loads a plugin in this process if no other process can be started."""
        unknown = [entry for entry in entries if self.get(entry, devices) is None]
        try:
            answers = ask(unknown, devices=devices)
        except CannotAskError:
            answers = {entry.kind: _answer_in_process(entry, load) for entry in unknown}
        self._answers.update({(entry, devices): answers[entry.kind] for entry in unknown})
        return {entry: self._answers.get((entry, True)) or self._answers[entry, devices] for entry in entries}


def _answer_in_process(entry: Entry, load: Callable[[Entry], TargetSpec]) -> PluginAnswer:
    try:
        spec = load(entry)
        return PluginAnswer(entry.kind, spec.detect().present, "", spec.aliases, spec.language, spec.modules)
    except PluginError as error:
        return PluginAnswer(entry.kind, problem=error.message)


class CannotAskError(Exception):
    """No further interpreter can be started."""


def ask(entries: Sequence[Entry], *, devices: bool) -> dict[str, PluginAnswer]:
    """The answers of these plugins, by kind; those without a stored answer are asked in parallel.

    devices: whether ``present`` must be up to date. Raises CannotAskError.
    """
    from tilecore.compilation_cache.current import disk_cache

    disk = disk_cache()
    surroundings = _surroundings() if devices else ""
    answers: dict[str, PluginAnswer] = {}
    keys = {entry.kind: _key(entry) for entry in entries}
    for kind, key in keys.items():
        answer = _stored_answer(disk.note("plugins", key), surroundings)
        if answer is not None:
            answers[kind] = _answer_from(kind, answer)
    unknown = [kind for kind in keys if kind not in answers]
    for kind, answer in _probe(unknown).items():
        answer |= {"surroundings": surroundings or _surroundings(), "asked": time.time()}
        disk.keep_note("plugins", keys[kind], json.dumps(answer))
        answers[kind] = _answer_from(kind, answer)
    return answers


def _probe(kinds: Sequence[str]) -> dict[str, dict[str, Any]]:
    from tilecore.plugins import probe

    if not kinds:
        return {}
    if not sys.executable or getattr(sys, "frozen", False):  # sys.executable would start the user's program again
        raise CannotAskError
    try:
        answers = probe.look_all(kinds, timeout=ASK_SECONDS)
    except OSError as error:  # no more processes, or no folder for temporary files
        raise CannotAskError from error
    return {facts["kind"]: _plain(facts) for facts in answers}


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    works = facts["state"] in ("ok", "slow")
    return {
        "present": bool(works and facts["device"]["present"]),
        "problem": "" if works else facts["reason"],
        "aliases": facts.get("implied", {}),
        "language": facts.get("language", {}),
        "modules": facts.get("modules", {}),
    }


def _answer_from(kind: str, answer: Mapping[str, Any]) -> PluginAnswer:
    names = answer["aliases"], answer["language"], answer["modules"]
    return PluginAnswer(kind, answer["present"], answer["problem"], *names)


def _stored_answer(text: str | None, surroundings: str) -> dict[str, Any] | None:
    """The answer in a note of the cache; None where it is too old or not an answer."""
    try:
        answer = json.loads(text or "")
        fresh = 0 <= time.time() - answer["asked"] < DEVICE_SECONDS
        checked = _answer_from("", answer)
        if not all(isinstance(names, dict) for names in (checked.aliases, checked.language, checked.modules)):
            return None
    except (ValueError, TypeError, KeyError):
        return None
    if answer["problem"] or surroundings:
        return answer if fresh and answer.get("surroundings") == (surroundings or _surroundings()) else None
    return answer


def _key(entry: Entry) -> str:
    """The cache key of a plugin's answer: its package, and the times and sizes of its files."""
    import tilecore

    parts = [_FORMAT, tilecore.__version__, sys.version, sys.executable, os.path.dirname(tilecore.__file__)]
    parts += [entry.kind, entry.package, entry.version, entry.value, *_files(entry.value)]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def _files(value: str) -> list[str]:
    """Path, size and time of the files of the package in an entry point's value, without importing it."""
    try:
        spec = importlib.util.find_spec(value.partition(":")[0].partition(".")[0].strip())
    except (ImportError, ValueError, AttributeError):
        return ["not found"]
    if spec is None:
        return ["not found"]
    stamps = [_stamp(spec.origin)] if spec.origin else []
    for root in spec.submodule_search_locations or ():
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            stamps += [_stamp(os.path.join(folder, name)) for name in sorted(names) if name.endswith(".py")]
    return stamps


def _surroundings() -> str:
    """A digest of what decides whether a device is present: environment, boot of the machine, drivers, device files."""
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
