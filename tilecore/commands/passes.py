"""``tilecore passes --target TARGET``: the passes of a target's pipeline in order, and its options.

With --dump, a kernel's IR after each pass.
"""

from __future__ import annotations

import sys
import textwrap
from argparse import Namespace
from typing import Any

from tilecore import settings
from tilecore.commands.destinations import checked_folder
from tilecore.commands.text import dump, table
from tilecore.contract.records import Backend
from tilecore.errors import ArgumentError
from tilecore.jit.request import OPTIONS
from tilecore.lowering.listing import ListedStep, as_rows, listed_steps
from tilecore.plugins import manager
from tilecore.plugins.pass_options import CORE_OPTIONS

WIDTH = 120  # of the list, in characters


def run(arguments: Namespace) -> int:
    """Print the lists, or JSON: {"target", "family", "steps": [...], "options": [{"name", "type", "default", "package",
    "doc"}]}, with a dict for each step (``as_rows``)."""
    if bool(arguments.dump) != bool(arguments.kernel):
        raise ArgumentError(
            "--dump and FILE[:NAME] belong together",
            expected="tilecore passes --target TARGET --dump FOLDER FILE[:NAME]",
        )
    if arguments.set and not arguments.dump:
        raise ArgumentError(
            "--set works only together with --dump, as it is an argument of the kernel that is compiled",
            found=f"--set {arguments.set[0]}",
            expected="tilecore passes --target TARGET --dump FOLDER FILE[:NAME] --set NAME=VALUE",
            hint="leave out --set to list the passes",
        )
    if arguments.dump:
        checked_folder(arguments.dump, "--dump")
    backend, target = manager.resolve(arguments.target)
    steps, options = listed_steps(backend), _options(backend)
    if arguments.json:
        dump({"target": str(target), "family": backend.lowering.family, "steps": as_rows(steps), "options": options})
    else:
        print("\n".join([*_lines(steps), "", *_option_lines(options)]))
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


def _options(backend: Backend) -> list[dict[str, Any]]:
    """The pass configurations that are read for a target, by tilecore itself and by the backend."""
    declared = [("tilecore", option) for option in (*CORE_OPTIONS, *OPTIONS)]
    declared += [(backend.package, option) for option in backend.target.options or ()]
    return [
        {
            "name": option.name,
            "type": option.value_type.__name__,
            "default": option.default,
            "package": package,
            "doc": option.doc,
        }
        for package, option in sorted(declared, key=lambda entry: entry[1].name)
    ]


def _option_lines(options: list[dict[str, Any]]) -> list[str]:
    rows = [(o["name"], o["type"], str(o["default"]), o["package"], o["doc"]) for o in options]
    return ["options, for pass_configs:", *table(("KEY", "TYPE", "DEFAULT", "PACKAGE", "MEANING"), rows).splitlines()]


def _write_ir(arguments: Namespace) -> None:
    """Compile the kernel, with its IR after each pass written to the folder."""
    from tilecore.commands.explain import compiled

    with settings.dumping_to(arguments.dump):
        kernel = compiled(arguments.kernel, arguments.set, arguments.target)
    print(f"the IR of {kernel.artifact.name} after every pass is in {arguments.dump}", file=sys.stderr)
