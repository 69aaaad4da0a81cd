"""The text of a program without what is no code: comments, strings, and branches for other compilers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

# the types that a declaration of a pointer or a variable begins with, as emitted text spells them
SCALARS = "bool|char|uchar|short|ushort|int|uint|long|ulong|size_t|half|bfloat|float|void|unsigned|signed|double"
TYPE = rf"(?:(?:{SCALARS})[234]?|tc_fp\w+|tc_aliased<[\w ]+>::type|metal::atomic_\w+|metal::atomic<\w+>)"
_PARTS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_KERNEL = re.compile(r"^\[\[kernel", re.MULTILINE)
_SPACES_BRANCH = re.compile(r"^#ifdef TC_SPACES\n(.*?)(?:^#else\n(.*?))?^#endif", re.MULTILINE | re.DOTALL)


class Problem(NamedTuple):
    """What breaks a rule. line: from 1."""

    line: int
    text: str


@dataclass(frozen=True)
class Code:
    """``text``: the program with blanks for comments and strings, line by line. ``start``: where its kernels begin."""

    text: str
    start: int

    @staticmethod
    def parse(source: str) -> Code:
        text = _PARTS.sub(lambda match: _blank(match[0]), source)
        text = _SPACES_BRANCH.sub(lambda match: match[0] if match[2] is None else _without(match), text)
        first = _KERNEL.search(text)
        return Code(text, first.start() if first else 0)

    def line(self, position: int) -> int:
        """The number of the line at a position of the text."""
        return self.text.count("\n", 0, position) + 1

    def find(self, pattern: str) -> Iterator[tuple[int, re.Match[str]]]:
        """All places of a regular expression, with their lines."""
        for match in re.finditer(pattern, self.text, re.MULTILINE):
            yield self.line(match.start()), match

    def kernels(self) -> Iterator[tuple[int, str, str]]:
        """Of each kernel the line of its head, the head up to its brace, and its body."""
        starts = [match.start() for match in _KERNEL.finditer(self.text)]
        for start, end in zip(starts, [*starts, len(self.text)][1:], strict=True):
            head, _, body = self.text[start:end].partition("{")
            yield self.line(start), head, body


def _blank(text: str) -> str:
    """As many lines and signs as ``text`` has."""
    if text.startswith('"'):
        return '"' + " " * (len(text) - 2) + '"'
    return re.sub(r"[^\n]", " ", text)


def _without(match: re.Match[str]) -> str:
    """A condition without its branch for compilers that have no address spaces."""
    start = match.start(2) - match.start()
    return match[0][:start] + _blank(match[2]) + match[0][start + len(match[2]) :]
