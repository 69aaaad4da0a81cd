"""The output of the CModel's process: lines of kernels, which the user sees, and lines of the CModel, for errors."""

from __future__ import annotations

import os
import re
from pathlib import Path

_NOISE = re.compile(
    r"""device\ id:\d+ | \[\d+\]\ load\ custom\ cmodel | begin\ to\ cmodel\ init | mult\ engine\ c_model\ init
    | Create\ Core\ \#\d+ | \s*(Local|Static)Mem\ \[ | \[(ap|cdm)\b[^\]]*\]
    | \[ERR\ tp\d+\]\ write\ file .* Bad\ address | Obtained\ \d+\ stack\ frames | ASSERT\ info:\ none """,
    re.VERBOSE,
)
_FRAME = re.compile(r"\S+\(\S*\)\s*\[0x[0-9a-f]+\]")
_TASK_FAILED = re.compile(r"^\[ap\].*has error:(-?\d+)", re.MULTILINE)
_LAST = 30  # the lines that an error shows


class Output:
    """Two files to which the process appends its output. out, err: their descriptors."""

    def __init__(self, folder: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self.out = os.open(folder / "out", flags, 0o600)
        self.err = os.open(folder / "err", flags, 0o600)
        self._seen = {self.out: 0, self.err: 0}

    def size(self) -> int:
        """The bytes in both files."""
        return sum(os.fstat(number).st_size for number in self._seen)

    def skip(self) -> None:
        """Discards the output so far."""
        for number in self._seen:
            os.ftruncate(number, 0)
            self._seen[number] = 0

    def printed(self) -> str:
        """The lines that kernels have printed since the last call of :meth:`skip`."""
        lines = _text(self.out).splitlines(keepends=True)
        return "".join(line for line in lines if not _NOISE.match(line))

    def task_code(self) -> int | None:
        """The return value of a kernel that did not return 0, else None. -1: the runtime has no kernel of that name."""
        codes = _TASK_FAILED.findall(_text(self.err))
        return int(codes[-1]) if codes else None

    def raw(self) -> str:
        """All output, with stack frames."""
        return _text(self.out) + _text(self.err)

    def last_lines(self) -> str:
        """The last lines without banners and stack frames."""
        lines = [line.rstrip() for line in self.raw().splitlines()]
        informative = [line for line in lines if line.strip() and not _NOISE.match(line) and not _FRAME.match(line)]
        return "\n".join(informative[-_LAST:])

    def close(self) -> None:
        for number in self._seen:
            os.close(number)
        self._seen.clear()


def _text(number: int) -> str:
    size = os.fstat(number).st_size
    return os.pread(number, size, 0).decode(errors="replace")
