"""Clang's errors about LDS and stack that are too large, with the line, the size, and what would fit."""

from __future__ import annotations

import re

from tilecore.contract.records import BuildRequest
from tilecore.errors import LimitError

_LDS = re.compile(r"kernel\.hip:(\d+):\d+: error: local memory \((\d+)\) exceeds limit \((\d+)\) in '(\w+)'")
_STACK = re.compile(
    r"error: (?:<unknown>|kernel\.hip):(\d+):\d+: "
    r"stack frame size \((\d+)\) exceeds limit \((\d+)\) in function '(\w+)'"
)
_SHARED_ARRAY = re.compile(r"\b__shared__\b.*[;\]]")
_ARRAY = re.compile(r"^\s+(?!.*\b(?:__shared__|return|if|for)\b)[\w:<>]+ \w+(?:\[\d+\])+.*;")


def exceeded(request: BuildRequest, arch: str, output: str) -> LimitError | None:
    """The error for a kernel that clang refuses because of its size; None where ``output`` has no such refusal."""
    if match := _LDS.search(output):
        size, limit = int(match[2]), int(match[3])
        return LimitError(
            f"{match[4]} needs {size} bytes of LDS, {size - limit} more than a block of {arch} may have",
            found=_lines(request.source, int(match[1]), _SHARED_ARRAY),
            expected=f"at most {limit} bytes of LDS in all arrays together",
            hint=f"arrays of {100 * limit // size} % of this size fit: smaller tiles, or narrower element types",
        )
    if match := _STACK.search(output):
        size, limit = int(match[2]), int(match[3])
        return LimitError(
            f"a thread of {match[4]} needs {size} bytes of memory for its arrays, {size - limit} more than {arch} has",
            found=_lines(request.source, int(match[1]) or _line_of(request.source, match[4]), _ARRAY),
            expected=f"at most {limit} bytes for a thread; arrays up to about 200 registers (800 bytes) are fast",
            hint="use more threads for the tile, smaller tiles, or shared memory for what does not fit into registers",
        )
    return None


def _line_of(source: str, kernel: str) -> int:
    """The line of a kernel's head, for errors without one."""
    lines = source.splitlines()
    return next((n for n, line in enumerate(lines, 1) if "__global__" in line and f" {kernel}(" in line), 1)


def _lines(source: str, first: int, declaration: re.Pattern[str]) -> str:
    """The declarations of arrays in the kernel that begins at line ``first``; its own line where there are none."""
    lines = source.splitlines()
    end = next((n for n in range(first, len(lines)) if lines[n].startswith("}")), len(lines))
    declared = [(n + 1, lines[n].strip()) for n in range(first - 1, end) if declaration.search(lines[n])]
    shown = declared or [(first, lines[first - 1].strip() if first <= len(lines) else "")]
    return "; ".join(f"line {number}: {text}" for number, text in shown[:6])
