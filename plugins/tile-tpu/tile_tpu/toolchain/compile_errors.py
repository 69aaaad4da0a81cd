"""What a C compiler or linker says of emitted source, put beside the emitted line and the user's."""

from __future__ import annotations

import re

from tilecore.errors import ToolchainError

SOURCE = "kernel.c"
_FIRST = re.compile(rf"{re.escape(SOURCE)}:(\d+)(?::\d+)?: (?:fatal )?error: (.*)")
_UNDEFINED = re.compile(r"undefined reference to [`'‘](\w+)")
_ELSEWHERE = re.compile(r"(?:^|\n)[^\n]*(?:error|fatal|cannot)[^\n]*", re.IGNORECASE)
_PLACE = re.compile(r"//.*?([^\s:()'\"]+\.\w+:\d+)")


def refused(name: str, tool: str, source: str, output: str, options: list[str]) -> ToolchainError:
    """The error for source that ``tool`` did not compile or link."""
    lines = source.splitlines()
    report = "TILECORE_DUMP=dir keeps the source; if the kernel is right, please report it"
    match = _FIRST.search(output)
    if match is not None:
        return ToolchainError(
            f"{tool} cannot compile the code of {name}: {match[2]}", found=at(lines, int(match[1])), hint=report
        )
    missing = sorted(set(_UNDEFINED.findall(output)))
    if missing:
        used = next((i for i, text in enumerate(lines, 1) if re.search(rf"\b{missing[0]}\b", text)), 0)
        return ToolchainError(
            f"the code of {name} calls what the chip's library has not: {', '.join(missing)}",
            found=at(lines, used) if used else None,
            hint="another version of the vendor's SDK may have it; `tilecore doctor` shows the one in use",
        )
    other = _ELSEWHERE.search(output)
    reason = (other[0] if other else output).strip()[:400]
    return ToolchainError(f"{tool} failed on {name}: {reason}", found="options " + " ".join(options))


def at(lines: list[str], number: int) -> str:
    """``line 12: text (from file.py:3)`` of a source, by its line from 1."""
    emitted = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    place = user_line(lines, number)
    return f"line {number}: {emitted}" + (f" (from {place})" if place else "")


def user_line(lines: list[str], number: int) -> str:
    """``file:line`` that a comment at line ``number`` (from 1) names, or the last one above it in its function; "" when
    there is none."""
    for text in reversed(lines[:number]):
        if match := _PLACE.search(text):
            return match[1]
        if text.startswith("}"):
            return ""
    return ""
