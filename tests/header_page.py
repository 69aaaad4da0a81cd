"""docs/hooks/header.md, written from ``tilecore.codegen.header_names`` and the core's headers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import tilecore.codegen
from tilecore.codegen.header_names import GROUPS, HeaderName

INCLUDE = Path(tilecore.codegen.__file__).parent / "include"
HEAD = """# The device's header

[The overview](README.md). Before: [codegen.md](codegen.md).

All functions, types and macros that the emitter writes and that a backend's header defines; written by
`python tests/generated_lists.py --update` from `tilecore/codegen/header_names.py`. Nothing else of the source is
foreign to the language, except what the backend itself adds: the head of kernels, the arena, calls of its own.

A backend needs only the names that its `Capabilities` allow: without 16-bit floats none of their functions, with
`warp=1` no shuffles and no votes of a warp, without the feature `atomics` no atomics. In signatures F stands for float
and double (the second only on targets that have it), T for any type for which the operation exists. C++ overloads these
functions. A language without overloads needs a function for each type: it overrides `function`, `typed_function` and
`sized_function` of the emitter, which get the names of this table.

- *in C*: the name that `tilecore.codegen.forms.C` emits, where it differs: `<type>` is an element type, `<number>` the
  number in angle brackets.
- *call*: the call of thread IR that the function is emitted for. [thread-ir.md](../thread-ir.md) has its exact meaning.
- *core*: the header of the core that defines it, with the types where it defines only some. These headers are C++ and
  are in the folder `tilecore/codegen/include/`; each says in its first lines what it needs from the header that
  includes it. `tilecore_floats.h` also has macros that define the types of fewer than 32 bits, such as `TC_NARROW`.

The simulated device's header, `tilecore_sim.h` with `further.h` of its folder, defines all that C++ needs.
"""
_TYPES = ("int", "unsigned", "long long", "unsigned long long", "float", "double", "bool")
_MACRO = re.compile(r"^#define (TC_\w+)\(([\w, ]+)\)(.*?[^\\])$", re.MULTILINE | re.DOTALL)
_FUNCTION = re.compile(r"(template <[^>]*>)?\s*TC_FN (?:static )?[\w ]+?[ *](tc_\w+)\((?:const )?([\w ]+?)[*,)]")


def expanded(text: str) -> str:
    """A header with the calls of its macros replaced by what they define."""
    macros = {name: (parameters.split(", "), body) for name, parameters, body in _MACRO.findall(text)}
    parts = [_MACRO.sub("", text)]
    for name, (parameters, body) in macros.items():
        for arguments in re.findall(rf"^{name}\((.*)\)$", text, re.MULTILINE):
            definition = body.replace("\\\n", "\n")
            values = [part.strip() for part in arguments.split(",", len(parameters) - 1)]
            for parameter, value in zip(parameters, values, strict=True):
                definition = re.sub(rf"(##)?\b{parameter}\b", lambda _, value=value: value, definition)
            parts.append(definition)
    return "\n".join(parts)


def definitions(header: Path) -> dict[str, list[str]]:
    """The functions and macros of a header, each with the types of its first argument; none for a template."""
    text = header.read_text()
    defined: dict[str, list[str]] = {name: [] for name in re.findall(r"^#define (TC_\w+) ", text, re.MULTILINE)}
    for template, name, parameter in _FUNCTION.findall(expanded(text)):
        kind = next((kind for kind in sorted(_TYPES, key=len, reverse=True) if parameter.startswith(f"{kind} ")), "")
        types = defined.setdefault(name, [])
        if not template and kind and kind not in types:
            types.append(kind)
    return defined


HEADERS = {header.name: definitions(header) for header in sorted(INCLUDE.glob("*.h"))}


def core_headers(name: str) -> str:
    """The core's headers that define a name."""
    return "; ".join(
        f"`{header}`" + (f": {', '.join(defined[name])}" if defined[name] else "")
        for header, defined in HEADERS.items()
        if name in defined
    )


def row(entry: HeaderName) -> str:
    in_c = f"`{entry.in_c()}`" if entry.form else "only there" if entry.only_c else ""
    cells = [f"`{entry.signature}`", entry.doc, in_c, f"`{entry.call}`" if entry.call else "", core_headers(entry.name)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table(entries: Iterable[HeaderName]) -> str:
    return "\n".join(["| signature | meaning | in C | call | core |", "|---|---|---|---|---|", *map(row, entries)])


def header_page() -> str:
    return "\n".join([HEAD, *(f"## {title}\n\n{table(entries)}\n" for title, entries in GROUPS.items())])
