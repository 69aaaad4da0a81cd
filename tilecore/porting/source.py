"""Reads a Python file so that it can be written back byte for byte, and finds places in it."""

from __future__ import annotations

import io
import re
import tokenize
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


@dataclass(frozen=True)
class Source:
    """The text of a Python file, with the ends of its lines as they are.

    encoding: that of the file; "utf-8-sig" where it begins with a byte order mark.
    """

    text: str
    encoding: str = "utf-8"

    @property
    def lines(self) -> list[str]:
        """The lines as Python counts them, each with its end."""
        return _LINE.findall(self.text)

    def as_bytes(self) -> bytes:
        return self.text.encode(self.encoding)


def read_source(path: Path) -> Source:
    """The file's text. Raises SyntaxError or UnicodeDecodeError where it is not in the encoding that it declares."""
    data = path.read_bytes()
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return Source(data.decode(encoding), encoding)


class Places:
    """Turns the places of a syntax tree, whose columns count bytes of UTF-8, into those that people and editors use."""

    def __init__(self, source: Source) -> None:
        self.lines = source.lines
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line))

    def column(self, line: int, byte_column: int) -> int:
        """The column in characters, from 1."""
        return self._characters(line, byte_column) + 1

    def offset(self, line: int, byte_column: int) -> int:
        """The place in the whole text, in characters from 0."""
        return self._starts[line - 1] + self._characters(line, byte_column)

    def line_of(self, offset: int) -> int:
        """The line, from 1, of a place in the whole text."""
        return min(bisect_right(self._starts, offset), len(self.lines))

    def start_of(self, line: int) -> int:
        """The place in the whole text where a line begins."""
        return self._starts[line - 1]

    def _characters(self, line: int, byte_column: int) -> int:
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return byte_column if text.isascii() else len(text.encode()[:byte_column].decode(errors="ignore"))
