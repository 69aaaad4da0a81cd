"""``tilecore targets``: the installed targets and how each fares."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from tilecore.commands.text import dump, note, short, table
from tilecore.plugins import manager, probe


def run(arguments: Namespace) -> int:
    """Print the table, or JSON: {"targets": [...], "problems": [...]}. A broken plugin is a row, not a failure.

    A target is "ok" if every hook of its plugin but ``tilecore_lowering``, its toolchain and its adapters answer.
    """
    targets = probe.look_all(manager.kinds(), whole=True, fork=True, timeout=arguments.timeout)
    problems = [*manager.problems(), *shared_aliases(targets)]
    if arguments.json:
        dump({"targets": targets, "problems": problems})
        return 0
    print(table(("TARGET", "STATUS", "DEVICE", "ALIASES", "PACKAGE"), [_row(facts) for facts in targets]))
    for facts in targets:
        if facts["state"] != "ok":
            print()
            note(facts["state"], facts["reason"], reasons(facts))
    for problem in problems:
        print()
        note("problem", problem)
    return 0


def reasons(facts: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [("found", facts.get("found")), ("expected", facts.get("expected")), ("help", facts.get("fix"))]


def packages(facts: dict[str, Any]) -> str:
    return ", ".join(f"{package['name']} {package['version']}".strip() for package in facts["packages"])


def shared_aliases(targets: list[dict[str, Any]]) -> list[str]:
    """Aliases that several targets claim, in words; the first by kind gets them."""
    owners: dict[str, list[str]] = {}
    for facts in targets:
        for alias in facts.get("aliases", ()):
            owners.setdefault(alias, []).append(facts["kind"])
    return [f"alias {alias!r} is claimed by {', '.join(kinds)}" for alias, kinds in owners.items() if len(kinds) > 1]


def _row(facts: dict[str, Any]) -> tuple[str, ...]:
    device = facts.get("device")
    presence = "?" if device is None else f"{'yes' if device['present'] else 'no'}: {device['detail']}"
    aliases = ", ".join(facts.get("aliases", ())) or "-"
    return facts["kind"], facts["state"], short(presence), short(aliases), packages(facts)
