"""Loads each plugin in a separate process and reports its state, also where it hangs, exits or crashes.

``tilecore targets`` forks where that is safe (a few milliseconds per plugin); ``tilecore doctor`` starts fresh
interpreters, which measures the full cost of each import.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tilecore.errors import TilecoreError
from tilecore.plugins import manager
from tilecore.plugins.interrupts import interrupted_again
from tilecore.plugins.isolation import SLOW_SECONDS
from tilecore.plugins.module_finder import asking
from tilecore.plugins.private_imports import CORE, PrivateImport, private_imports

CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"  # Objective-C runtimes do not survive a fork

Facts = dict[str, Any]


def look(kind: str, whole: bool) -> Facts:
    """The facts about ``kind``, as JSON data; loads its plugin in this process.

    whole: also calls every hook but ``tilecore_lowering`` (which may import TVM), the target's capabilities, the
    toolchain and the adapters.
    """
    with asking():
        return _look(kind, whole)


def _look(kind: str, whole: bool) -> Facts:
    status = manager.status(kind, whole=whole)
    facts = _claim(kind) | {"state": status.state}
    if status.report is not None:
        facts |= {"seconds": round(status.report.seconds, 3), "side_effects": list(status.report.side_effects)}
    if status.error is not None:
        return facts | _error(status.error)
    try:
        spec = manager.target_spec(kind)
        facts |= {"doc": spec.doc, "aliases": sorted(spec.aliases), "attributes": sorted(spec.attributes)}
        facts |= {"implied": {name: dict(spec.aliases[name]) for name in spec.aliases}, "language": dict(spec.language)}
        facts |= {"modules": dict(spec.modules)}
        start = time.perf_counter()
        facts["device"] = asdict(spec.detect())
        facts["detect_seconds"] = round(time.perf_counter() - start, 3)
        if whole:
            facts |= _whole(kind)
    except TilecoreError as error:
        return facts | {"state": "broken"} | _error(error)
    slow = max(facts["seconds"], facts["detect_seconds"]) > SLOW_SECONDS
    return facts | ({"state": "slow", "reason": _slow_reason(facts)} if slow else {})


def look_all(kinds: Sequence[str], *, whole: bool = False, fork: bool = False, timeout: float) -> list[Facts]:
    """:func:`look` at each kind in a separate process, for at most ``timeout`` seconds each.

    A plugin that ends its process has state "crashed", one that exceeds the timeout "hung".
    """
    if fork and CAN_FORK and sys.platform != "win32":
        from tilecore.plugins.forking import fork_all

        answers = fork_all(kinds, lambda kind: look(kind, whole), timeout)
    else:
        from tilecore.plugins.spawning import spawn_all

        answers = spawn_all(kinds, whole, timeout)
    return [
        answer if isinstance(answer, dict) else _claim(kind) | _ended(kind, answer, timeout)
        for kind, answer in zip(kinds, answers, strict=True)
    ]


def _claim(kind: str) -> Facts:
    entries = manager.claims(kind)
    packages = [{"name": entry.package, "version": entry.version, "module": entry.value} for entry in entries]
    return {"kind": kind, "packages": packages}


def _error(error: TilecoreError) -> Facts:
    return {"reason": error.message, "found": error.found, "expected": error.expected, "fix": error.hint}


def _slow_reason(facts: Facts) -> str:
    package = facts["packages"][0]["name"]
    if facts["seconds"] > SLOW_SECONDS:
        return f"package {package} takes {facts['seconds']:.1f} s to import"
    return f"package {package} takes {facts['detect_seconds']:.1f} s to look for its device"


def _whole(kind: str) -> Facts:
    backend, target = manager.resolve(kind)
    backend.target.capabilities(target)
    adapters = []
    for name, adapter in backend.adapters.items():
        adapters.append({"name": name, **asdict(adapter.available(target))})
    return {
        "target": str(target),
        "toolchain": [asdict(tool) for tool in backend.toolchain.find()],
        "toolchain_version": backend.toolchain.version(target),
        "adapters": adapters,
        "private_imports": [str(entry) for entry in _private_imports(backend.module)],
    }


def _private_imports(module: str) -> list[PrivateImport]:
    """The private names of the core that a plugin's package imports; none for the core's own backend."""
    package = module.partition(":")[0].partition(".")[0]
    folders = [] if package == CORE else list(getattr(sys.modules.get(package), "__path__", ()))
    return [entry for folder in folders for entry in private_imports(Path(folder))]


def _ended(kind: str, code: int | None, timeout: float) -> Facts:
    package = ", ".join(entry.package for entry in manager.claims(kind))
    if code is None:
        state, reason = "hung", f"package {package} did not finish loading within {timeout:.0f} s"
    else:
        ending = f"signal {-code}" if code < 0 else f"exit code {code}"
        state, reason = "crashed", f"package {package} ended the whole process while it was loaded ({ending})"
    fix = f"upgrade it (pip install --upgrade {package}) or remove it (pip uninstall {package})"
    return {"state": state, "reason": reason, "fix": fix}


def main() -> None:
    """Entry point of a spawned process: answers for one kind. See :mod:`tilecore.plugins.spawning`."""
    interrupted_again()
    _, _, kind, whole, answer = sys.argv
    facts = look(kind, whole == "1")
    with open(answer + ".part", "w", encoding="utf-8") as file:
        json.dump(facts, file)
    os.replace(answer + ".part", answer)
    os._exit(0)  # do not wait for a plugin's threads or exit handlers
