"""Reads the parts of the header: their definitions, the names that each provides and the words that it uses.

include/tilecore_metal/device.h lists the parts, and says how they are written.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tilecore import codegen

INCLUDE = Path(__file__).parent / "include"
CORE = Path(codegen.__file__).parent / "include"
_INCLUDED = re.compile(r'^#include "(.*)"\n', re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NOTE = re.compile(r" *// (?:provides: ([\w ]+))?(?:; )?(?:for: (\w+))?$", re.MULTILINE)
_MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)
_FUNCTION = re.compile(r"^ *TC_FN [^(]*?\b(\w+)\(", re.MULTILINE)
_STRUCTURE = re.compile(r"^(?:template <[^\n{]*> )?struct (\w+)[^;{]*[;{]", re.MULTILINE)
_ENUMERATION = re.compile(r"^enum (\w+) \{([^}]*)\}", re.MULTILINE)
_CONTINUED = re.compile(r"^#define (?:.*\\\n)*.*", re.MULTILINE)


@dataclass(frozen=True)
class Definition:
    """A piece of a part that programs have or have not.

    comments: those above it, of its part and of its paragraph. provides: names; without any, it is needed by all
    programs. words: those of its code. only_for: a word without which no program needs it, or "".
    """

    part: str
    comments: tuple[str, ...]
    text: str
    provides: frozenset[str]
    words: frozenset[str]
    only_for: str


def words(code: str) -> frozenset[str]:
    """The identifiers of a text but for its comments."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", _COMMENT.sub("", code)))


@functools.lru_cache(maxsize=1)
def all_parts() -> list[str]:
    """The files of the header, in the order in which they are included."""
    return _INCLUDED.findall((INCLUDE / "tilecore_metal/device.h").read_text())


def text_of(part: str) -> str:
    """The text of a file of the header."""
    path = INCLUDE / part if (INCLUDE / part).exists() else CORE / part
    return path.read_text().replace("#pragma once\n", "")


@functools.lru_cache(maxsize=1)
def definitions() -> tuple[Definition, ...]:
    """All definitions of the header, in their order."""
    return tuple(definition for part in all_parts() for definition in definitions_of(part, text_of(part)))


def definitions_of(part: str, text: str) -> Iterator[Definition]:
    """The definitions of a part."""
    of_part: tuple[str, ...] = ()
    for paragraph in re.split(r"\n{2,}", text.strip("\n")):
        comment, pieces = _pieces(paragraph + "\n")
        if not pieces:
            of_part = (comment,)
            continue
        comments = (*of_part, comment) if comment else of_part
        for piece in pieces:
            notes = [match for match in _NOTE.finditer(piece) if match[1] or match[2]]
            provided = " ".join(match[1] or "" for match in notes).split()
            yield Definition(
                part,
                comments,
                "".join(f"{line}\n" for line in _NOTE.sub("", piece).split("\n") if line),
                frozenset(provided) | _defined(piece),
                words(piece),
                next((match[2] for match in notes if match[2]), ""),
            )


def _defined(piece: str) -> frozenset[str]:
    """The names that the text of a definition shows."""
    code = _COMMENT.sub("", piece)
    names = set(_MACRO.findall(code))
    code = _CONTINUED.sub("", code)
    names |= {*_FUNCTION.findall(code), *_STRUCTURE.findall(code)}
    for name, values in _ENUMERATION.findall(code):
        names |= {name, *re.findall(r"\w+", values)}
    return frozenset(names)


def _pieces(paragraph: str) -> tuple[str, list[str]]:
    """(the comment at the head of a paragraph, the texts of its definitions). A comment further down, and one that has
    a note for this module, belongs to the definition below it."""
    comment, piece = "", ""
    pieces: list[str] = []
    for line in paragraph.splitlines(keepends=True):
        if line.startswith("//") and not pieces and not piece and not _is_note(line):
            comment += line
            continue
        piece += line
        if _is_whole(piece):
            pieces.append(piece)
            piece = ""
    assert not piece, f"a definition of the header has no end: {piece}"
    return comment, pieces


def _is_note(line: str) -> bool:
    match = _NOTE.match(line)
    return match is not None and bool(match[1] or match[2])


def _is_whole(piece: str) -> bool:
    """Does a definition end with the last line of this text?"""
    code = _COMMENT.sub("", piece).strip()
    if code.startswith("#if"):
        return len(re.findall(r"^#if", code, re.MULTILINE)) == len(re.findall(r"^#endif", code, re.MULTILINE))
    if code.startswith("#"):
        return not code.endswith("\\")
    balanced = all(code.count(left) == code.count(right) for left, right in ("()", "{}"))
    return balanced and code.endswith(("}", ";", ")"))
