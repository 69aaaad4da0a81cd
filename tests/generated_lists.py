"""Pages that are written from the code: docs/passes.md, docs/hooks/library.md, docs/hooks/header.md.

``python tests/generated_lists.py --update`` writes them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from header_page import header_page
from library_page import library_page

from tilecore.lowering.listing import ListedStep, family_list, listed_steps
from tilecore.plugins import manager

DOCS = Path(__file__).parents[1] / "docs"
HEAD = """# The passes of every pipeline

Written by `python tests/generated_lists.py --update`; `tilecore passes --target X` prints the list of any installed
target, and with `--dump FOLDER FILE[:NAME]` it writes a kernel's IR after each pass. Names in brackets are extension
points: places where backends insert passes ([hooks/lowering.md](hooks/lowering.md)). "Needs" and "leaves" are the
classes of state that a pass reads, and those that it publishes or adds to; in a target's list with those of the
implementations that the pass calls. What the words mean: [glossary.md](glossary.md).
"""
FAMILIES = {
    "simt": "The SIMT family: targets whose blocks are many threads with shared memory",
    "loops": "The loops family: targets that run a block as loops on one core",
}
TARGETS = ("cpu", "cuda", "tpu")


def table(steps: list[ListedStep], with_package: bool) -> str:
    lines = (
        ["| pass | package | what it does | needs | leaves |", "|---|---|---|---|---|"]
        if with_package
        else ["| pass | what it does | needs | leaves |", "|---|---|---|---|"]
    )
    for step in steps:
        name = f"[{step.name}]" if step.is_point else f"`{step.name}`"
        cells = [name, *([step.package] if with_package else []), step.does.replace("|", "\\|")]
        cells += [", ".join(step.needs), ", ".join(step.leaves)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def passes_page() -> str:
    parts = [HEAD]
    parts += [f"## {title}\n\n{table(family_list(name), with_package=False)}\n" for name, title in FAMILIES.items()]
    for target in TARGETS:
        backend, _ = manager.resolve(target)
        family = backend.lowering.family
        parts.append(f"## Target `{target}` ({family} family)\n\n{table(listed_steps(backend), with_package=True)}\n")
    return "\n".join(parts)


PAGES = {"passes.md": passes_page, "hooks/library.md": library_page, "hooks/header.md": header_page}


def main() -> None:
    if sys.argv[1:] != ["--update"]:
        sys.exit("usage: python tests/generated_lists.py --update")
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())


if __name__ == "__main__":
    main()
