"""docs/hooks/library.md, written from ``tilecore.contract.library`` and the docstrings of what it lists."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from tilecore.contract.library import LIBRARY, Group

HEAD = """# The library for backends

[The overview](README.md). All that a backend may import from the core, by purpose; written by
`python tests/generated_lists.py --update` from `tilecore/contract/library.py`. These names keep their meaning and their
parameters for as long as the contract's number ([versions.md](../versions.md)); what is not here is private.
`tilecore doctor` names the private imports of an installed backend. If yours needs one, open an issue: the name becomes
public, or something public takes its place.
"""


def module_of(short: str) -> ModuleType:
    return import_module(f"tilecore.{short}" if short else "tilecore")


def names_in(short: str, names: str) -> list[str]:
    """The public names of a module's entry, sorted; "*": all that the module defines without an underscore."""
    if names != "*":
        return sorted(names.split())
    module = module_of(short)
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    )


def entries() -> Iterator[tuple[Group, str, str, Any]]:
    """(group, module without ``tilecore.``, name, value) of everything that is public."""
    for group in LIBRARY:
        for short, names in group.modules:
            for name in names_in(short, names):
                yield group, short, name, getattr(module_of(short), name)


def parameters(value: Any) -> str:
    """The parameters of a function, or of a class, as text without types; "" for other values."""
    if not callable(value):
        return ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values() if p.name != "self"]
    shown = [p.replace(default=_Short(p.default)) if p.default is not p.empty else p for p in plain]
    return str(signature.replace(parameters=shown, return_annotation=inspect.Signature.empty))


class _Short:
    """A default as it is shown: its text, or "..." where that is long or has an address in it."""

    def __init__(self, default: Any) -> None:
        text = repr(default)
        self.text = text if len(text) <= 20 and " at 0x" not in text and "<" not in text else "..."

    def __repr__(self) -> str:
        return self.text


def _definitions(name: str, value: Any, module: ModuleType) -> Iterator[tuple[ModuleType, str]]:
    """(module, name) of each global of tilecore with this value; the module may import it, under a name of its own."""
    yield module, name
    for key, other in sorted(sys.modules.items()):
        if key.startswith("tilecore."):
            yield from ((other, n) for n, v in vars(other).items() if v is value)


def _comment(module: ModuleType, name: str) -> str | None:
    """The comment beside the definition of a global; None where it has none."""
    match = re.search(rf"^{name}\b[^=\n]*= .*  # (.+)$", inspect.getsource(module), re.MULTILINE)
    return match[1] if match else None


def summary(value: Any, name: str, module: ModuleType) -> str:
    """The first sentence of a docstring; of other values the text, or the comment beside the definition."""
    if isinstance(value, (str, int)):
        return f"`{value!r}`"
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        comment = next(
            filter(None, (_comment(place, other) for place, other in _definitions(name, value, module))), None
        )
        assert comment, f"{module.__name__}.{name} has no comment that says what it is"
        return comment
    text = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=[.?!])\s", text)[0]


def table(group: Group) -> str:
    lines = [f"## {group.title}\n", f"{group.doc}\n", "| module | name | what it is |", "|---|---|---|"]
    for short, names in group.modules:
        module = f"tilecore.{short}" if short else "tilecore"
        if short == "ir.nodes":
            listed = ", ".join(f"`{name}`" for name in names_in(short, names))
            lines.append(f"| `{module}` | {listed} | TVM's classes and functions |")
            continue
        for name in names_in(short, names):
            value = getattr(module_of(short), name)
            text = f"`{name}{parameters(value)}`" if inspect.isroutine(value) else f"`{name}`"
            cells = (
                f"`{module}`",
                text.replace("|", "\\|"),
                summary(value, name, module_of(short)).replace("|", "\\|"),
            )
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def library_page() -> str:
    return "\n".join([HEAD, *map(table, LIBRARY)])
