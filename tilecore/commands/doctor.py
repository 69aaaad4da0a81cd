"""``tilecore doctor``: what is installed, what works, and how to fix the rest."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from tilecore.commands import checks
from tilecore.commands.targets import packages as claimants
from tilecore.commands.targets import reasons, shared_aliases
from tilecore.commands.text import coloured, dump, note, size, table
from tilecore.plugins import manager, probe
from tilecore.plugins.guard import describe


def run(arguments: Namespace) -> int:
    """Print the report; exit code 1 when ``facts["broken"]`` is not empty."""
    facts = examine(arguments.timeout)
    if arguments.json:
        dump(facts)
    else:
        _print(facts)
    return 1 if facts["broken"] else 0


def examine(timeout: float) -> dict[str, Any]:
    """Everything, as JSON data. broken: one sentence for each thing that does not work."""
    import tilecore

    targets = probe.look_all(manager.kinds(), whole=True, timeout=timeout)
    facts: dict[str, Any] = {
        "tilecore": tilecore.__version__,
        "python": checks.python(),
        "packages": checks.packages(),
        "targets": targets,
        "problems": [*manager.problems(), *shared_aliases(targets)],
        "launcher": _surely(checks.launcher),
        "cache": _surely(checks.cache),
        "environment": checks.environment(),
    }
    facts["broken"] = _broken(facts)
    return facts


def _surely(check: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A check's facts; a damaged installation may fail in any way, and the report must come all the same."""
    try:
        return check()
    except Exception as error:
        return {"state": "wrong", "reason": describe(error), "fix": "pip install --force-reinstall tilecore"}


def _broken(facts: dict[str, Any]) -> list[str]:
    broken = [f"package {p['name']} is {p['state']}" for p in facts["packages"] if p["state"] in ("missing", "wrong")]
    broken += [t["reason"] for t in facts["targets"] if t["state"] not in ("ok", "slow")]
    broken += facts["problems"]
    for part in ("launcher", "cache"):
        if facts[part]["state"] == "wrong":
            broken.append(f"the {part} cannot be used: {facts[part]['reason']}")
    broken += [f"{v['name']}={v['value']}: {v['reason']}" for v in facts["environment"] if v["state"] == "wrong"]
    return broken


def _print(facts: dict[str, Any]) -> None:
    python = facts["python"]
    print(f"tilecore {facts['tilecore']}, {python['implementation']} {python['version']} on {python['platform']}")
    print(f"interpreter: {python['executable']}\n")
    rows = [(p["name"], p["state"], p["version"] or "-", p["for"]) for p in facts["packages"]]
    print(table(("PACKAGE", "STATUS", "VERSION", "FOR"), rows))
    _fixes(facts["packages"])
    for target in facts["targets"]:
        print()
        _print_target(target)
    print()
    for problem in facts["problems"]:
        note("problem", problem)
    _print_state("launcher", facts["launcher"])
    cache = facts["cache"]
    where = f"{cache['path']}, {cache['entries']} kernels, {size(cache['bytes'])}" if "path" in cache else ""
    _print_state("cache", cache | {"reason": cache["reason"] or where})
    for variable in facts["environment"]:
        _print_state(f"{variable['name']}={variable['value']}", variable)
    print()
    print("all is well" if not facts["broken"] else f"{len(facts['broken'])} broken:")
    for sentence in facts["broken"]:
        print(f"  {sentence}")


def _print_target(target: dict[str, Any]) -> None:
    times = f", imported in {target['seconds'] * 1000:.0f} ms" if "seconds" in target else ""
    print(f"target {target['kind']} ({claimants(target)}){times}")
    if target["state"] != "ok":
        note(target["state"], target["reason"], reasons(target), indent="  ")
    for effect in target.get("side_effects", ()):
        print(f"  while imported, it {effect}")
    private = target.get("private_imports", ())
    if private:
        print(f"  it imports {len(private)} private names of tilecore, which may change with any version:")
        print("\n".join(f"    {line}" for line in private))
        print("    = help: docs/hooks/library.md lists the public names")
    device = target.get("device")
    if device is not None:
        print(f"  device: {'present' if device['present'] else 'absent'}, {device['detail']}")
    for adapter in target.get("adapters", ()):
        state = coloured("ok" if adapter["present"] else "missing")
        print(f"  adapter {adapter['name']}: {state}, {adapter['detail']}")
    for tool in target.get("toolchain", ()):
        state = coloured("ok" if tool["present"] else "missing")
        purpose = f" (to {tool['allows']})" if tool["allows"] else ""
        print(f"  tool {tool['name']}{purpose}: {state}, {' '.join((tool['version'], tool['where'])).strip()}")
        if not tool["present"] and tool["fix"]:
            print(f"    = help: {tool['fix']}")


def _print_state(name: str, facts: dict[str, Any]) -> None:
    reason = f", {facts['reason']}" if facts["reason"] else ""
    print(f"{name}: {coloured(facts['state'])}{reason}")
    if facts["fix"]:
        print(f"  = help: {facts['fix']}")


def _fixes(items: list[dict[str, Any]]) -> None:
    for item in items:
        if item["fix"]:
            print(f"  = help: {item['name']}: {item['fix']}")
