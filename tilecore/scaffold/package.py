"""Writes the files of a backend's package from the templates beside this module.

In their names and texts ``@NAME@`` stands for the kind of the target, ``@TITLE@`` for it as a word of prose.
"""

from __future__ import annotations

import re
from pathlib import Path

from tilecore.errors import ArgumentError

TEMPLATES = Path(__file__).parent / "templates"
SUFFIX = ".in"  # of a template: it is no module and no test of tilecore's
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def checked_name(name: str) -> str:
    """The name, if a module and a target can be called so."""
    if not _NAME.fullmatch(name):
        raise ArgumentError(
            f"a backend cannot be called {name!r}", expected="lower-case letters, digits and _ after a letter: acme"
        )
    return name


def write_package(name: str, folder: Path) -> list[Path]:
    """The files of the package ``tile-<name>`` under ``folder``, which must not hold anything yet; their paths."""
    checked_name(name)
    if folder.exists() and any(folder.iterdir()):
        raise ArgumentError(
            f"the folder {folder} is not empty", expected="a new or empty folder", hint="--into names another"
        )
    paths = []
    for template in sorted(TEMPLATES.rglob(f"*{SUFFIX}")):
        relative = str(template.relative_to(TEMPLATES)).removesuffix(SUFFIX)
        path = folder / _filled(relative, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled(template.read_text(), name))
        paths.append(path)
    return paths


def _filled(text: str, name: str) -> str:
    return (
        text.replace("@NAME@", name).replace("@TITLE@", name.replace("_", " ").title()).replace("@UPPER@", name.upper())
    )
