"""Reads the records that kernels write for prints, and puts prints and failed assertions into words.

For devices without a printf: threads of a kernel write records into memory that the backend's launch reads afterwards.
A record is a number of 8-byte words: first its head, which has the count of its words in bits 0 to 15, that of its
values in bits 16 to 31 and a number of the backend's (the length of a text, say) in bits 32 to 63; then the values, a
word each; then what else the backend writes.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_PLACE = re.compile(r"%%|%([^%a-z]*)l*([a-z])")  # a percent sign, or where a number stands: its flags, its kind
_KINDS = {"d": "q", "u": "Q"}  # of struct, by the letter of the place; a float at all others


@dataclass(frozen=True)
class Messages:
    """What kernels wrote since the last reading.

    lines: the text that they printed. dropped: the number of prints that found no room. failures: the number of
    assertions that failed; number (from 1), kernel, block, thread: of the first one.
    """

    lines: str = ""
    dropped: int = 0
    failures: int = 0
    number: int = 0
    kernel: str = ""
    block: tuple[int, int, int] = (0, 0, 0)
    thread: tuple[int, int, int] = (0, 0, 0)

    def show(self, backend: str, kernel: str) -> None:
        """Prints the lines, and on stderr how many were lost. backend, kernel: names for that message."""
        if self.lines:
            sys.stdout.write(self.lines)
            sys.stdout.flush()
        if self.dropped:
            print(f"{backend}: {self.dropped} more prints of {kernel} found no room and are lost", file=sys.stderr)

    def failure(self, assertions: Sequence[str]) -> str:
        """The words for the failed assertions. assertions: the texts of the kernel's assertions, in order."""
        in_range = 0 < self.number <= len(assertions)
        text = assertions[self.number - 1] if in_range else f"number {self.number}"
        words = f"device assertion failed: {text} in block {self.block}, thread {self.thread}"
        return words + (f"; {self.failures - 1} more failed" if self.failures > 1 else "")


class Record(NamedTuple):
    """A record. number: the upper half of its head. values: 8 bytes each. rest: what follows them."""

    number: int
    values: bytes
    rest: bytes


def records(memory: bytes) -> tuple[list[Record], int]:
    """(the records in order, the words that they take). A record without a head is not written yet; it and those behind
    it are left."""
    whole, at = [], 0
    while at + 8 <= len(memory):
        (head,) = struct.unpack_from("<Q", memory, at)
        words, values = head & 0xFFFF, head >> 16 & 0xFFFF
        if not words or at + 8 * words > len(memory):
            break
        rest = at + 8 + 8 * values
        whole.append(Record(head >> 32, memory[at + 8 : rest], memory[rest : at + 8 * words]))
        at += 8 * words
    return whole, at // 8


def formatted(text: str, values: bytes, floating: str = "d") -> str:
    """The text of a print. values: 8 bytes for each number: an int64, a uint64 or a float, as its place says.
    floating: struct's code of 8 bytes that a float has, "d" for a float64, "fxxxx" for a float32 and 4 bytes without
    meaning."""
    kinds = "".join(_KINDS.get(place[2], floating) for place in _PLACE.finditer(text) if place[2])
    without_lengths = _PLACE.sub(lambda place: f"%{place[1]}{place[2]}" if place[2] else "%%", text)
    return without_lengths % struct.unpack(f"<{kinds}", values)
