"""Joins emitted source with those definitions of the header that it uses: macOS compiles one text."""

from __future__ import annotations

from collections.abc import Sequence

from tile_metal.codegen import HEADER
from tile_metal.header_parts import INCLUDE, Definition, all_parts, definitions, text_of, words

END = "// -- end of the header --\n"


def whole_program(source: str, fast_math: bool = False) -> str:
    """``source`` with the definitions of the header that it needs in place of the line that includes it."""
    first = "#define TC_FAST_MATH\n" if fast_math else ""
    text = f"{first}{joined(needed_definitions(source))}{END}\n"
    return source.replace(f'#include "{HEADER}"\n', text, 1)


def joined(needed: Sequence[Definition]) -> str:
    """The texts of definitions, one after another, each comment once above the first of those that it is for."""
    comments = dict.fromkeys(comment for definition in needed for comment in definition.comments)
    text = ""
    for definition in needed:
        for comment in definition.comments:
            if comment in comments:
                del comments[comment]
                text += comment
        text += definition.text
    return text


def needed_definitions(source: str) -> list[Definition]:
    """The definitions of the header that ``source`` needs, in their order: those that provide a name which it, or one
    of them, uses. Those without a name are for all programs."""
    used = set(words(source))
    needed: set[Definition] = set()
    while True:
        more = {definition for definition in definitions() if _serves(definition, used)} - needed
        if not more:
            return [definition for definition in definitions() if definition in needed]
        needed |= more
        used.update(*(definition.words for definition in more))


def _serves(definition: Definition, used: set[str]) -> bool:
    if definition.only_for and definition.only_for not in used:
        return False
    return not definition.provides or not definition.provides.isdisjoint(used)


def needed_parts(source: str) -> list[str]:
    """The files of the header of which ``source`` needs a definition, in their order."""
    needed = {definition.part for definition in needed_definitions(source)}
    return [part for part in all_parts() if part in needed]


def texts() -> list[str]:
    """The texts of all files of the header, for a digest."""
    return [path.read_text() for path in sorted(INCLUDE.rglob("*.h"))] + [text_of(part) for part in all_parts()]
