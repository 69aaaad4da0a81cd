"""The errors for emitted source that a compiler rejects, with the emitted line and the user's line."""

from __future__ import annotations

import re

from tilecore.errors import ToolchainError

_FIRST = re.compile(r"kernel\.cu\((\d+)\): (?:catastrophic )?error:? ?(?:#\S+ )?(.*)")
_ELSEWHERE = re.compile(r"(?:^|\n)[^\n]*(?:error|fatal)[^\n]*", re.IGNORECASE)
_PLACE = re.compile(r"// (\S+:\d+)$")


def refused(name: str, tool: str, source: str, output: str, options: list[str]) -> ToolchainError:
    """The error for source that the compiler ``tool`` did not compile. output: what the compiler printed."""
    lines = source.splitlines()
    match = _FIRST.search(output)
    if match is not None:
        line_number = int(match[1])
        emitted = lines[line_number - 1].strip() if 0 < line_number <= len(lines) else ""
        user_place = user_line(lines, line_number)
        line_found = f"line {line_number}: {emitted}" + (f" (from {user_place})" if user_place else "")
        return ToolchainError(
            f"{tool} cannot compile the code of {name}: {match[2]}",
            found=line_found,
            hint="TILECORE_DUMP=dir keeps the source; if the kernel is correct, please report this error",
        )
    failure = _ELSEWHERE.search(output)
    words = (failure[0] if failure else output).strip()[:400]
    return ToolchainError(f"{tool} failed on {name}: {words}", found="options " + " ".join(options))


def user_line(lines: list[str], line_number: int) -> str:
    """``file:line`` of the user's statement from which line ``line_number`` (from 1) was emitted; "" if unknown."""
    for line in reversed(lines[:line_number]):
        match = _PLACE.search(line)
        if match is not None:
            return match[1]
        if line.startswith("extern "):
            return ""
    return ""
