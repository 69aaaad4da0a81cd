"""``tilecore new-backend``: a package to start from."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import get_args

from tilecore.commands.destinations import checked_folder
from tilecore.commands.text import dump
from tilecore.contract.adapter import INTERPRETED, SIMULATED
from tilecore.errors import ArgumentError
from tilecore.jit.execution_names import ExecutionBackend
from tilecore.plugins import manager
from tilecore.plugins.discovery import HOST_KIND
from tilecore.scaffold.package import checked_name, write_package


def run(arguments: Namespace) -> int:
    """Writes the package and says what to do next."""
    name = checked_name(arguments.name)
    _refuse_taken_name(name)
    folder = checked_folder(arguments.into or Path(f"tile-{name}"), "--into")
    paths = write_package(name, folder)
    if arguments.json:
        dump({"name": name, "folder": str(folder), "files": [str(path.relative_to(folder)) for path in paths]})
        return 0
    for path in paths:
        print(f"  {path}")
    print(f"\nnext:\n  pip install -e '{folder}[test]'\n  tilecore conform --target {name} --level 2")
    return 0


def _refuse_taken_name(name: str) -> None:
    """Raise an ArgumentError where the name already means a target or an execution backend."""
    owner = _owner_of(name)
    if owner:
        raise ArgumentError(
            f"a backend cannot be called {name!r}, as the name is taken",
            found=f"{name!r} is {owner}",
            expected="a name of no installed target, of none of their aliases, and not auto or "
            + ", ".join(_execution_backends()),
            hint="choose the name of the chip or of its vendor: tilecore new-backend acme",
        )


def _execution_backends() -> list[str]:
    """The names of the execution backends that need no package but tilecore."""
    names = [INTERPRETED, SIMULATED, *manager.get(HOST_KIND).adapters, *get_args(ExecutionBackend)]
    return [name for name in names if name != "auto"]


def _owner_of(name: str) -> str:
    """What the name means already, "" for nothing."""
    if name == "auto":
        return "the target that tilecore chooses by the devices of the machine"
    if name in _execution_backends():
        return "a name of an execution backend"
    packages = ", ".join(entry.package for entry in manager.claims(name))
    if packages:
        return f"a target of the installed package {packages}"
    kinds = [offer.kind for offer in manager.offers() if name in offer.aliases]
    return f"an alias of the target {kinds[0]!r}" if kinds else ""
