"""What a compiler says of emitted source, put beside the emitted line and the user's."""

from __future__ import annotations

import re

from tilecore.errors import ToolchainError

_FIRST = re.compile(r"kernel\.cu\((\d+)\): (?:catastrophic )?error:? ?(?:#\S+ )?(.*)")
_ELSEWHERE = re.compile(r"(?:^|\n)[^\n]*(?:error|fatal)[^\n]*", re.IGNORECASE)
_PLACE = re.compile(r"// (\S+:\d+)$")


def refused(name: str, tool: str, source: str, said: str, options: list[str]) -> ToolchainError:
    """The error for source that ``tool`` did not compile."""
    lines = source.splitlines()
    match = _FIRST.search(said)
    if match is not None:
        number = int(match[1])
        emitted = lines[number - 1].strip() if 0 < number <= len(lines) else ""
        place = user_line(lines, number)
        found = f"line {number}: {emitted}" + (f" (from {place})" if place else "")
        return ToolchainError(
            f"{tool} refused the code of {name}: {match[2]}",
            found=found,
            hint="TILECORE_DUMP=dir keeps the source; if the kernel is right, please report it",
        )
    other = _ELSEWHERE.search(said)
    words = (other[0] if other else said).strip()[:400]
    return ToolchainError(f"{tool} failed on {name}: {words}", found="options " + " ".join(options))


def user_line(lines: list[str], number: int) -> str:
    """``file:line`` of the user's statement that line ``number`` (from 1) of the source is of; "" if unknown."""
    for line in reversed(lines[:number]):
        match = _PLACE.search(line)
        if match is not None:
            return match[1]
        if line.startswith("extern "):
            return ""
    return ""
