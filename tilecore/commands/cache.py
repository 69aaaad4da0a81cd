"""``tilecore cache``: the cache of compiled kernels and of what the autotuner found."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

from tilecore import cache, settings
from tilecore.commands.text import dump, note, size
from tilecore.errors import ArgumentError


def run(arguments: Namespace) -> int:
    """Do ``arguments.action``; with ``--json`` print its outcome as one JSON object."""
    if arguments.action != "gc" and (arguments.max_size or arguments.max_age):
        raise ArgumentError("--max-size and --max-age are for tilecore cache gc", found=f"cache {arguments.action}")
    facts, code = _gc(arguments) if arguments.action == "gc" else _ACTIONS[arguments.action]()
    if arguments.json:
        dump(facts)
    else:
        _PRINTERS[arguments.action](facts)
    return code


def _stats() -> tuple[dict[str, Any], int]:
    return {**asdict(cache.stats()), "layers": _layers()}, 0


def _layers() -> list[dict[str, str]]:
    """The layers of TILECORE_CACHE_PATH, and why one is not used."""
    from tilecore.bundles.layers import problem_of

    return [{"path": path, "problem": problem_of(path)} for path in settings.cache_path() or ()]


def _verify() -> tuple[dict[str, Any], int]:
    report = asdict(cache.verify())
    return report, 1 if report["damaged"] else 0


def _clear() -> tuple[dict[str, Any], int]:
    removed = cache.clear()
    counts = {"removed": removed.entries, "results": removed.results, "libraries": removed.libraries}
    counts["binaries"] = removed.binaries
    return {"path": cache.path(), **counts}, 0


def _gc(arguments: Namespace) -> tuple[dict[str, Any], int]:
    return {"path": cache.path(), **asdict(cache.gc(arguments.max_size, arguments.max_age))}, 0


def _path() -> tuple[dict[str, Any], int]:
    return {"path": cache.path()}, 0


def _print_stats(facts: dict[str, Any]) -> None:
    print(f"{facts['path'] or 'no directory'}{'' if facts['enabled'] else ' (turned off by TILECORE_DISABLE_CACHE)'}")
    counts = f"{facts['entries']} kernels, {facts['links']} links, {facts['results']} results of the autotuner"
    counts += f", {facts['libraries']} libraries of simulators{_binaries(facts)}"
    print(f"{counts}, {size(facts['bytes'])} of {size(facts['limit'])}")
    for layer in facts["layers"]:
        print(f"layer: {layer['path']}{': not used: ' + layer['problem'] if layer['problem'] else ''}")
    if facts["quarantined"]:
        print(f"{facts['quarantined']} damaged entries set aside")
    if facts["problem"]:
        note("problem", facts["problem"], [("help", "set TILECORE_CACHE_DIR to a directory of your own")])


def _print_verify(facts: dict[str, Any]) -> None:
    for path in facts["damaged"]:
        note("damaged", f"{path} (set aside)")
    counts = f"{facts['entries']} kernels, {facts['links']} links, {facts['results']} results of the autotuner"
    counts += f" and {facts['libraries']} libraries of simulators{_binaries(facts)}"
    print(f"{counts} read, {len(facts['damaged'])} damaged")


def _print_clear(facts: dict[str, Any]) -> None:
    counts = f"{facts['removed']} kernels, {facts['results']} results of the autotuner"
    counts += f" and {facts['libraries']} libraries of simulators{_binaries(facts)}"
    print(f"removed {counts} from {facts['path']}")


def _print_gc(facts: dict[str, Any]) -> None:
    left = f"{facts['files_left']} files, {size(facts['bytes_left'])} are left in {facts['path']}"
    unfinished = f" and {facts['unfinished']} unfinished files" if facts["unfinished"] else ""
    print(f"removed {facts['files']} files, {size(facts['bytes'])}{unfinished}; {left}")


def _binaries(facts: dict[str, Any]) -> str:
    """A phrase of the files with what the systems of devices compiled, which only some targets have."""
    return f", {facts['binaries']} files of compiled programs of devices" if facts["binaries"] else ""


def _print_path(facts: dict[str, Any]) -> None:
    print(facts["path"] or "")


_ACTIONS = {"stats": _stats, "verify": _verify, "clear": _clear, "path": _path}
_PRINTERS = {
    "stats": _print_stats,
    "verify": _print_verify,
    "clear": _print_clear,
    "path": _print_path,
    "gc": _print_gc,
}
