"""``tilecore new-backend``: a package to start from."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tilecore.commands.destinations import checked_folder
from tilecore.commands.text import dump
from tilecore.scaffold.package import checked_name, write_package


def run(arguments: Namespace) -> int:
    """Writes the package and says what to do next."""
    name = checked_name(arguments.name)
    folder = checked_folder(arguments.into or Path(f"tile-{name}"), "--into")
    paths = write_package(name, folder)
    if arguments.json:
        dump({"name": name, "folder": str(folder), "files": [str(path.relative_to(folder)) for path in paths]})
        return 0
    for path in paths:
        print(f"  {path}")
    print(f"\nnext:\n  pip install -e '{folder}[test]'\n  tilecore conform --target {name} --level 2")
    return 0
