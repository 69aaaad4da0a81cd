"""``tilecore passes --target TARGET``: the passes of a target's pipeline in order; with --dump, a kernel after each."""

from __future__ import annotations

import sys
import textwrap
from argparse import Namespace

from tilecore import settings
from tilecore.commands.text import dump
from tilecore.errors import ArgumentError
from tilecore.lowering.listing import ListedStep, as_rows, listed_steps
from tilecore.plugins import manager

WIDTH = 120  # of the list, in characters


def run(arguments: Namespace) -> int:
    """Print the list, or JSON: {"target", "family", "steps": [...]} with a dict for each step (``as_rows``)."""
    if bool(arguments.dump) != bool(arguments.kernel):
        raise ArgumentError(
            "--dump and FILE[:NAME] belong together",
            expected="tilecore passes --target TARGET --dump FOLDER FILE[:NAME]",
        )
    backend, target = manager.resolve(arguments.target)
    steps = listed_steps(backend)
    if arguments.json:
        dump({"target": str(target), "family": backend.lowering.family, "steps": as_rows(steps)})
    else:
        print("\n".join(_lines(steps)))
    if arguments.dump:
        _write_ir(arguments)
    return 0


def _lines(steps: list[ListedStep]) -> list[str]:
    names = max(len(step.name) + 2 * step.is_point for step in steps)
    packages = max(len(step.package) for step in steps)
    lines = []
    for step in steps:
        if step.is_point:
            lines.append(f"[{step.name}]")
            continue
        margin = f"{step.name:{names}}  {step.package:{packages}}  "
        text = textwrap.wrap(step.does, WIDTH - len(margin)) or [""]
        for word, kinds in (("needs", step.needs), ("leaves", step.leaves)):
            text += textwrap.wrap(f"{word} {', '.join(kinds)}", WIDTH - len(margin)) if kinds else []
        lines += [margin + text[0], *(" " * len(margin) + line for line in text[1:])]
    return lines


def _write_ir(arguments: Namespace) -> None:
    """Compile the kernel, with its IR after each pass written to the folder."""
    from tilecore.commands.explain import compiled

    with settings.dumping_to(arguments.dump):
        kernel = compiled(arguments.kernel, arguments.set, arguments.target)
    print(f"the IR of {kernel.artifact.name} after every pass is in {arguments.dump}", file=sys.stderr)
