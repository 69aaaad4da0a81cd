"""Address spaces: of each pointer and reference, and of what is declared outside of functions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tile_metal.rules.text import TYPE, Code, Problem

SPACES = ("device", "constant", "threadgroup", "thread")
# words that may stand between a type and its star, or in front of a type
_QUALIFIED = re.compile(
    rf"((?:\b(?:const|volatile|device|constant|threadgroup|thread|coherent\(device\))\s+)*)\b({TYPE})"
    r"((?:\s+(?:const|volatile|device|constant|threadgroup|thread))*)\s*(\*|&(?!&))"
)
_OUTSIDE = re.compile(rf"^(?:static\s+|const\s+|constexpr\s+)*{TYPE}\s+\w+\s*(?:\[[^\]]*\])?\s*(?:=|;)", re.MULTILINE)


def pointers(code: Code, msl: int) -> Iterator[Problem]:
    """Each pointer and reference names one address space, also in casts (4)."""
    for match in _QUALIFIED.finditer(code.text):
        if match[4] == "&" and not re.match(r"\s*(?:\w+\s*[,)=\[]|[,)])", code.text[match.end() :]):
            continue
        named = [word for word in re.findall(r"\w+", match[1] + match[3]) if word in SPACES]
        if "coherent" in match[1]:
            named.remove("device")
        if len(named) != 1:
            count = "no address space" if not named else "several address spaces"
            kind = "pointer" if match[4] == "*" else "reference"
            yield Problem(code.line(match.start(2)), f"a {kind} to {match[2]} with {count}")


def program_scope(code: Code, msl: int) -> Iterator[Problem]:
    """Variables outside of functions are in constant memory (4.2)."""
    for match in _OUTSIDE.finditer(code.text):
        yield Problem(code.line(match.start()), "a variable outside of functions that is not constant")
